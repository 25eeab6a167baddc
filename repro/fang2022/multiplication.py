"""Lemma 3.1: one fixed encoder block multiplies, for all n tokens at once.

Paper            Here        Meaning
x_i, y_i         slots 1, 2  the factors, |x_i|, |y_i| <= M
-x_i y_i         slot 3      where the product goes; so q >= 3
2 M^2            G           lifts the diagonal of alpha above all other entries
(n+4)-th entry   slot 3      row n+3 when rows count from 0

The proof, in its own order:
1. q_i = [x_i, G e_i] and k_j = [y_j, e_j], so alpha_ii = x_i y_i + G and alpha_ij = x_i y_j.
2. alpha_ii - alpha_ij = 2 M^2 + x_i (y_i - y_j) >= 0, since |x_i (y_i - y_j)| <= 2 M^2: m-hat keeps
   alpha_ii. (At a tie it may keep alpha_ij = alpha_ii: the same value, so nothing changes.)
3. W^V z_j is 1 in slot 3 for every j, so slot 3 receives a = x_i y_i + G, and a >= M^2 > 0.
4. a - 2 sigma(a) + 2 sigma(-a) = -a for every a, and -a + G = -x_i y_i.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from repro.fang2022.model import Array, Block, Layout, shapes
from repro.numerics import roundoff
from repro.numerics.exact import rationals
from repro.training import Adam, Cosine, Outcome, Spec, Workspace
from repro.training.loop import fit, generator_at


def multiplication_block(n: int, q: int, M: Any) -> Block:
    """The seven weights of the proof, in exact numbers; M is any number, or a symbol.

    >>> import torch
    >>> from repro.fang2022.model import Layout
    >>> from repro.fang2022.multiplication import multiplication_block
    >>> x, y = torch.tensor([1.5, -2.0]), torch.tensor([0.5, 1.0])  # for each of n = 2 tokens
    >>> rows = Layout(n=2, q=3)
    >>> block = multiplication_block(n=2, q=3, M=2).to(torch.float32)
    >>> block(rows.tokens(torch.zeros(2), x, y))[rows.slot(3)]  # -x y
    tensor([-0.7500,  2.0000])
    """
    if q < 3:
        raise ValueError(f"Lemma 3.1 stores x_i, y_i and -x_i y_i, so it needs q >= 3, got q={q}")
    rows = Layout(n, q)
    return product_block(rows, rows.slot(1), rows.slot(2), rows.slot(3), 2 * (M * M))


def product_block(rows: Layout, x: int, y: int, product: int, G: Any) -> Block:
    """The block that reads x_i and y_i from these rows, lifts by G, and adds -x_i y_i to a third.

    The lemma has the first three slots and G = 2 M^2; Theorem 3.5 "adjusts the position".
    """
    block = identity(rows)
    block.W_Q[0, x] = block.W_K[0, y] = 1
    for i in range(1, rows.n + 1):
        block.W_Q[i, i] = G
        block.W_K[i, i] = 1
    block.W_V[product, rows.one] = 1
    block.W_1[:, product] = 1, -1
    block.W_2[product] = -2, 2
    block.b_2[product] = G
    return block


def identity(rows: Layout) -> Block:
    """The block whose weights are all 0: it passes its tokens on."""
    return Block(*(np.zeros(s, dtype=int).astype(object) for s in shapes(rows.n + 1, rows.size)))


def roundoff_bound(M: float, dtype: torch.dtype | str) -> float:
    """How far the stored -x_i y_i may be off in floating point: 4 u M^2 (1 + 2u), M as rounded.

    This is for a block that is built from M as the type has it. Where M itself is not rounded, but
    only 2 M^2 is, it says nothing.

    Let m = fl(M^2), so that G = 2m in W^Q and in b_2 alike: its own rounding cancels. Rounding is
    monotone, so |fl(xy)| <= m, and fl(xy) + G lies in [m, 3m]; its rounding a is off by at most
    u |xy| + 3 u m <= u M^2 + 3u (1 + u) M^2. The rest is exact: 2a and a - 2a are scalings by
    powers of 2, and G - a is exact by Sterbenz, since a/G lies in [1/2, 2].
    """
    u = roundoff.unit(dtype)
    return 4 * u * roundoff.rounded(M, dtype) ** 2 * (1 + 2 * u)


def roundoff_floor(M: float, x: Tensor, y: Tensor) -> float:
    """How far one of the products must be off, whatever the rounding, for factors with xy > 0.

    Then a >= G, and what is stored is a difference of G and a: a multiple of the spacing at G. The
    largest distance of xy from such multiples is near to half of it, between u M^2 and 2 u M^2.
    """
    one, other = (rationals(part.double().cpu().numpy()) for part in (x, y))
    step = roundoff.spacing(2 * M * M, x.dtype)
    return roundoff.least_error((p for p in (one * other).ravel() if p > 0), step)


def stored(block: Block, x: Array, y: Array, **branch: Any) -> Array:
    """Slot 3 of all tokens, (..., n), for factors x, y (..., n) in any arithmetic; q = 3."""
    rows = Layout(x.shape[-1], 3)
    return block(rows.tokens(0 * x, x, y), **branch)[..., rows.slot(3), :]


def wrong_entries(block: Block, t: Array, x: Array, y: Array, sign: int = -1, **branch: Any) -> int:
    """Entries of Z' that are not those of [t_i, e_i, x_i, y_i, sign x_i y_i, 0, ..., 0, 1]."""
    tokens = Layout(len(t), len(block.b_2) - len(t) - 2).tokens
    return int((block(tokens(t, x, y), **branch) != tokens(t, x, y, sign * x * y)).sum())


def floating_error(block: Block, x: Tensor, y: Tensor, sign: int = -1) -> float:
    """The largest error of the stored sign x y, in the type of x and y."""
    product = stored(block.to(x.dtype, x.device), x, y).double()
    high, low = roundoff.two_product(x.double(), y.double())  # xy = high + low, exactly
    return ((product - sign * high) - sign * low).abs().max().item()


@dataclass(frozen=True)
class WithoutAttention(Spec):
    """A control: no attention layer. Least squares for -x y on [-M, M]^2, new samples in each step.

    What is left of the block stores W_2 sigma(W_1 z + b_1) + b_2 in the free slot: two ReLU units
    of x and y. On the diagonal x = y = s it has at most three linear pieces, one of a length
    h >= 2M/3 in [-M, M], and misses s^2 there by at least h^2/8 (piecewise.py). So the error is
    M^2/18 or more, however it is trained.
    """

    kind: ClassVar[str] = "fang2022-without-attention"
    version: ClassVar[int] = 1

    M: float
    steps: int
    seed: int
    batch: int = 1024
    lr: float = 0.02


def two_relu_units() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))


def train_without_attention(spec: WithoutAttention, workspace: Workspace) -> Outcome:
    model = two_relu_units().to(workspace.device)
    start = generator_at(spec.seed, -1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=start))

    def loss(model: nn.Module, step: int) -> Tensor:
        draw = torch.rand(spec.batch, 2, generator=generator_at(spec.seed, step))
        xy = ((2 * draw - 1) * spec.M).to(workspace.device)
        return (model(xy).squeeze(-1) + xy.prod(-1)).square().mean()

    recipe = {"steps": spec.steps, "optimizer": Adam(lr=spec.lr), "schedule": Cosine()}
    curves = fit(model, loss, workspace=workspace, every=50, **recipe)
    return Outcome({"sup error": sup_error(model, spec.M)}, curves, dict(model.state_dict()))


@torch.no_grad()
def sup_error(model: nn.Module, M: float, points: int = 201) -> float:
    """The largest error on a square grid; the true one is at least that."""
    axis = torch.linspace(-M, M, points)
    xy = torch.cartesian_prod(axis, axis)
    stored = model(xy.to(next(model.parameters()).device)).squeeze(-1).cpu()
    return (stored + xy.prod(-1)).abs().max().item()
