"""Remark 3.6: ReLU networks are piecewise linear, and how near to x^2 that lets them come.

No ReLU network equals a polynomial Q of degree s >= 2 on an open set. On a line through that set
along which Q still has degree s (almost every one) the network has finitely many linear pieces, one
of them on an interval; there Q would be affine. (The affine ones it can equal, by
x = relu(x) - relu(-x); the remark is about the others.)

How many pieces, k. On a line the w_1 units of the first layer have one zero each and cut it into at
most w_1 + 1 pieces. On each of them every unit of the next layer is affine before its ReLU and has
one zero at most. So k <= (w_1 + 1)(w_2 + 1) ... (w_L + 1).

How near to x^2 on [-1, 1] k pieces come, E_k. One piece covers a length h >= 2/k. On an interval of
length h around c, let e = x^2 - (affine): then e(c - h/2) - 2 e(c) + e(c + h/2) = h^2/2, whatever
the affine function, so max |e| >= h^2/8. Hence
    E_k >= 1 / (2 k^2),
and the interpolant at k + 1 equidistant points, lowered by 1/(2 k^2), attains it: it is above x^2
by h^2/4 = 1/k^2 in the middle of each piece, before it is lowered, and nowhere by more.

In the mean square: with x = c + h y / 2 the affine function of least squares leaves h^2/4 times
y^2 - 1/3, whose square has the integral h/2 * h^4/16 * 8/45 = h^5/180. The sum over the pieces is
least for equal h, by convexity, and half of it is the mean:
    (1/2) integral |x^2 - p|^2 >= 4 / (45 k^4),
attained by the same interpolant lowered by 2/(3 k^2): y^2 - 1/3 is 2/3 at both ends of a piece.

Both optima are one hidden layer, `interpolant`. Deeper networks have more pieces for their size:
`sawtooth` (Telgarsky 2016, Yarotsky 2017) has 2^m of them with 3m - 1 units.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import flint
import numpy as np
import torch
from torch import Tensor, nn

from repro.fang2022.model import relu
from repro.numerics import minimax
from repro.numerics.exact import rational, rationals, same_arithmetic, to_float
from repro.training import Outcome, Spec, Workspace
from repro.training.loop import generator_at

Number = Any  # a rational
ROUND = 20  # iterations of L-BFGS between two looks at the loss


def least_error(k: int) -> flint.fmpq:
    """E_k = 1/(2 k^2): no function with k linear pieces is nearer to x^2 on [-1, 1]."""
    return flint.fmpq(1, 2 * k**2)


def least_mean_square(k: int) -> flint.fmpq:
    """4/(45 k^4): no function with k linear pieces has a smaller mean square error on [-1, 1]."""
    return flint.fmpq(4, 45 * k**4)


def most_pieces(widths: Sequence[int]) -> int:
    """No network with hidden layers of these widths has more linear pieces on a line."""
    return math.prod(w + 1 for w in widths)


@dataclass(frozen=True)
class ReluNetwork:
    """From one number to one: hidden layers relu(W x + b), then W x + b; all weights rational."""

    layers: tuple[tuple[np.ndarray, np.ndarray], ...]  # W (w_l, w_(l-1)) and b (w_l,)

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(len(b) for _, b in self.layers[:-1])

    def __call__(self, x: np.ndarray) -> np.ndarray:  # (N,) -> (N,)
        *hidden, (W_out, b_out) = self.layers
        same_arithmetic(x, W_out, "layers of torch.nn")
        rows = x[None, :]
        for W, b in hidden:
            rows = relu(W @ rows + b[:, None])
        return (W_out @ rows + b_out[:, None])[0]


def network_of(tensors: dict[str, Tensor]) -> ReluNetwork:
    """A trained network as it is, for floats are rational numbers; tensors: "0.weight", ..."""
    linear = range(0, len(tensors), 2)  # between them a ReLU each
    layers = ((tensors[f"{layer}.weight"], tensors[f"{layer}.bias"]) for layer in linear)
    return ReluNetwork(tuple((rationals(W.numpy()), rationals(b.numpy())) for W, b in layers))


def affine(slope: Number, offset: Number) -> ReluNetwork:
    """slope (relu(x) - relu(-x)) + offset."""
    hidden = rationals([[1], [-1]]), rationals([0, 0])
    return ReluNetwork((hidden, (rationals([[slope, -slope]]), rationals([offset]))))


def interpolant(k: int, lowered: Number) -> ReluNetwork:
    """The interpolant of x^2 at k + 1 >= 3 equidistant points of [-1, 1], lowered.

    Its slope grows by 4/k at each of the k - 1 inner points. A unit that looks outwards, away from
    0, starts at each of them; if 0 is one (k even), two units start there with half the weight.
    """
    units = []  # where each starts, to which side it looks, and how much the slope grows there
    for x in (flint.fmpq(2 * i - k, k) for i in range(1, k)):
        sides = [side for side in (1, -1) if side * x >= 0]
        units += [(abs(x), side, flint.fmpq(4, k) / len(sides)) for side in sides]
    starts, looks, jumps = (rationals(some) for some in zip(*units, strict=True))
    middle = flint.fmpq(k % 2, k**2)  # of the interpolant at 0
    return ReluNetwork(((looks[:, None], -starts), (jumps[None], rationals([middle - lowered]))))


def sawtooth(m: int, lowered: Number) -> ReluNetwork:
    """The same with k = 2^m pieces from m hidden layers of 2, 3, ..., 3 units.

    On [0, 1] the interpolant of x^2 at multiples of 2^-s is p_s = x - sum_{r <= s} g_r / 4^r, where
    g_0 = x and g_r = 2 relu(g_(r-1)) - 4 relu(g_(r-1) - 1/2) is a sawtooth. Layer 1 makes
    |x| = relu(x) + relu(-x); the layers after it hold relu(g), relu(g - 1/2), relu(p), and p >= 0.
    """
    layers = [(rationals([[1], [-1]]), rationals([0, 0]))]
    read = rationals([[1, 1]] * 3)  # rows g, g, p in terms of the layer before: |x|
    for s in range(1, m):
        layers.append((read, rationals([0, "-1/2", 0])))
        g, p = [2, -4, 0], [flint.fmpq(-2, 4**s), flint.fmpq(4, 4**s), 1]
        read = rationals([g, g, p])
    return ReluNetwork((*layers, (read[2:], rationals([-lowered]))))


@dataclass(frozen=True)
class Piece:
    """slope x + offset for left <= x <= right."""

    left: Number
    right: Number
    slope: Number
    offset: Number

    def error(self) -> Number:
        """max |x^2 - slope x - offset| on the piece: at an end, or where 2x = slope."""
        inner = [self.slope / 2] if self.left < self.slope / 2 < self.right else []
        places = self.left, self.right, *inner
        return max(abs(x * x - self.slope * x - self.offset) for x in places)

    def square(self) -> Number:
        """The integral of (x^2 - slope x - offset)^2 over the piece."""
        e = flint.fmpq_poly([-self.offset, -self.slope, 1])
        whole = (e * e).integral()
        return whole(self.right) - whole(self.left)


def linear_pieces(network: ReluNetwork, left: Number = -1, right: Number = 1) -> list[Piece]:
    """All pieces on [left, right], from left to right; neighbours differ as affine functions."""
    one, zero = rationals([1]), rationals([0])
    parts: list[Part] = [(rational(left), rational(right), one, zero)]
    *hidden, (W_out, b_out) = network.layers
    for W, b in hidden:
        parts = [cut for part in parts for cut in _after_layer(W, b, part)]
    pieces: list[Piece] = []
    for begin, end, slopes, offsets in parts:
        slope, offset = rationals([*(W_out @ slopes), *(W_out @ offsets + b_out)])
        if pieces and (pieces[-1].slope, pieces[-1].offset) == (slope, offset):
            begin = pieces.pop().left
        pieces.append(Piece(begin, end, slope, offset))
    return pieces


Part = tuple[Number, Number, np.ndarray, np.ndarray]  # ends; slopes and offsets of all units


def _after_layer(W: np.ndarray, b: np.ndarray, part: Part) -> Iterator[Part]:
    """A part of the line after one more layer, cut at the zeros of its units."""
    left, right, slopes, offsets = part
    slopes, offsets = W @ slopes, W @ offsets + b
    zeros = {-c / a for a, c in zip(slopes, offsets, strict=True) if a != 0}
    ends = [left, *sorted(z for z in zeros if left < z < right), right]
    for begin, end in itertools.pairwise(ends):
        active = (slopes * (begin + end) / 2 + offsets > 0).astype(int)
        yield begin, end, slopes * active, offsets * active


def sup_error(pieces: Sequence[Piece]) -> Number:
    return max(piece.error() for piece in pieces)


def mean_square(pieces: Sequence[Piece]) -> Number:
    return sum(piece.square() for piece in pieces) / (pieces[-1].right - pieces[0].left)


def sizes(tensors: dict[str, Tensor]) -> tuple[int, float, float]:
    """Linear pieces, sup error and mean square of a trained network, exact and rounded down."""
    pieces = linear_pieces(network_of(tensors))
    error, square = np.nextafter(to_float([sup_error(pieces), mean_square(pieces)]), 0)
    return len(pieces), float(error), float(square)


def best_with_knots(knots: np.ndarray, points: int) -> float:
    """The least max |x^2 - p| over continuous p with these knots: a linear program.

    It looks at the knots and at a grid. Between two neighbours at distance h the convex x^2 - p is
    nowhere above the larger of the two and by at most h^2/4 below the line through them: the least
    error on the whole interval exceeds this one by at most h^2/4.
    """
    x = np.union1d(np.linspace(knots[0], knots[-1], points), knots)
    hats = np.stack([np.interp(x, knots, row) for row in np.eye(len(knots))], axis=1)  # (N, k+1)
    return minimax.best_on_points(hats, x**2).error


@dataclass(frozen=True)
class ReluFit(Spec):
    """Least squares for x^2 at equidistant points of [-1, 1], by L-BFGS in float64."""

    kind: ClassVar[str] = "fang2022-relu-fit"
    version: ClassVar[int] = 1

    widths: tuple[int, ...]
    steps: int
    seed: int
    points: int = 401


def train(spec: ReluFit, workspace: Workspace) -> Outcome:
    model = _drawn(spec).to(workspace.device)
    x = torch.linspace(-1, 1, spec.points, dtype=torch.float64, device=workspace.device)[:, None]
    setting: Any = {"max_iter": ROUND, "tolerance_grad": 1e-15, "tolerance_change": 1e-15}
    engine = torch.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe", **setting)
    losses: list[float] = []

    def loss() -> Tensor:
        engine.zero_grad()
        value = (model(x) - x.square()).square().mean()
        value.backward()
        return value.detach()

    for done in range(ROUND, spec.steps + ROUND, ROUND):
        losses.append(engine.step(loss).item())
        workspace.progress(done, spec.steps, loss=losses[-1])
    return Outcome({}, {"loss": losses}, dict(model.state_dict()))


def _drawn(spec: ReluFit) -> nn.Sequential:
    """Weights uniform up to (6/inputs)^(1/2), as He et al. (2015), biases as torch draws them."""
    generator, layers = generator_at(spec.seed, -1), []
    for before, after in itertools.pairwise([1, *spec.widths, 1]):
        layer = nn.Linear(before, after, dtype=torch.float64)
        for parameter, power in ((layer.weight, 6.0), (layer.bias, 1.0)):
            most = (power / before) ** 0.5
            nn.init.uniform_(parameter, -most, most, generator=generator)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])
