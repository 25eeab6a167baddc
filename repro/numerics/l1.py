"""Best approximation in l1 on the integers by sums of exponentials or of powers, with proof.

For a summable kernel rho and functions f_h of families.py, f_h(t) = e^{-beta_h t} or t^{-beta_h},

    E = min over alpha of sum_t |rho(t) - phi(t)|,        phi = sum_h alpha_h f_h.

`best` encloses E, `best_for_all` the least of the largest of several such errors, and `l1_error`
what given coefficients attain. `capped` is a linear program in float64 that bounds sum |alpha_h|.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import flint
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from repro.numerics.families import Exponentials as Exponentials
from repro.numerics.families import Family, all_zeros_found, combined, sign_changes
from repro.numerics.families import Powers as Powers
from repro.numerics.logarithms import ball
from repro.numerics.taylor import lower_end, upper_end
from repro.numerics.vertices import (
    LP,
    Basis,
    NotConverged,
    Undecided,
    dot,
    independent,
    least_worst,
    optimum,
)

NOTHING = 2.0**-200  # setting: a sum of |alpha_h f_h| beyond the window below it needs no argument
OVER = 1e-6  # by which the solver may exceed a bound on the weights, relatively


# The kernels


@dataclass(frozen=True)
class Kernel:
    """rho, by an enclosure of each value and a bound on the sum of |rho(t)| over t >= start."""

    ball: Callable[[int], flint.arb]
    tail: Callable[[int], flint.arb]

    def __call__(self, t: int) -> float:
        return float(self.ball(t))

    def beyond(self, start: int) -> flint.arb:
        """The bound on the tail; an error if it is not finite."""
        bound = flint.arb(self.tail(start))
        if not bound.is_finite():
            raise ValueError(f"the kernel is not summable: its tail from {start} on is {bound}")
        return bound


def indicator(T: int) -> Kernel:
    """1 at t = T and 0 elsewhere."""
    return Kernel(lambda t: flint.arb(int(t == T)), lambda start: flint.arb(int(start <= T)))


# The optimum


@dataclass(frozen=True)
class Best:
    """The optimum, proved to lie between `lower` and `upper`.

    `coefficients` attain `upper`, over all integers; `times` are those of the window at which they
    interpolate.
    """

    family: Family
    coefficients: tuple[flint.arb, ...]
    lower: flint.arb
    upper: flint.arb
    times: tuple[int, ...]

    @property
    def error(self) -> float:
        """The proved bound from above, as a float."""
        return upper_end(self.upper)

    @property
    def floor(self) -> float:
        """The proved bound from below, as a float."""
        return lower_end(self.lower)

    @property
    def weight(self) -> flint.arb:
        """sum_h |alpha_h|."""
        return sum((abs(alpha) for alpha in self.coefficients), flint.arb(0))


def best(kernel: Kernel, family: Family, *, window: int) -> Best:
    """The least l1 distance of the kernel from the span of the family.

    >>> from repro.numerics.l1 import Exponentials, best, indicator
    >>> found = best(indicator(2), Exponentials((1, 2, 3, 4)), window=60)
    >>> round(found.floor, 6), round(found.error, 6)  # none is nearer, and this one is as near
    (0.159195, 0.159195)

    From below. If |z_t| <= 1 and sum_t z_t f_h(t) = 0 for every h, then sum_t z_t rho(t) <= E,
    since the sum equals sum_t z_t (rho - phi)(t) for every alpha. From above: any alpha. Linear
    programming says that the two meet, and that some best phi equals rho at H times, where
    |z_t| < 1.

    Method. The functions are so nearly dependent that float64 sees neither alpha nor z in their own
    basis. So (1) they are made orthonormal, by Cholesky in high precision; (2) the dual program is
    solved in float64 in that basis, which tells the H times and the signs of z elsewhere; (3) from
    there the simplex method of Barrodale and Roberts goes on in high precision to the optimum;
    (4) alpha is solved from rho(t) = phi(t) at these times and z from the orthogonality, in balls,
    and z is divided by its largest entry should that exceed 1. Nothing that is proved rests on (1)
    to (3). Beyond the window the times are put together in blocks: z is constant on a block, and
    f_h counts with its sum over it.
    """
    times, bits = _times(family, window), 0
    while True:
        rows, basis = _independent(family, times, bits)
        bits = 2 * basis.bits
        with contextlib.suppress(Undecided), flint.ctx.workprec(basis.bits):
            values = _values(kernel, times, len(rows))
            chosen, alpha, z = optimum(rows, values, basis)
            lower = dot(z, values) - kernel.beyond(times[-1] + 1)
            met = [i for i in sorted(chosen) if i < len(times)]
            zeros = [times[i] for i in met if values[i] == 0]
            upper = l1_error(kernel, family, alpha, window=window, zeros=zeros)
            return Best(family, tuple(alpha), lower, upper, tuple(times[i] for i in met))


def best_for_all(pairs: Sequence[tuple[Kernel, Family]], *, window: int) -> Best:
    """One set of coefficients for several kernels, each with its own functions: least worst error.

    From below. Let lam_B >= 0 and |z_t| <= lam_B at the times t of kernel B, with z orthogonal to
    the functions as before, all kernels together. Then sum_t z_t rho_B(t), over all B, is at most
    sum_B lam_B ||rho_B - phi_B||, hence at most sum_B lam_B times the worst error.
    """
    times, H = _times(pairs[0][1], window), len(pairs[0][1])
    rows, basis = independent(lambda: [row for _, f in pairs for row in _rows(f, times)], H)
    size = len(rows) // len(pairs)
    with flint.ctx.workprec(basis.bits):
        values = [v for kernel, _ in pairs for v in _values(kernel, times, size)]
        chosen, alpha, z, lam = least_worst(rows, values, basis, len(pairs))
        tails = [kernel.beyond(times[-1] + 1) for kernel, _ in pairs]
        lower = (dot(z, values) - dot(lam, tails)) / sum(lam, flint.arb(0))
        met = [divmod(i, size) for i in chosen if i % size < len(times) and values[i] == 0]
        errors = []
        for kernel, family in pairs:
            zeros = [cast(Any, family).moved(times[i], pairs[B][1]) for B, i in met]
            errors.append(l1_error(kernel, family, alpha, window=window, zeros=zeros))
    upper = max(errors, key=lambda error: float(error.upper()))
    return Best(pairs[0][1], tuple(alpha), lower, upper, ())


def l1_error(
    kernel: Kernel,
    family: Family,
    coefficients: Sequence[Any],
    *,
    window: int,
    zeros: Sequence[Any] = (),
) -> flint.arb:
    """An enclosure of sum |rho - phi| over all integers, at the precision in force.

    Beyond the window: a sum of H exponentials or powers has at most H - 1 zeros t > 0 (Descartes;
    Polya and Szego, part V, problems 75 to 77). If so many are found, phi has one sign on each side
    of them, and sum |phi| over a block is a difference of tails; otherwise |alpha_h| stands for
    alpha_h.

    `zeros`: times, integer or not, at which phi is known to vanish: balls cannot tell.
    """
    times, alpha = _times(family, window), [ball(a) for a in coefficients]
    starts = family.blocks(times[-1] + 1)
    tail = kernel.beyond(starts[0])
    phi = combined(family, alpha, [*times, *starts])
    inside = sum((abs(kernel.ball(t) - p) for t, p in zip(times, phi, strict=False)), flint.arb(0))
    beyond = dot([abs(a) for a in alpha], family.tails(starts[0]))
    if not beyond < NOTHING and all_zeros_found(family, alpha, [*times, *starts], phi, zeros):
        sums = [dot(alpha, family.tails(t)) for t in sign_changes(family, alpha, starts)]
        pairs = itertools.pairwise([*sums, flint.arb(0)])
        beyond = sum((abs(a - b) for a, b in pairs), flint.arb(0))
        if tail == 0:
            return inside + beyond
    return inside.union(inside + beyond + tail)


def _times(family: Family, window: int) -> range:
    if window <= len(family):
        raise ValueError(f"a window needs more times than functions: {window} <= {len(family)}")
    return range(family.first, family.first + window)


@functools.lru_cache(maxsize=64)
def _independent(family: Family, times: range, least: int) -> tuple[list[list[flint.arb]], Basis]:
    """Kept: one family is compared with many kernels, and zeta functions in balls are slow."""
    return independent(lambda: _rows(family, times), len(family), least)


def _rows(family: Family, times: range) -> list[list[flint.arb]]:
    """f_h at the times of the window, then its sums over the blocks beyond."""
    tails = [family.tails(start) for start in family.blocks(times[-1] + 1)]
    none = [flint.arb(0)] * len(family)
    sums = [
        [a - b for a, b in zip(*pair, strict=True)] for pair in itertools.pairwise([*tails, none])
    ]
    return [*family.balls(times), *sums]


def _values(kernel: Kernel, times: range, size: int) -> list[flint.arb]:
    """rho at the times of the window; beyond it counts as 0, and its tail is reckoned apart."""
    values = [kernel.ball(t) for t in times]
    return [*values, *[flint.arb(0)] * (size - len(times))]


# In float64, under a bound on the weights


@dataclass(frozen=True)
class Capped:
    """Weights w with sum |w| <= cap, and the l1 errors that they leave, in float64."""

    weights: np.ndarray
    errors: tuple[float, ...]

    @property
    def error(self) -> float:
        return max(self.errors)

    @property
    def total(self) -> float:
        """sum |w|."""
        return float(np.abs(self.weights).sum())


def capped(problems: Sequence[tuple[np.ndarray, np.ndarray]], cap: float) -> Capped:
    """The w with sum |w| <= cap that makes the largest of ||values - columns w||_1 least.

    The program is written for w / cap: its solver takes entries below 1e-9 for zero. The errors
    are computed anew from w, so that they hold whatever the solver thought.
    """
    if not (np.isfinite(cap) and cap > 0):
        raise ValueError(f"a bound on the weights is positive and finite, got {cap}")
    stacked, count = cap * np.vstack([c for c, _ in problems]), len(problems)
    values = np.concatenate([v for _, v in problems])
    (R, H), columns = stacked.shape, sparse.csr_array(stacked)
    one = sparse.eye_array(R)
    groups = sparse.block_diag([np.ones((1, len(v))) for _, v in problems])
    constraints = sparse.block_array(
        [
            [columns, -columns, -one, None],
            [-columns, columns, -one, None],
            [None, None, groups, -np.ones((count, 1))],
            [np.ones((1, H)), np.ones((1, H)), None, None],
        ]
    )
    found = linprog(
        np.r_[np.zeros(2 * H + R), 1],
        A_ub=constraints,
        b_ub=np.r_[values, -values, np.zeros(count), 1],
        options=LP,
    )
    if found.x is None:
        raise NotConverged(f"{H} weights of at most {cap:g} in sum: {found.message}")
    w = cap * (found.x[:H] - found.x[H : 2 * H])
    if not np.abs(w).sum() <= cap * (1 + OVER):
        raise NotConverged(f"{H} weights exceed their bound {cap:g}: {np.abs(w).sum():g}")
    return Capped(w, tuple(float(np.abs(v - c @ w).sum()) for c, v in problems))
