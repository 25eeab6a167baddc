"""Heads that add up to a kernel: the attention step in the proofs of Theorems A.1 and D.1.

The kernel is phi_m(s) = sum_h alpha_h e^{p_h phi(s)}: e^{-beta_h s} with lin-RPE, s^{-beta_h} with
log, beta_h = p_h. The softmax divides by the `normalisers` sum_j e^{p_h phi(j)}, and W_V^(h) is
alpha_h times these (`values`). A dot-product-free layer with these weights adds sum_s phi_m(s)
x_{t-s} to the token. For |x_t| <= 1 it misses the target by the l1 distance of the kernels at most,
and by as much at x_{t-s} = sign of their difference (`worst_input`).

In float64 the heads cancel, and rounding leaves an error of the order of eps A, A = sum_h |W_V^(h)|
(`roundoff` bounds it). So `fit` bounds A and keeps the best of l1 error plus eps A. Its columns are
rows of softmax, of sum 1, so that the program is well scaled.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import flint
import numpy as np
import torch

from repro.numerics import l1
from repro.numerics.arrays import each
from repro.numerics.exact import rational, rational_zeros, rationals, vector
from repro.numerics.logarithms import Log, ball
from repro.numerics.roundoff import unit
from repro.wang2024.model import SMALLEST, Attention, Head

EPS = 2.0**-53
CAPS = (1e2, 1e4, 1e6, 1e8, 1e9, 1e10, 1e11, 1e12)
ROOM = 1e4  # setting


def family(rpe: str, exponents: Sequence[Any]) -> l1.Family:
    """The functions of the distance that heads with this RPE can weigh tokens by."""
    return (l1.Exponentials if rpe == "lin" else l1.Powers)(tuple(exponents))


def exact(weight: Any) -> Any:
    """A logarithm or a ball as it is; any other number as a rational."""
    return weight if isinstance(weight, (Log, flint.arb)) else rational(weight)


def normalisers(rpe: str, exponents: Sequence[Any], length: int) -> np.ndarray:
    """What softmax divides by at the last of `length` tokens, for each head; some may be the same.

    Rational if the exponents are logarithms (lin) or integers (log); balls otherwise.
    """
    times, zero = range(SMALLEST[rpe], length), flint.fmpq(0)
    single = [family(rpe, [p]) for p in exponents]
    return vector([sum((_weight(rpe, one, s) for s in times), start=zero) for one in single])


def _weight(rpe: str, head: l1.Family, s: int) -> Any:
    """e^{p phi(s)}."""
    (p,) = head.exponents
    if rpe == "lin" and isinstance(p, Log):
        return (1 / p.of) ** s
    if rpe == "log" and not isinstance(p, Log) and p.q == 1:
        return 1 / rational(s) ** int(p.p)
    return head.balls([s])[0][0]


def values(rpe: str, exponents: Sequence[Any], alphas: Sequence[Any], length: int) -> np.ndarray:
    """W_V^(h) = alpha_h sum_j e^{p_h phi(j)}."""
    return each(exact, vector(alphas)) * normalisers(rpe, exponents, length)


def summed(rpe: str, exponents: Sequence[Any], values: Iterable[Any]) -> Attention:
    """The layer that adds phi_m * x to scalar tokens, with softmax."""
    pairs = zip(family(rpe, exponents).exponents, values, strict=True)
    heads = [Head(block(exact(value), 1, 1, 0, 0), p) for p, value in pairs]
    return Attention(heads, rationals([[1]]), rpe)


def moving(rpe: str, exponents: Sequence[Any], alphas: Sequence[Any]) -> Attention:
    """Lemmas E.2 and E.5: tokens (x_t, B_t, 1), or (x_t, log B_t, 1), -> sum_s psi x_{t-s}.

    psi(s - B_t) = sum_h alpha_h e^{-beta_h (s - B_t)} for lin, psi(s / B_t) = sum_h alpha_h
    (s / B_t)^-beta_h for log. Without normalisation, as class (12) has it: beta_h B_t or
    beta_h log B_t is a dot product with 1.
    """
    zero, one = flint.fmpq(0), rationals([[0, 0, 1]])  # (1, D)
    heads = [
        Head(block(exact(a), 3, 1, 0, 0), p, W_Q=vector([zero, p, zero])[None], W_K=one)
        for p, a in zip(family(rpe, exponents).exponents, alphas, strict=True)
    ]
    return Attention(heads, rationals(np.eye(3, dtype=int)), rpe, normalised=False)


def block(value: Any, D: int, d: int, to_block: int, from_block: int) -> np.ndarray:
    """value times delta^(to, from) in R^(D x D): the identity in one d x d block, 0 elsewhere."""
    W = rational_zeros(D, D)
    for i in range(d):
        W[to_block * d + i, from_block * d + i] = value
    return W


@dataclass(frozen=True)
class Fit:
    """Float64 heads for windows of `length` tokens; `error`: l1 distance of the kernels there."""

    rpe: str
    exponents: tuple[float, ...]
    values: np.ndarray
    length: int
    error: float

    @property
    def weight(self) -> float:
        """A = sum_h |W_V^(h)|."""
        return float(np.abs(self.values).sum())

    @property
    def floor(self) -> float:
        """eps A: the order of what rounding leaves in float64."""
        return EPS * self.weight

    @property
    def rounding(self) -> float:
        """A bound of what rounding adds to the layer's output for |x_t| <= 1, and to `error`.

        In units of u A, the float64 sums behind `error` round as follows: an entry of `columns` as
        often as a logit (5, or 10 for log), exp, its quotient and the product with a weight 5, the
        sum over the heads H. The n absolute values are summed with n u times the error.
        """
        if self.rpe == "log" and min(self.exponents) < 1.5:
            raise ValueError(f"derived for log exponents from 3/2 on, got {min(self.exponents)}")
        n, H = self.length, len(self.exponents)
        return roundoff(self.weight, n, 2 * H + 15) + n * EPS * self.error

    def seen(self) -> "Fit":
        """This fit, or an error if rounding hides its l1 error."""
        if not self.floor <= self.error:
            found = f"eps A = {self.floor:.2g} > l1 error {self.error:.2g}, A = {self.weight:.2g}"
            raise ArithmeticError(f"{len(self.values)} {self.rpe} heads in float64: {found}")
        return self

    def attention(self, device: torch.device | str = "cpu") -> Attention:
        """The layer in float64: what is rounded is what was fitted."""
        return summed(self.rpe, self.exponents, self.values).to(torch.float64, device)


def columns(rpe: str, exponents: Sequence[float], length: int) -> np.ndarray:
    """Rows of softmax, as columns: (length, H), the weight of distance s, of sum 1 over s."""
    rows = family(rpe, exponents).values(range(SMALLEST[rpe], length))
    table = np.zeros((length, len(exponents)))
    table[SMALLEST[rpe] :] = rows / [math.fsum(column) for column in rows.T]
    return table


def fit(
    rpe: str, kernel: l1.Kernel, exponents: Sequence[Any], length: int, caps: Sequence[float] = CAPS
) -> Fit:
    """The heads with least l1 error + eps A on a window, over the bounds on A.

    >>> import torch
    >>> from repro.numerics import l1
    >>> from repro.wang2024.heads import fit
    >>> found = fit("lin", l1.indicator(2), [1, 2, 3, 4, 5], length=30)  # remember x_{t-2}
    >>> round(found.error, 4)
    0.0086
    >>> x = torch.eye(30, dtype=torch.float64)[27][:, None]  # 1 two steps before the end
    >>> round(found.attention()(x)[-1].item(), 3)
    1.0
    """
    floats, first = tuple(float(ball(beta)) for beta in exponents), SMALLEST[rpe]
    table = columns(rpe, floats, length)[first:]
    target = np.array([kernel(s) for s in range(first, length)])
    kept = lightest([(table, target)], caps)
    return Fit(rpe, floats, kept.weights, length, kept.error)


def lightest(
    problems: Sequence[tuple[np.ndarray, np.ndarray]], caps: Sequence[float] = CAPS
) -> l1.Capped:
    """Of the best weights under each bound, those with least l1 error + eps A; bounds increase.

    The l1 error is convex: weights below their bound are the best of all, but for what the solver
    tolerates, and bounds beyond ROOM times these weights are not tried. Bounds that are too large
    for the solver are passed over; an error if all are.
    """
    found, refused = [], []
    for cap in caps:
        try:
            found.append(l1.capped(problems, cap))
        except l1.NotConverged as error:
            refused.append(str(error))
            continue
        if found[-1].total < cap / ROOM:
            break
    if not found:
        raise l1.NotConverged("; ".join(refused))
    return min(found, key=lambda one: one.error + EPS * one.total)


def roundoff(total: float, n: int, H: int, dtype: str = "float64") -> float:
    """How far rounding may move a sum of H heads, if sum |W_V| = total: (3n + H + 30) u total.

    For |x_t| <= 1 and n tokens. Per head, in units of u |W_V|: a logit is off by 2 of its size,
    whose mean over the softmax is at most 1 for lin and 2.3 for log with p >= 3/2; exp, the sum of
    n terms and the quotient add n + 4, the sum of n values n + 1, the rounding of W_V 1; n + 19 are
    left for second order. The sum over the heads adds H.
    """
    return (3 * n + H + 30) * unit(dtype) * total


class Measured(NamedTuple):
    """Errors of a layer against a kernel, at the last token of a window of scalar tokens."""

    impulses: float  # sum over s of the error on a unit impulse at distance s: l1, by measurement
    random: float  # largest over random signs
    worst: float  # at the input of the worst signs: the l1 error less 3 times the rounding, or more

    @property
    def sup(self) -> float:
        return max(self.random, self.worst)


def worst_input(difference: np.ndarray) -> np.ndarray:
    """x_{t-s} = sign of the difference of the kernels at s, for a window that ends at t."""
    return np.where(difference[::-1] < 0, -1.0, 1.0)


def measure(attention: Attention, kernel: np.ndarray, rng: np.random.Generator) -> Measured:
    """Drive a float64 layer (D = 1) with impulses, 64 draws of signs and the worst signs.

    `kernel` has the target's values at s = 0, ..., n-1. The worst signs are those of the
    difference that the impulses show. If rounding moves that difference by r_s, a sign is wrong
    only where the difference is at most r_s, which costs 2 r_s; so the worst signs miss the l1
    error by 2 sum r_s, and by the rounding of their own output.
    """
    n = len(kernel)
    inputs = np.vstack([np.eye(n), rng.choice([-1.0, 1.0], (64, n))])
    errors = _errors(attention, inputs, kernel)
    difference = errors[:n][::-1]
    worst = abs(_errors(attention, worst_input(difference)[None], kernel)[0])
    return Measured(math.fsum(abs(difference)), float(np.abs(errors[n:]).max()), float(worst))


def _errors(attention: Attention, inputs: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Output minus target at the last token, for each input (batch, n)."""
    tokens = torch.tensor(inputs, dtype=torch.float64, device=attention.W_O.device)[..., None]
    outputs = attention(tokens, queries=1)[:, 0, 0].cpu().numpy()
    if not np.isfinite(outputs).all():
        raise ArithmeticError("the layer gave an output that is not finite")
    exact = np.array([math.fsum(row[::-1] * kernel) for row in inputs])
    return outputs - exact
