"""Best uniform approximation by polynomials: the least possible error, from below and from above.

For a continuous f on [a, b], E_q(f) is the least of max |f - p| over all polynomials p of degree
at most q. Remez's exchange finds it in floating point. What is proved does not rest on that: from
below `level`, where the error alternates, from above Taylor's theorem on cells (taylor.py).

Over finitely many points the minimum is a linear program (`best_on_points`): an independent check
in one variable, and the method in several.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import linprog

from repro.numerics.exact import rational, vector
from repro.numerics.taylor import BITS, ROUNDOFF, upper_bound
from repro.numerics.taylor import lower_end as lower_end
from repro.numerics.taylor import upper_end as upper_end

GRID = 128  # points per alternation: the grid misses an extremum by 1 - cos(pi / 256) at most
ROUNDS = 40  # of exchange; twelve have been enough for everything tried
CLOSE = 1e-9  # relative gap between the level and the largest error at which Remez stops
DIGITS = 100  # setting: by so much the error must exceed round-off for an exchange to mean anything
TAIL = 64  # Chebyshev coefficients beyond the q-th that `fine_alternation` looks at


@dataclass(frozen=True)
class Target:
    """f = branches[i] on [breaks[i], breaks[i+1]], each analytic in a neighbourhood of that.

    A branch is written with numpy's functions: it takes floats, balls and power series alike.

    >>> Target((-1.0, 0.0, 1.0), (lambda x: -x, lambda x: x))(np.array([-0.5, 1.0]))  # |x|
    array([0.5, 1. ])
    """

    breaks: tuple[float, ...]
    branches: tuple[Callable[[Any], Any], ...]

    def __post_init__(self) -> None:
        ends = self.breaks[0], self.breaks[-1]
        if (self.centre - self.radius, self.centre + self.radius) != ends:  # bounds need it exact
            raise ValueError(f"centre and radius of {ends} are no floats: round the ends to 1/1024")

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self._pick(x, x)

    def balls(self, x: np.ndarray) -> np.ndarray:
        """f at these floats, which are exact numbers, in balls of the working precision."""
        return self._pick(x, vector([flint.arb(value) for value in x.tolist()]))

    def _pick(self, x: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        place = np.searchsorted(self.breaks[1:-1], x)
        return np.choose(place, [branch(numbers) for branch in self.branches])

    @property
    def centre(self) -> float:
        return (self.breaks[0] + self.breaks[-1]) / 2

    @property
    def radius(self) -> float:
        return (self.breaks[-1] - self.breaks[0]) / 2


@dataclass(frozen=True)
class Best:
    """The best polynomial of degree q, in the Chebyshev basis of the interval.

    `lower <= E_q(f) <= upper` is proved; `points` are q + 2 places where the error alternates.
    """

    target: Target
    coefficients: np.ndarray  # (q+1,)
    points: np.ndarray  # (q+2,)
    lower: float
    upper: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        normalised = (x - self.target.centre) / self.target.radius
        return chebyshev.chebval(normalised, self.coefficients)

    def polynomial(self) -> flint.fmpq_poly:
        """The same in powers of x, without rounding: floats are rational numbers."""
        centre, radius = rational(self.target.centre), rational(self.target.radius)
        inner = flint.fmpq_poly([-centre / radius, 1 / radius])
        T = chebyshev_polynomials(len(self.coefficients) - 1, inner)
        terms = (rational(c) * p for c, p in zip(self.coefficients, T, strict=True))
        return sum(terms, flint.fmpq_poly([]))


def chebyshev_polynomials(q: int, z: flint.fmpq_poly) -> list[flint.fmpq_poly]:
    """T_0(z), ..., T_q(z) for a polynomial z."""
    T = [flint.fmpq_poly([1]), z]
    for _ in range(1, q):
        T.append(2 * z * T[-1] - T[-2])
    return T[: q + 1]


def best(f: Target, q: int) -> Best:
    """Remez's exchange on a fine grid, and the two bounds.

    >>> from repro.numerics.minimax import Target, best
    >>> found = best(Target((-1.0, 0.0, 1.0), (lambda x: -x, lambda x: x)), 4)  # |x|
    >>> round(found.lower, 6), round(found.upper, 4)
    (0.067618, 0.0678)
    """
    coefficients, points = remez(f, q)
    lower = lower_end(abs(level(f, points)))
    return Best(f, coefficients, points, lower, upper_end(upper_bound(f, coefficients)))


def remez(f: Target, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Chebyshev coefficients (q+1,) of the best polynomial on a grid; its alternation (q+2,)."""
    breaks = (np.array(f.breaks) - f.centre) / f.radius
    cosines = np.cos(np.linspace(math.pi, 0, GRID * (q + 2) + 1))  # setting: how fine
    grid = np.union1d(cosines, breaks)
    x = f.centre + f.radius * grid
    values, powers = f(x), chebyshev.chebvander(grid, q)  # (N,), (N, q+1)
    signs, noise = (-1.0) ** np.arange(q + 2), 8 * ROUNDOFF * np.abs(values).max()
    rows = np.searchsorted(grid, chebyshev_points(q + 1)[1:])  # symmetric, an even f has level 0
    for _ in range(ROUNDS):
        system = np.column_stack([powers[rows], signs])
        *coefficients, height = np.linalg.solve(system, values[rows])
        error = values - powers @ coefficients
        gap = np.abs(error).max() - abs(height)
        if gap <= CLOSE * abs(height) + noise and abs(height) > DIGITS * noise:
            return np.array(coefficients), x[rows]
        rows = _alternation(error, q + 2)
    raise ArithmeticError(
        f"Remez's exchange for q={q} does not end: level {abs(height):.1e}, gap {gap:.1e}, "
        f"round-off {noise:.1e}; where float64 has no digits left, use `fine_alternation`"
    )


def fine_alternation(f: Target, q: int, *, bits: int = BITS) -> np.ndarray:
    """The alternation for an analytic f whose error is far below what float64 sees beside f itself.

    A polynomial of degree q changes only the first q + 1 Chebyshev coefficients of f. So E_q(f) is
    that of the rest, sum_{k > q} a_k T_k, which float64 carries as well as anything once it is
    scaled to 1; the a_k come from balls, by Gauss's quadrature.
    """
    (branch,) = f.branches  # with breaks, the a_k would fall slowly
    nodes = 2 * (q + TAIL)  # setting: how many
    with flint.ctx.workprec(bits):
        cosines = vector(
            [flint.arb.cos_pi_fmpq(flint.fmpq(m, 2 * nodes)) for m in range(4 * nodes)]
        )
        odd = 2 * np.arange(nodes) + 1
        values = branch(f.centre + f.radius * cosines[odd])
        rest = [values @ cosines[k * odd % (4 * nodes)] for k in range(q + 1, q + 1 + TAIL)]
        scale = max(map(abs, rest), key=upper_end)
        scaled = np.array([0.0] * (q + 1) + [float(a / scale) for a in rest])
    tail = Target((-1.0, 1.0), (lambda x: chebyshev.chebval(x, scaled),))
    return f.centre + f.radius * remez(tail, q)[1]


def chebyshev_points(q: int) -> np.ndarray:
    """The q + 2 extrema of T_(q+1), increasing: the alternation of x^(q+1), and nearly others'."""
    return np.cos(np.arange(q + 1, -1, -1) * math.pi / (q + 1))


def _alternation(error: np.ndarray, count: int) -> np.ndarray:
    """Where |error| is largest in each run of one sign; `count` of them, in a row."""
    ends = np.flatnonzero(np.diff(np.signbit(error))) + 1
    runs = np.split(np.arange(len(error)), ends)
    peaks = [run[np.argmax(np.abs(error[run]))] for run in runs]
    if len(peaks) < count:
        raise ArithmeticError(
            f"Remez's exchange: the error alternates {len(peaks)} times, not {count}: f is a "
            f"polynomial of degree {count - 2} or less, or round-off hides that it is not; then "
            "use `fine_alternation`"
        )
    while len(peaks) > count:
        peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
    return np.array(peaks)


def level(f: Target, points: np.ndarray, *, bits: int = BITS) -> flint.arb:
    """sum w_i f(x_i) / sum |w_i| for these q + 2 points: |level| <= E_q(f).

    Let weights w_i and points x_i satisfy sum_i w_i p(x_i) = 0 for all p of a linear space. Then
        |sum_i w_i f(x_i)| = |sum_i w_i (f - p)(x_i)| <= sum_i |w_i| max |f - p|     for every p,
    so |sum w_i f(x_i)| / sum |w_i| is at most the least error, whatever the points are (de la
    Vallee Poussin), with equality if f - p is +-max |f - p| with the signs of w at these points:
    Chebyshev's alternation. In one variable q + 2 points have exactly one such w, up to a factor,
    w_i = 1 / prod_{j != i} (x_i - x_j); it is evaluated in balls. In several variables
    `exact.annihilator` finds it.
    """
    with flint.ctx.workprec(bits):
        weights = _weights(points)
        return weights @ f.balls(points) / np.abs(weights).sum()


def levelled(f: Target, points: np.ndarray, *, bits: int = BITS) -> flint.fmpq_poly:
    """The polynomial of degree q with f - p = +-level at these q + 2 points, to about `bits` bits.

    With the alternation of the best polynomial it is the best one.
    """
    with flint.ctx.workprec(bits):
        signs = (-1) ** np.arange(len(points))[::-1].astype(object)  # those of w
        values = f.balls(points) - signs * level(f, points, bits=bits)
        differences = _divided_differences(points[:-1], values[:-1])
        polynomial = flint.fmpq_poly([])
        for point, difference in zip(points[-2::-1], differences[::-1], strict=True):
            factor = flint.fmpq_poly([-rational(point), 1])
            polynomial = polynomial * factor + difference.mid().fmpq()
        return polynomial


def _divided_differences(points: np.ndarray, values: np.ndarray) -> np.ndarray:
    x, differences = vector([flint.arb(point) for point in points.tolist()]), values.copy()
    for k in range(1, len(x)):
        differences[k:] = (differences[k:] - differences[k - 1 : -1]) / (x[k:] - x[:-k])
    return differences


def _weights(points: np.ndarray) -> np.ndarray:
    """1 / prod_{j != i} (x_i - x_j), in balls."""
    x = vector([flint.arb(point) for point in points.tolist()])
    apart = x[:, None] - x[None, :] + np.eye(len(x), dtype=int).astype(object)
    return 1 / np.prod(apart, axis=1)


@dataclass(frozen=True)
class BestOnPoints:
    """The least of max |values - columns @ c| over c, and what proves it.

    `weights` are those of the dual: columns.T @ weights = 0, sum |weights| = 1, and
    weights @ values = error, all up to round-off; they live on n + 1 points as a rule.
    """

    coefficients: np.ndarray  # (n,)
    error: float
    weights: np.ndarray  # (N,)


def best_on_points(columns: np.ndarray, values: np.ndarray) -> BestOnPoints:
    """Linear program of Chebyshev approximation, for n functions at N points; columns: (N, n).

    What least squares leaves is scaled to 1 first, so that tolerances are relative to the error.
    """
    start = np.linalg.lstsq(columns, values)[0]
    left = values - columns @ start
    scale = np.abs(left).max()
    if scale == 0:
        return BestOnPoints(start, 0.0, np.zeros(len(values)))
    ones = np.ones((len(values), 1))
    solved = linprog(
        np.append(np.zeros(columns.shape[1]), 1.0),
        A_ub=np.block([[columns, -ones], [-columns, -ones]]),
        b_ub=np.append(left, -left) / scale,
        bounds=(None, None),
    )
    if not solved.success:
        raise ArithmeticError(f"the linear program of {columns.shape} ended with: {solved.message}")
    above, below = np.split(-solved.ineqlin.marginals, 2)
    return BestOnPoints(start + scale * solved.x[:-1], scale * solved.fun, below - above)


def best_on_grid(
    columns: np.ndarray, values: np.ndarray, rows: np.ndarray, *, close: float = 0.01
) -> tuple[BestOnPoints, np.ndarray]:
    """The linear program on some rows, with the worst others added until all are within `close`.

    Returns the last program and its rows. Its error is a lower bound for the grid, and 1 + close
    times that an upper one.
    """
    while True:
        found = best_on_points(columns[rows], values[rows])
        error = np.abs(values - columns @ found.coefficients)
        if error.max() <= (1 + close) * found.error:
            return found, rows
        more = np.union1d(rows, np.argsort(error)[-columns.shape[1] :])
        if len(more) == len(rows):
            gap = error.max() / found.error - 1
            raise ArithmeticError(f"the linear program is off by {gap:.1e}, {close:g} was asked")
        rows = more
