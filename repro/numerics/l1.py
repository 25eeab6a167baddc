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

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, cast

import flint
import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.optimize import linprog

from repro.numerics.exact import rational
from repro.numerics.logarithms import Log, ball

BITS, EACH = 512, 24  # to begin with, and for each function; doubled until they are independent
MOST_BITS = 1 << 15
SPARE = 128  # bits by which a pivot must exceed its own uncertainty
ORTHONORMAL = 1e-12  # within which Q^T Q must be the identity
EXCHANGES = 400  # of one interpolation time for another
GROWTH, REACH = 1.12, 1e6  # of the blocks of powers: from the window to here
NOTHING = 2.0**-200  # below which the sum of |alpha_h f_h| beyond the window needs no argument
OVER = 1e-6  # by which the solver may exceed a bound on the weights, relatively
SHARE = 1e-9  # below which a kernel does not take part in the worst case
FINER = 12  # points between two times at which zeros are looked for, where they are missed
LP = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class NotConverged(ArithmeticError):
    """A linear program that the solver gave up, or exchanges that did not come to an end."""


class Undecided(NotConverged):
    """A sign that the precision in force does not tell."""


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
        rows, basis = _independent(lambda: _rows(family, times), len(family), bits)
        try:
            with flint.ctx.workprec(basis.bits):
                return _best(kernel, family, times, rows, basis)
        except Undecided:
            bits = 2 * basis.bits


def _best(
    kernel: Kernel, family: Family, times: range, rows: list[list[flint.arb]], basis: "_Basis"
) -> Best:
    values = _values(kernel, times, len(rows))
    chosen, alpha, z = _optimum(rows, values, basis)
    lower = _dot(z, values) - kernel.beyond(times[-1] + 1)
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
    rows, basis = _independent(lambda: [row for _, f in pairs for row in _rows(f, times)], H)
    size = len(rows) // len(pairs)
    with flint.ctx.workprec(basis.bits):
        values = [v for kernel, _ in pairs for v in _values(kernel, times, size)]
        chosen, alpha, z, lam = _least_worst(rows, values, basis, len(pairs))
        tails = [kernel.beyond(times[-1] + 1) for kernel, _ in pairs]
        lower = (_dot(z, values) - _dot(lam, tails)) / sum(lam, flint.arb(0))
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
    beyond = _dot([abs(a) for a in alpha], family.tails(starts[0]))
    exact = beyond < NOTHING
    if not exact and _all_zeros_found(family, alpha, [*times, *starts], phi, zeros):
        sums = [_dot(alpha, family.tails(t)) for t in _split(family, alpha, starts)]
        pairs = itertools.pairwise([*sums, flint.arb(0)])
        beyond, exact = sum((abs(a - b) for a, b in pairs), flint.arb(0)), True
    if exact and tail == 0:
        return inside + beyond
    return inside.union(inside + beyond + tail)


def _split(family: Family, alpha: list[flint.arb], starts: list[int]) -> list[int]:
    """The first of the starts, and each time beyond at which phi has changed its sign."""
    found = [starts[0]]
    signs = [_sign(value) for value in _phi(family, alpha, starts)]
    for (low, high), (before, after) in zip(
        itertools.pairwise(starts), itertools.pairwise(signs), strict=True
    ):
        if before == after:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            if _sign(_phi(family, alpha, [middle])[0]) == before:
                low = middle
            else:
                high = middle
        found.append(high)
    return found


def _sign(value: flint.arb) -> int:
    if value.contains(0):
        raise Undecided(f"the precision does not tell the sign of {value}")
    return 1 if value > 0 else -1


def _phi(family: Family, alpha: list[flint.arb], times: Sequence[Any]) -> list[flint.arb]:
    return (flint.arb_mat(family.balls(times)) * _column(alpha)).entries()


def _times(family: Family, window: int) -> range:
    if window <= len(family):
        raise ValueError(f"a window needs more times than functions: {window} <= {len(family)}")
    return range(family.first, family.first + window)


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


def _column(entries: Sequence[flint.arb]) -> flint.arb_mat:
    return flint.arb_mat([[entry] for entry in entries])


def _dot(a: Sequence[flint.arb], b: Sequence[flint.arb]) -> flint.arb:
    return sum((x * y for x, y in zip(a, b, strict=True)), flint.arb(0))


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
                sign = _sign(value)
                if last and (sign == last) == (between % 2 == 1):
                    between += 1  # the signs at both ends tell the parity
                count, between, last = count + between, 0, sign
    return count + between + len(waiting)


# From float64 to the optimum in high precision


@dataclass(frozen=True)
class _Basis:
    """Orthonormal columns that span those of the rows, in float64, found with so many bits."""

    Q: np.ndarray
    bits: int


def _independent(
    make: Callable[[], list[list[flint.arb]]], count: int, least: int = 0
) -> tuple[list[list[flint.arb]], _Basis]:
    """The rows, at the first precision at which their columns are seen to be independent."""
    bits = max(BITS, EACH * count, least)
    while bits <= MOST_BITS:
        with flint.ctx.workprec(bits):
            rows = make()
            basis = _basis(rows)
        if basis is not None:
            return rows, basis
        bits *= 2
    raise NotConverged(f"{MOST_BITS} bits do not tell the functions apart")


def _basis(rows: list[list[flint.arb]]) -> _Basis | None:
    matrix = flint.arb_mat(rows)
    R = _cholesky(matrix.transpose() * matrix)
    if R is None:
        return None
    entries = (matrix * R.inv()).entries()
    Q = np.array([float(entry) for entry in entries]).reshape(len(rows), -1)
    if not np.abs(Q.T @ Q - np.eye(Q.shape[1])).max() < ORTHONORMAL:
        return None
    return _Basis(Q, flint.ctx.prec)


def _cholesky(gram: flint.arb_mat) -> flint.arb_mat | None:
    """Upper triangular R with R^T R = gram, or None if the precision does not carry it."""
    n = gram.nrows()
    R = [[flint.arb(0)] * n for _ in range(n)]
    for i in range(n):
        pivot = gram[i, i] - _dot([R[k][i] for k in range(i)], [R[k][i] for k in range(i)])
        if not pivot > 0 or pivot.rel_accuracy_bits() < SPARE:
            return None
        R[i][i] = pivot.sqrt()
        for j in range(i + 1, n):
            dot = _dot([R[k][i] for k in range(i)], [R[k][j] for k in range(i)])
            R[i][j] = (gram[i, j] - dot) / R[i][i]
    return flint.arb_mat(R)


def _optimum(
    rows: list[list[flint.arb]], values: list[flint.arb], basis: _Basis
) -> tuple[list[int], list[flint.arb], list[flint.arb]]:
    """Rows that are met exactly, the coefficients, and z with |z| <= 1, orthogonal to the columns.

    An exchange of Barrodale and Roberts: |z_i| > 1 at a chosen row i means that the error falls if
    the residual there leaves 0 on the side of the sign of z_i. Along this line the error is convex
    and piecewise linear; the row at which it stops falling is chosen instead of i.
    """
    matrix = flint.arb_mat(rows)
    chosen, signs = _start(basis.Q, np.array([float(value) for value in values]))
    for _ in range(EXCHANGES):
        square = flint.arb_mat([rows[i] for i in chosen])
        alpha = square.solve(_column([values[i] for i in chosen]))
        residual = [v - p for v, p in zip(values, (matrix * alpha).entries(), strict=True)]
        _follow(signs, residual)
        pull = matrix.transpose() * _column([flint.arb(int(sign)) for sign in signs])
        z = square.transpose().solve(-1 * pull).entries()
        worst = max(range(len(chosen)), key=lambda k: abs(float(z[k])))
        if abs(float(z[worst])) <= 1 + 2.0**-40:
            return chosen, alpha.entries(), _feasible(signs, chosen, z)
        leave = _sign(z[worst])
        unit = [flint.arb(-leave if k == worst else 0) for k in range(len(chosen))]
        slope = (matrix * square.solve(_column(unit))).entries()
        entering, passed = _stop(residual, slope, signs, abs(float(z[worst])))
        signs[passed] *= -1
        signs[chosen[worst]], signs[entering], chosen[worst] = leave, 0, entering
    raise NotConverged(f"no optimum after {EXCHANGES} exchanges")


def _start(Q: np.ndarray, values: np.ndarray) -> tuple[list[int], np.ndarray]:
    """The rows where the dual program in float64 has |z| < 1, and the signs of z elsewhere."""
    scale = np.abs(values).max()
    if not scale > 0:
        raise ValueError("the kernel vanishes on the whole window: nothing to approximate")
    H = Q.shape[1]
    found = linprog(-values / scale, A_eq=Q.T, b_eq=np.zeros(H), bounds=(-1, 1), options=LP)
    if found.x is None:
        raise NotConverged(f"the dual program of {Q.shape} rows and functions: {found.message}")
    z = found.x
    inside = np.maximum(1 - np.abs(z), 1e-12)
    chosen = [int(i) for i in _pivots(inside, Q)[:H]]
    signs = np.where(z < 0, -1, 1)
    signs[chosen] = 0
    return chosen, signs


def _pivots(weight: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """The rows in the order in which they are far from the span of those before, by weight."""
    _, order = cast(Any, qr((weight[:, None] * Q).T, pivoting=True, mode="r"))
    return order


def _follow(signs: np.ndarray, residual: list[flint.arb]) -> None:
    """Signs are those of the residual where it is not 0; where it is, they are free."""
    for i, value in enumerate(residual):
        if signs[i] and not value.contains(0):
            signs[i] = _sign(value)


def _stop(
    residual: list[flint.arb], slope: list[flint.arb], signs: np.ndarray, pull: float
) -> tuple[int, list[int]]:
    """Where sum |residual - tau slope| stops falling as tau grows from 0, and what it passes.

    It falls at the rate pull - 1 at first, and each row that changes sign takes 2 |slope| off.
    """
    ahead = []
    for i, (r, s) in enumerate(zip(residual, slope, strict=True)):
        if signs[i] and not s.contains(0) and signs[i] * float(s) > 0:
            ahead.append((max(0.0, float(r / s)) if not r.contains(0) else 0.0, i))
    rate, passed = 1 - pull, []
    for _, i in sorted(ahead):
        rate += 2 * abs(float(slope[i]))
        if rate >= 0:
            return i, passed
        passed.append(i)
    raise NotConverged("the error falls without end: the rows do not span")


def _feasible(signs: np.ndarray, chosen: list[int], z: list[flint.arb]) -> list[flint.arb]:
    """The whole z, divided by its largest entry if that may exceed 1."""
    whole = [flint.arb(int(sign)) for sign in signs]
    for i, entry in zip(chosen, z, strict=True):
        whole[i] = entry
    largest = max((abs(entry).upper() for entry in z), key=float)
    return whole if largest <= 1 else [entry / largest for entry in whole]


def _least_worst(
    rows: list[list[flint.arb]], values: list[flint.arb], basis: _Basis, count: int
) -> tuple[list[int], list[flint.arb], list[flint.arb], list[flint.arb]]:
    """Rows met exactly, the coefficients, z and lam, at the vertex that float64 finds.

    At a vertex with k kernels of equal error E, H + 1 - k rows are met exactly, and with the signs
    s_t of the other residuals, coefficients and E solve one system, z and lam its transpose:
        phi(t) = rho(t) at the chosen rows,       sum_t s_t phi_B(t) + E = sum_t s_t rho_B(t);
        sum z_t f_h(t) + sum_B lam_B sum_t s_t f_h(t) = 0,       sum_B lam_B = 1.
    """
    H, size = len(rows[0]), len(rows) // count
    z, lam = _worst_case(basis.Q, np.array([float(v) for v in values]), count)
    active, chosen, signs = _vertex(z, lam, basis.Q)
    system = [[*rows[i], flint.arb(0)] for i in chosen]
    right = [values[i] for i in chosen]
    for B in active:
        part = range(B * size, (B + 1) * size)
        s = flint.arb_mat([[flint.arb(int(signs[i])) for i in part]])
        system.append([*(s * flint.arb_mat([rows[i] for i in part])).entries(), flint.arb(1)])
        right.append((s * _column([values[i] for i in part]))[0, 0])
    square = flint.arb_mat(system)
    alpha = square.solve(_column(right)).entries()[:-1]
    solved = square.transpose().solve(_column([*[flint.arb(0)] * H, flint.arb(1)])).entries()
    shares = dict(zip(active, solved[len(chosen) :], strict=True))
    whole = [shares.get(i // size, flint.arb(0)) * int(signs[i]) for i in range(len(rows))]
    for i, entry in zip(chosen, solved, strict=False):
        whole[i] = entry
    parts = (whole[B * size : (B + 1) * size] for B in range(count))
    largest = [max((abs(entry).upper() for entry in part), key=float) for part in parts]
    return chosen, alpha, whole, largest


def _vertex(
    z: np.ndarray, lam: np.ndarray, Q: np.ndarray
) -> tuple[list[int], list[int], np.ndarray]:
    """Which kernels have the worst error, which rows are met, and the signs of the others."""
    active = [B for B, share in enumerate(lam) if share > SHARE]
    bounds = np.repeat(lam, len(z) // len(lam))
    inside = np.where(bounds > SHARE, 1 - np.abs(z) / np.maximum(bounds, SHARE), 0)
    order = _pivots(np.maximum(inside, 1e-12), Q)
    chosen = [int(i) for i in order[: Q.shape[1] + 1 - len(active)]]
    signs = np.where(bounds > SHARE, np.sign(z), 0).astype(int)
    signs[chosen] = 0
    return active, chosen, signs


def _worst_case(Q: np.ndarray, values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """z and lam in float64: max z.values with Q^T z = 0, |z| <= lam_B in block B, sum lam = 1."""
    (R, H), each = Q.shape, len(values) // count
    one, spread = sparse.eye_array(R), sparse.kron(sparse.eye_array(count), np.ones((each, 1)))
    found = linprog(
        np.r_[-values, np.zeros(count)],
        A_ub=sparse.block_array([[one, -spread], [-one, -spread]]),
        b_ub=np.zeros(2 * R),
        A_eq=sparse.block_array(
            [[sparse.csr_array(Q.T), None], [None, sparse.csr_array(np.ones((1, count)))]]
        ),
        b_eq=np.r_[np.zeros(H), 1],
        bounds=[(-1, 1)] * R + [(0, 1)] * count,
        options=LP,
    )
    if found.x is None:
        raise NotConverged(f"the program for {count} kernels: {found.message}")
    return found.x[:R], found.x[R:]


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
