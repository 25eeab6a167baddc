"""Best approximation in l1 on the integers by sums of exponentials or of powers, with proof.

For a summable kernel rho and f_h(t) = e^{-beta_h t}, t = 0, 1, ..., or t^{-beta_h}, t = 1, 2, ...,

    E = min over alpha of sum_t |rho(t) - phi(t)|,        phi = sum_h alpha_h f_h.

From below. If |z_t| <= 1 and sum_t z_t f_h(t) = 0 for every h, then sum_t z_t rho(t) <= E, since
the sum equals sum_t z_t (rho - phi)(t) for every alpha. From above: any alpha. Linear programming
says that the two meet, and that some best phi equals rho at H times, where |z_t| < 1.

Method. The functions are so nearly dependent that float64 sees neither alpha nor z in their own
basis. So (1) they are made orthonormal, by Cholesky in high precision; (2) the dual program is
solved in float64 in that basis, which tells the H times and the signs of z elsewhere; (3) from
there the simplex method of Barrodale and Roberts goes on in high precision to the optimum;
(4) alpha is solved from rho(t) = phi(t) at these times and z from the orthogonality, in balls, and
z is divided by its largest entry should that exceed 1. Nothing that is proved rests on (1) to (3).

Beyond the window the times are put together in blocks: z is constant on a block, and f_h counts
with its sum over it. A sum of H exponentials or powers has at most H - 1 zeros t > 0 (Descartes;
Polya and Szego, part V, problems 75 to 77). If so many are found, phi has one sign on each side of
them, and sum |phi| over a block is a difference of tails; otherwise |alpha_h| stands for alpha_h.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, cast

import flint
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from repro.numerics.exact import rational
from repro.numerics.logarithms import Log, ball
from repro.numerics.vertices import (
    BITS,
    LP,
    Basis,
    NotConverged,
    Undecided,
    column,
    dot,
    independent,
    least_worst,
    optimum,
    sign,
)

GROWTH, REACH = 1.12, 1e6  # settings of the blocks of powers: from the window to here
NOTHING = 2.0**-200  # setting: a sum of |alpha_h f_h| beyond the window below it needs no argument
OVER = 1e-6  # by which the solver may exceed a bound on the weights, relatively
FINER = 12  # setting: points between two times at which zeros are looked for, where they are missed


# The functions


def _checked(exponents: Sequence[Any], least: int, name: str) -> tuple[Any, ...]:
    exact = tuple(beta if isinstance(beta, Log) else rational(beta) for beta in exponents)
    with flint.ctx.workprec(BITS):
        found = [ball(beta) for beta in exact]
    if not found or not all(beta > least for beta in found):
        raise ValueError(f"{name} need exponents above {least}, got {list(exponents)}")
    if any(a.overlaps(b) for i, a in enumerate(found) for b in found[:i]):
        raise ValueError(f"{name} need distinct exponents, got {list(exponents)}")
    return exact


def _step(exponents: tuple[Any, ...]) -> Any:
    """The exact difference of neighbours if it is the same for all, else None."""
    if len({isinstance(beta, Log) for beta in exponents}) > 1 or len(exponents) < 3:
        return None
    steps = [b - a for a, b in itertools.pairwise(exponents)]
    return steps[0] if all(step == steps[0] for step in steps) else None


def _powers(exponents: tuple[Any, ...], logarithm: flint.arb) -> list[flint.arb]:
    """e^{-beta_h logarithm} for all h; by products if the exponents are equally spaced."""
    step = _step(exponents)
    if step is None:
        return [(-ball(beta) * logarithm).exp() for beta in exponents]
    row, factor = [(-ball(exponents[0]) * logarithm).exp()], (-ball(step) * logarithm).exp()
    for _ in exponents[1:]:
        row.append(row[-1] * factor)
    return row


@dataclass(frozen=True)
class Exponentials:
    """e^{-beta_h (t - shift)} on t = 0, 1, 2, ...; the exponents are exact real numbers.

    >>> Exponentials((Log(2), Log(4))).values([0, 1, 2])[:, 1].round(4).tolist()
    [1.0, 0.25, 0.0625]
    """

    exponents: tuple[Any, ...]
    shift: int = 0
    first = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponents", _checked(self.exponents, 0, "exponentials"))

    def __len__(self) -> int:
        return len(self.exponents)

    def values(self, times: Any) -> np.ndarray:
        """In float64: one row for each time, one column for each exponent."""
        beta = np.array([float(ball(b)) for b in self.exponents])
        return np.exp(-beta * (np.asarray(times, dtype=float)[:, None] - self.shift))

    def balls(self, times: Sequence[Any]) -> list[list[flint.arb]]:
        """The same, enclosed at the precision in force."""
        return [_powers(self.exponents, ball(t) - self.shift) for t in times]

    def moved(self, t: int, other: Self) -> int:
        """The time at which these functions have the values of the others at t."""
        return t - other.shift + self.shift

    def blocks(self, start: int) -> list[int]:
        """Where the blocks beyond the window begin: one is enough, so fast do they decay."""
        return [start]

    def tails(self, start: int) -> list[flint.arb]:
        """The sums over t >= start."""
        row = self.balls([start])[0]
        return [f / (1 - (-ball(b)).exp()) for f, b in zip(row, self.exponents, strict=True)]


@dataclass(frozen=True)
class Powers:
    """(t / scale)^{-beta_h} on t = 1, 2, 3, ...; the exponents are exact real numbers above 1."""

    exponents: tuple[Any, ...]
    scale: int = 1
    first = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponents", _checked(self.exponents, 1, "summable powers"))
        if self.scale < 1:
            raise ValueError(f"a scale is a positive integer, got {self.scale}")

    def __len__(self) -> int:
        return len(self.exponents)

    def values(self, times: Any) -> np.ndarray:
        """In float64: one row for each time, one column for each exponent."""
        _after_zero(times)
        beta = np.array([float(ball(b)) for b in self.exponents])
        return (np.asarray(times, dtype=float)[:, None] / self.scale) ** -beta

    def balls(self, times: Sequence[Any]) -> list[list[flint.arb]]:
        """The same, enclosed at the precision in force."""
        _after_zero(times)
        logarithms = [(ball(t) / self.scale).log() for t in times]
        return [_powers(self.exponents, logarithm) for logarithm in logarithms]

    def moved(self, t: int, other: Self) -> Fraction:
        """The time at which these functions have the values of the others at t."""
        return Fraction(t * self.scale, other.scale)

    def blocks(self, start: int) -> list[int]:
        """Where the blocks beyond the window begin: in geometric progression."""
        starts = [start]
        while starts[-1] < REACH:
            starts.append(max(starts[-1] + 1, int(GROWTH * starts[-1])))
        return starts

    def tails(self, start: int) -> list[flint.arb]:
        """The sums over t >= start: Hurwitz's zeta function."""
        _after_zero([start])
        beta = [ball(b) for b in self.exponents]
        return [flint.arb(self.scale) ** b * b.zeta(flint.arb(int(start))) for b in beta]


def _after_zero(times: Sequence[Any]) -> None:
    if min(times, default=1) < 1:
        raise ValueError("a power t^-beta is defined from t = 1 on: log-RPE does not see t = 0")


Family = Exponentials | Powers


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
    if int(T) != T or T < 0:
        raise ValueError(f"the indicator needs an integer T >= 0, got {T}")
    return Kernel(
        lambda t: flint.arb(1 if t == T else 0), lambda start: flint.arb(1 if start <= T else 0)
    )


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
        return float(self.upper.upper())

    @property
    def floor(self) -> float:
        """The proved bound from below, as a float."""
        return float(self.lower.lower())

    @property
    def weight(self) -> flint.arb:
        """sum_h |alpha_h|."""
        return sum((abs(alpha) for alpha in self.coefficients), flint.arb(0))


def best(kernel: Kernel, family: Family, *, window: int) -> Best:
    """The least l1 distance of the kernel from the span of the family."""
    times, bits = _times(family, window), 0
    while True:
        rows, basis = _independent(family, times, bits)
        try:
            with flint.ctx.workprec(basis.bits):
                return _best(kernel, family, times, rows, basis)
        except Undecided:
            bits = 2 * basis.bits


def _best(
    kernel: Kernel, family: Family, times: range, rows: list[list[flint.arb]], basis: Basis
) -> Best:
    values = _values(kernel, times, len(rows))
    chosen, alpha, z = optimum(rows, values, basis)
    lower = dot(z, values) - kernel.beyond(times[-1] + 1)
    met = [i for i in sorted(chosen) if i < len(times)]
    zeros = [times[i] for i in met if values[i] == 0]
    upper = l1_error(kernel, family, alpha, window=len(times), zeros=zeros)
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

    `zeros`: times, integer or not, at which phi is known to vanish: balls cannot tell.
    """
    times, alpha = _times(family, window), [ball(a) for a in coefficients]
    starts = family.blocks(times[-1] + 1)
    tail = kernel.beyond(starts[0])
    phi = _phi(family, alpha, [*times, *starts])
    inside = sum((abs(kernel.ball(t) - p) for t, p in zip(times, phi, strict=False)), flint.arb(0))
    beyond = dot([abs(a) for a in alpha], family.tails(starts[0]))
    if not beyond < NOTHING and _all_zeros_found(family, alpha, [*times, *starts], phi, zeros):
        sums = [dot(alpha, family.tails(t)) for t in _split(family, alpha, starts)]
        pairs = itertools.pairwise([*sums, flint.arb(0)])
        beyond = sum((abs(a - b) for a, b in pairs), flint.arb(0))
        if tail == 0:
            return inside + beyond
    return inside.union(inside + beyond + tail)


def _split(family: Family, alpha: list[flint.arb], starts: list[int]) -> list[int]:
    """The first of the starts, and each time beyond at which phi has changed its sign."""
    found = [starts[0]]
    signs = [sign(value) for value in _phi(family, alpha, starts)]
    for (low, high), (before, after) in zip(
        itertools.pairwise(starts), itertools.pairwise(signs), strict=True
    ):
        if before == after:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            if sign(_phi(family, alpha, [middle])[0]) == before:
                low = middle
            else:
                high = middle
        found.append(high)
    return found


def _phi(family: Family, alpha: list[flint.arb], times: Sequence[Any]) -> list[flint.arb]:
    return (flint.arb_mat(family.balls(times)) * column(alpha)).entries()


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


def _all_zeros_found(
    family: Family,
    alpha: list[flint.arb],
    times: Sequence[int],
    phi: list[flint.arb],
    known: Sequence[Any],
) -> bool:
    """Whether phi is seen to have all the H - 1 zeros that it can have, if need be in between."""
    if _zeros_at_least(times, phi, known) >= len(family) - 1:
        return True
    # setting: how far zeros are looked for
    finer = [times[0] + Fraction(k, FINER) for k in range(2 * FINER * len(family))]
    merged = sorted({*finer, *times})
    return _zeros_at_least(merged, _phi(family, alpha, merged), known) >= len(family) - 1


def _zeros_at_least(times: Sequence[Any], phi: Sequence[flint.arb], known: Sequence[Any]) -> int:
    """A number of zeros that phi has for certain, some of them known, between these times."""
    count = between = last = 0
    waiting = sorted(set(known), reverse=True)
    for t, value in zip(times, phi, strict=True):
        while waiting and waiting[-1] <= t:
            between, at = between + 1, waiting.pop()
            if at == t:
                break
        else:
            if not value.contains(0):
                now = sign(value)
                if last and (now == last) == (between % 2 == 1):
                    between += 1  # the signs at both ends tell the parity
                count, between, last = count + between, 0, now
    return count + between + len(waiting)


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
