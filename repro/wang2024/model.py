"""Section 3.2: the Transformer with lin- or log-RPE, and the variants the paper makes of it.

Paper                        Here                       Meaning
x_t, t = 0, ..., n-1         tokens      (..., n, d)    a window of the sequence: tokens are rows
W_E, b_E                     W_E (D, d), b_E (D,)       embedding
phi_lin, phi_log             phi("lin", z), "log"       -z for z >= 0, -log z for z >= 1
p^(l,h)                      Head.p                     slope of the bias, p >= 0, (4)
W_Q, W_K                     Head.W_Q, .W_K  (r, D)     dot product; None: dot-product-free
w^(l,h)                      Head.w          (D,)       TMX, Definition B.5, in place of W_Q, W_K
W_V                          Head.W_V        (D, D)     values
W_O                          Attention.W_O   (D, D)     output
a_k, b_k, c_k                a (D_out, m), b (m, D), c (m,)    two-layer ReLU network
FFN-tilde                    FeedForward.rounding       equation (15), repro/wang2024/rounding.py

    x^(l-1/2) = x^(l-1) + Attn^(l)(x^(l-1)),    x^(l) = x^(l-1/2) + FFN^(l)(x^(l-1/2)),          (2)
    Attn(x_t) = W_O sum_h sum_s W_V x_{t-s} e^{logit(t, s)} / sum_j e^{logit(t, j)},             (3)
    logit(t, s) = <W_Q x_t, W_K x_{t-s}> + p phi(s),    or    p (phi(s) - phi(w . x_t)) in TMX.

Normalisation-free attention, class (12), leaves the denominator out. The last FFN is the readout:
it replaces the token and may have any output dimension.

There is one forward pass, for every arithmetic: torch tensors of any type on any device, and numpy
arrays of objects, with any leading batch dimensions. Objects are either balls (flint.arb) or exact:
rationals (flint.fmpq) and logarithms of rationals (numerics.logarithms.Log). A softmax is exact if
every logit is the logarithm of a rational:

    lin:  p = Log(1/u), 0 < u <= 1:   e^{p phi(s)} = u^s,
    log:  p an integer:               e^{p phi(s)} = s^-p,
    <W_Q x_t, W_K x_{t-s}>            with W_Q holding a Log and integer tokens, or the other way.

Readings and departures:
- Sequences are infinite in the paper. Here the past of x_t is what the window holds, and the sums
  over s and j end there; they run over the keys where phi is finite.
- Under log-RPE no token attends to itself, so the first token of a window has no key. A softmax
  there is 0/0: a normalised log layer returns no token for it, and each such layer makes the window
  one shorter at its beginning. `first` counts the positions lost. Without normalisation the sum is
  empty and 0, and nothing is lost.
- Tokens are columns in the paper and rows here: x W^T for W x. Indices count from 0.
- W_Q and W_K may have any common number r of rows.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial, reduce
from operator import add
from typing import Any, Self, cast

import flint
import numpy as np
import torch

from repro.numerics.arrays import Array, each, exponentials, inner, relu
from repro.numerics.exact import rational, same_arithmetic, to_float, vector
from repro.numerics.logarithms import Log, ball
from repro.wang2024.rounding import PRECISION, midpoint

SMALLEST = {"lin": 0, "log": 1}  # the distance from which on phi is finite


def phi(rpe: str, z: Any) -> Any:
    """phi_lin(z) = -z for z >= 0, phi_log(z) = -log z for z >= 1; no number elsewhere."""
    smallest = _smallest(rpe)
    if isinstance(z, torch.Tensor):
        if not bool((z >= smallest).all()):
            raise ValueError(_minus_infinity(rpe, z.min().item()))
        return -z if rpe == "lin" else -z.log()
    return each(partial(_phi, rpe), z)


def _phi(rpe: str, z: Any) -> Any:
    if rpe == "log" and isinstance(z, Log):
        raise ValueError(f"phi_log({z}) is not the logarithm of a rational: use balls")
    if not z >= SMALLEST[rpe]:
        raise ValueError(_minus_infinity(rpe, z))
    if rpe == "lin":
        return -z
    return -(z.log() if isinstance(z, flint.arb) else Log(z))


def _smallest(rpe: str) -> int:
    if rpe not in SMALLEST:
        raise ValueError(f"Section 3.2 has the RPE types lin and log, got {rpe!r}")
    return SMALLEST[rpe]


def _minus_infinity(rpe: str, z: Any) -> str:
    return f"Section 3.2: phi_{rpe}(z) is -inf unless z >= {SMALLEST[rpe]}, got z={z}"


class Network:
    """What a Transformer and its parts have in common: weights of one arithmetic."""

    def map(self, change: Callable[[Array], Array], *, checked: bool = True) -> Self:
        """The same network with `change` applied to every weight.

        `checked=False` leaves out the checks of the constructors: torch.func.vmap, which stacks
        networks, does not let them look at p.
        """
        parts = {part.name: getattr(self, part.name) for part in fields(cast(Any, self))}
        changed = {name: _map(part, change, checked) for name, part in parts.items()}
        if checked:
            return type(self)(**changed)
        same = copy.copy(self)
        vars(same).update(changed)
        return same

    def to(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> Self:
        """The same network in floating point; every weight is rounded once."""
        return self.map(lambda weight: rounded(weight, dtype, device))

    def balls(self, bits: int) -> Self:
        """The same network with every weight enclosed to so many bits.

        Its forward pass is rigorous at any precision; flint.ctx.workprec(bits) sets how sharp.
        """
        with flint.ctx.workprec(bits):
            return self.map(lambda weight: each(ball, weight))

    def parameters_count(self) -> int:
        """Numbers in all weights: those of Remark 3.1, and b_E."""
        sizes: list[int] = []
        self.map(lambda weight: sizes.append(math.prod(np.shape(weight))) or weight)
        return sum(sizes)


def _map(part: Any, change: Callable[[Array], Array], checked: bool) -> Any:
    if isinstance(part, Network):
        return part.map(change, checked=checked)
    if isinstance(part, tuple):
        return tuple(_map(member, change, checked) for member in part)
    return part if part is None or isinstance(part, (str, bool)) else change(part)


@dataclass(frozen=True)
class Head(Network):
    """One head of (3): dot-product, dot-product-free (no W_Q, W_K, w) or TMX (w)."""

    W_V: Array  # (D, D)
    p: Any
    W_Q: Array | None = None  # (r, D)
    W_K: Array | None = None  # (r, D)
    w: Array | None = None  # (D,)

    def __post_init__(self) -> None:
        if not (self.p == 0 or self.p > 0):
            raise ValueError(f"Section 3.2 needs p >= 0 in (4), got p={self.p}")
        if isinstance(self.W_V, torch.Tensor) and not isinstance(self.p, torch.Tensor):
            object.__setattr__(self, "p", self.W_V.new_tensor(float(self.p)))
        elif isinstance(self.p, float):
            object.__setattr__(self, "p", rational(self.p))
        if (self.W_Q is None) != (self.W_K is None):
            raise ValueError("Section 3.2: a head has both W_Q and W_K, or neither")
        if self.w is not None and self.W_Q is not None:
            raise ValueError("Definition B.5: w takes the place of W_Q and W_K, got all three")
        D = self.W_V.shape[0]
        given = {name: getattr(self, name) for name in ("W_V", "W_Q", "W_K", "w")}
        found = {name: tuple(w.shape) for name, w in given.items() if w is not None}
        r = found.get("W_Q", (1,))[0]
        printed = {"W_V": (D, D), "W_Q": (r, D), "W_K": (r, D), "w": (D,)}
        if found != {name: printed[name] for name in found}:
            raise ValueError(f"Section 3.2 has shapes {printed}, got {found}")

    @property
    def dot_product_free(self) -> bool:
        return self.W_Q is None and self.w is None

    @property
    def kind(self) -> tuple[Any, ...]:
        """Heads of one kind have the same weights of the same shapes."""
        return tuple(None if w is None else w.shape for w in (self.W_Q, self.W_K, self.w))

    def logits(self, x: Array, rpe: str, distances: Array) -> Array:
        """logit(t, s) for keys at these distances, phi being finite there; (..., queries, n)."""
        n, queries = x.shape[-2], distances.shape[0]
        last = x[..., n - queries :, :]
        values = phi(rpe, self._steps(n, rpe, x))[distances.clip(0)]  # the future is left out later
        if self.w is not None:
            return (values - phi(rpe, inner(last, self.w[..., None, :]))) * self.p
        if self.W_Q is None or self.W_K is None:
            return values * self.p
        return inner(inner(last, self.W_Q), inner(x, self.W_K)) + values * self.p

    def _steps(self, n: int, rpe: str, x: Array) -> Array:
        """The distances 0, ..., n-1 in the head's arithmetic; phi is not asked below its range."""
        if isinstance(x, torch.Tensor):
            return torch.arange(n, dtype=x.dtype, device=x.device).clip(SMALLEST[rpe])
        number = flint.arb if isinstance(self.p, flint.arb) else flint.fmpq
        return vector([number(max(s, SMALLEST[rpe])) for s in range(n)])


def _side_by_side(heads: Sequence[Head]) -> Head:
    """Heads of tensors as one: a new first axis counts them, and p has an axis for t and for s."""
    parts = {part.name: [getattr(head, part.name) for head in heads] for part in fields(Head)}
    stacked = {name: torch.stack(w) for name, w in parts.items() if w[0] is not None}
    every = copy.copy(heads[0])
    vars(every).update(stacked | {"p": stacked["p"][:, None, None]})
    return every


@dataclass(frozen=True)
class Attention(Network):
    """Attn of (3): W_O after the sum of the heads."""

    heads: Sequence[Head]
    W_O: Array  # (D, D)
    rpe: str
    normalised: bool = True

    def __post_init__(self) -> None:
        _smallest(self.rpe)
        object.__setattr__(self, "heads", tuple(self.heads))
        if not self.heads:
            raise ValueError("Section 3.2 needs H >= 1 heads, got H=0")
        D = self.W_O.shape[0]
        sizes = [tuple(head.W_V.shape) for head in self.heads]
        if {tuple(self.W_O.shape), *sizes} != {(D, D)}:
            found = f"W_O {tuple(self.W_O.shape)}, W_V {sizes}"
            raise ValueError(f"Section 3.2 has W_O and every W_V in R^(D x D), got {found}")

    @property
    def first(self) -> int:
        """The first position of a window with an output: 1 for the softmax of log-RPE, else 0."""
        return SMALLEST[self.rpe] if self.normalised else 0

    def __call__(self, x: Array, queries: int | None = None) -> Array:
        """(..., n, D) -> (..., n - first, D), or at the last `queries` positions only."""
        same_arithmetic(x, self.W_O)
        if isinstance(x, torch.Tensor) and len({head.kind for head in self.heads}) == 1:
            every = _side_by_side(self.heads)
            heads = self._head(every, x[..., None, :, :], queries).sum(-3)
        else:
            heads = reduce(add, (self._head(head, x, queries) for head in self.heads))
        return inner(heads, self.W_O)

    def _head(self, head: Head, x: Array, queries: int | None) -> Array:
        return inner(self.scores(head, x, queries), inner(x, head.W_V).mT)

    def scores(self, head: Head, x: Array, queries: int | None = None) -> Array:
        """How much the last `queries` tokens take from each token; (..., queries, n).

        Without a dot product they do not depend on x, and one table serves the whole batch.
        """
        n = x.shape[-2]
        asked: int = n - self.first if queries is None else queries
        if asked < 1 or n < asked + self.first:
            least = f"needs n >= {max(asked, 1) + self.first} tokens, got n={n}"
            raise ValueError(f"Section 3.2: a softmax with {self.rpe}-RPE {least}")
        t = torch.arange(n, device=x.device) if isinstance(x, torch.Tensor) else np.arange(n)
        distances = t[n - asked :, None] - t  # negative for the future
        logits = head.logits(x, self.rpe, distances)
        return exponentials(logits, distances >= SMALLEST[self.rpe], self.normalised)

    def kernel(self, n: int) -> Array:
        """Dot-product-free heads at the last of n positions: weight of distance s; (H, n)."""
        if not all(head.dot_product_free for head in self.heads):
            raise ValueError("Remark 3.2: only a dot-product-free attention has one kernel")
        anything = self.W_O[[0] * n]  # (n, D); the scores do not depend on it
        rows = [self.scores(head, anything, queries=1)[0] for head in self.heads]
        torches = isinstance(anything, torch.Tensor)
        return torch.stack(rows).flip(-1) if torches else np.stack(rows)[:, ::-1]


@dataclass(frozen=True)
class FeedForward(Network):
    """FFN(x) = sum_k a_k relu(b_k . x + c_k), rounded as (15) says if `rounding` is lin or log."""

    a: Array  # (D_out, m)
    b: Array  # (m, D)
    c: Array  # (m,)
    rounding: str | None = None

    def __post_init__(self) -> None:
        m = self.c.shape[0]
        found = {name: tuple(getattr(self, name).shape) for name in "abc"}
        if self.a.shape[1:] != (m,) or self.b.shape[:1] != (m,) or len(self.b.shape) != 2:
            raise ValueError(f"Section 3.2 has a (D_out, m), b (m, D), c (m,), got {found}")
        if self.rounding not in (None, *PRECISION):
            raise ValueError(f"equation (15) rounds for lin or log, got {self.rounding!r}")

    def __call__(self, x: Array) -> Array:  # (..., n, D) -> (..., n, D_out)
        same_arithmetic(x, self.a)
        out = inner(relu(inner(x, self.b) + self.c), self.a)
        return PRECISION[self.rounding](out) if self.rounding else out


@dataclass(frozen=True)
class Layer(Network):
    attention: Attention
    feed_forward: FeedForward


@dataclass(frozen=True)
class Transformer(Network):
    """(2): embedding, L layers with residuals, the last feed-forward network being the readout."""

    W_E: Array  # (D, d)
    b_E: Array  # (D,)
    layers: Sequence[Layer]

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers:
            raise ValueError("Section 3.2 needs L >= 1 layers, got L=0")
        D = self.W_E.shape[0]
        if tuple(self.b_E.shape) != (D,):
            raise ValueError(f"Section 3.2 has b_E in R^D, D={D}, got {tuple(self.b_E.shape)}")
        for number, layer in enumerate(self.layers, start=1):
            ffn, last = layer.feed_forward, number == len(self.layers)
            reads = {layer.attention.W_O.shape[0], ffn.b.shape[1]}
            writes = set() if last else {ffn.a.shape[0]}
            if reads | writes != {D}:
                found = f"W_O {tuple(layer.attention.W_O.shape)}, b {tuple(ffn.b.shape)}"
                found = f"{found}, a {tuple(ffn.a.shape)}"
                raise ValueError(f"Section 3.2: tokens have D={D}, layer {number} has {found}")

    @property
    def first(self) -> int:
        """The first position of a window with an output."""
        return sum(layer.attention.first for layer in self.layers)

    def __call__(self, tokens: Array) -> Array:  # (..., n, d) -> (..., n - first, D_out)
        *_, x = self.states(tokens)
        if isinstance(x, torch.Tensor) and not bool(x.isfinite().all()):
            raise ValueError(f"Section 3.2: an output is not finite in {x.dtype}")
        return x

    def states(self, tokens: Array) -> Iterator[Array]:
        """x^(0), x^(1/2), x^(1), ..., x^(L), after each half of a layer."""
        same_arithmetic(tokens, self.W_E)
        if tokens.shape[-1] != self.W_E.shape[1] or len(tokens.shape) < 2:
            raise ValueError(
                f"Section 3.2 embeds (..., n, d) tokens with d={self.W_E.shape[1]}, "
                f"got shape {tuple(tokens.shape)}"
            )
        x = inner(tokens, self.W_E) + self.b_E
        yield x
        for number, layer in enumerate(self.layers, start=1):
            x = x[..., layer.attention.first :, :] + layer.attention(x)
            yield x
            out = layer.feed_forward(x)
            x = out if number == len(self.layers) else x + out
            yield x


def rounded(exact: Array, dtype: torch.dtype, device: torch.device | str = "cpu") -> torch.Tensor:
    """Exact numbers, balls (their midpoints) or tensors as a tensor of this type."""
    if isinstance(exact, torch.Tensor):
        return exact.to(device, dtype)
    with flint.ctx.workprec(256):  # within 2^-250 of a logarithm: it rounds to the same number
        rationals = each(lambda w: w if isinstance(w, flint.fmpq) else midpoint(ball(w)), exact)
    return torch.from_numpy(to_float(rationals, to_odd=dtype != torch.float64)).to(device, dtype)
