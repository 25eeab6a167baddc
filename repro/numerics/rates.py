"""Exponents of measured curves: the slope of log y against log x, with an interval.

Model: y = C x^p (1 + a x^-q), with errors in log y; q is `correction`. In u = log x, v = log y the
least-squares slope is w.v, w = (u - mean) / sum (u - mean)^2. It misses p for four reasons; half
the interval's width is the plain sum of an allowance for each.

noise  Student's t times the standard error from the residuals, for independent errors.
drift  A deterministic curve has curvature, not noise. Let d.v be the slope of the upper half of
       the points minus that of the lower half. The curve g = log(1 + (x_0/x)^q), a correction as
       large as the law itself at the head x_0 of the window, shifts the slope by w.g and makes
       the drift d.g. So |d.v| |w.g / d.g| covers a x_0^-q = 1 exactly, and all of (-1, 1], where
       the curve bends more for its miss. The head may be either end: the larger of the two.
error  `floor` bounds the absolute error of y: sum |w_i log(1 - floor_i / y_i)|, and rounding.
bias   What the caller knows besides; for a factor log x it is `abs(slope(x, np.log(x)).slope)`.
       `slope_of_means` adds to it what sampling does: if y is a mean over draws, each of which is
       seen at all x, the slope is off by the mean of w.(draw / y - 1), to first order, and two
       standard errors of that are allowed for. Heavy tails that all x share leave no residual.

Measured (tests): 0.98 of noisy laws at confidence 0.95, and every curve of the model without
noise. Both at once is the weak spot: 10 % noise and a = x_0, 0.82 (0.92 at confidence 0.99). Noise
that is correlated along the curve, each error 0.8 of the last one and a new part: 0.87. Not
covered: a window wholly before the asymptotic regime (a >> x_0 looks like another exponent), and,
without a `bias`, a correction slower than x^-q, such as 1/log x.

Window: two rules drop points, and neither knows the exponent hoped for. Dropped are all points
from the first one at the floor on, in the direction in which y falls, and those outside `within`;
`reason` says so. No head is dropped automatically: to search over windows is to search for a
result (the noise term of the narrowest of all tails covers 0.89, not 0.95).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

FLOOR_FACTOR = 10.0  # so high log y is known to 0.11: 0.02 in a slope over 5 octaves, were it last
STANDARD_ERRORS = 2.0  # of the mean of draws, allowed for by slope_of_means
MIN_POINTS, MIN_OCTAVES = 4, 2.0  # for a slope
DIGITS = 9  # of octaves, so that from 3 to 12 are two of them in floating point as well
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Rate:
    """y ~ C x^slope; low and high are slope -+ (noise + drift + error + bias)."""

    slope: float
    low: float
    high: float
    confidence: float
    noise: float
    drift: float
    error: float
    bias: float
    octaves: float  # of x, in the window
    used: tuple[bool, ...]  # the points in the window, in the caller's order
    reason: str  # why points were dropped, one clause per group

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def contains(self, exponent: float) -> bool:
        return self.low <= exponent <= self.high

    def __str__(self) -> str:
        parts = (f"{k} {getattr(self, k):.2g}" for k in ("noise", "drift", "error", "bias"))
        interval = f"[{self.low:.4g}, {self.high:.4g}] at {self.confidence:g} ({', '.join(parts)})"
        window = f"{sum(self.used)} points, {self.octaves:.3g} octaves"
        return f"slope {self.slope:.4g} in {interval}; {window}; {self.reason}"


def slope(
    x: ArrayLike,
    y: ArrayLike,
    *,
    floor: ArrayLike = 0.0,
    within: tuple[float, float] = (0.0, math.inf),
    confidence: float = 0.95,
    bias: float = 0.0,
    correction: float = 1.0,
) -> Rate:
    """The exponent of y in x. `floor`: the error of y, one or per point.

    >>> import numpy as np
    >>> from repro.numerics.rates import slope
    >>> n = np.array([8, 16, 32, 64, 128])
    >>> rate = slope(n, n**-1.5 * (1 + 1 / n))
    >>> round(rate.slope, 3), round(rate.low, 2), round(rate.high, 2)
    (-1.538, -1.61, -1.47)
    >>> rate.contains(-1.5), rate.contains(-2)
    (True, False)
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    points = np.stack([x, y])
    if not (np.isfinite(points) & (points > 0)).all() or len(np.unique(x)) < len(x):
        raise ValueError(f"a slope needs positive finite numbers, each x once: {x=}, {y=}")
    floor = np.broadcast_to(np.asarray(floor, dtype=np.float64), len(y))
    if not (0 < confidence < 1 and 0 <= bias < math.inf and 0 < correction < math.inf):
        raise ValueError(f"need 0 < {confidence=} < 1, 0 <= {bias=} < inf, 0 < {correction=} < inf")
    if not np.all(np.isfinite(floor) & (floor >= 0)):
        raise ValueError(f"floor must be finite and >= 0: got {floor}")
    used, reason = _window(x, y, floor, within)
    octaves = round(float(np.ptp(np.log2(x[used]))), DIGITS) if used.any() else 0.0
    if not (used.sum() >= MIN_POINTS and octaves >= MIN_OCTAVES):
        raise ValueError(
            f"a slope needs {MIN_POINTS} points over {MIN_OCTAVES:g} octaves of x: "
            f"{used.sum()} of {len(x)} over {octaves:.3g} octaves left; {reason}"
        )
    i = np.flatnonzero(used)[np.argsort(x[used])]
    u, v, errors = np.log(x[i]), np.log(y[i]), -np.log1p(-floor[i] / y[i])
    b, noise, error = _line(u, v, errors, confidence)
    parts = noise, _drift(u, v, correction), error, float(bias)
    interval = b - sum(parts), b + sum(parts)
    return Rate(b, *interval, confidence, *parts, octaves, tuple(used.tolist()), reason)


def slope_of_means(x: ArrayLike, draws: ArrayLike, *, bias: float = 0.0, **options: Any) -> Rate:
    """The exponent of the mean over the rows of `draws`, (number of draws, len(x))."""
    draws = np.asarray(draws, dtype=np.float64)
    means = draws.mean(0)
    rate = slope(x, means, bias=bias, **options)
    used = np.asarray(rate.used)
    influence = (draws / means)[:, used] @ _weights(np.log(np.asarray(x, dtype=np.float64)[used]))
    sampling = float(influence.std(ddof=1) / math.sqrt(len(draws)))
    return slope(x, means, bias=bias + STANDARD_ERRORS * sampling, **options)


def bias_of_factors(x: ArrayLike, factors: ArrayLike) -> float:
    """What factors from 1 to these, unknown, can do to a slope: the `bias` to tell a fit.

    The slope is w.v with sum w = 0, so that h with 0 <= h_i <= b_i adds at most the sum of w_i b_i
    over w_i > 0, and takes as much over w_i < 0.
    """
    w, b = _weights(np.log(x)), np.log(factors)
    return float(max(np.maximum(w, 0) @ b, np.maximum(-w, 0) @ b))


def _weights(u) -> np.ndarray:
    """w such that w @ v is the least-squares slope of v against u."""
    centred = u - u.mean()
    return centred / (centred @ centred)


def _line(u, v, errors, confidence) -> tuple[float, float, float]:
    """Slope, noise and error of the line through (u, v), each of v within `errors`."""
    w, free = _weights(u), len(u) - 2  # a line takes two degrees of freedom
    b = float(w @ v)
    intercept = float(v.mean() - b * u.mean())
    sigma = np.linalg.norm(v - intercept - b * u) / math.sqrt(free)
    noise = float(stdtrit(free, (1 + confidence) / 2) * sigma * np.linalg.norm(w))
    rounding = len(u) * EPS * (1 + np.abs(v) + abs(b) * np.abs(u))  # of n terms, u and v rounded
    return b, noise, float(np.abs(w) @ (errors + rounding))


def _drift(u, v, q) -> float:
    """Half-to-half change of slope, scaled to the miss of the slope; u increasing."""
    half = (len(u) + 1) // 2  # an odd number of points shares the middle one
    w, d = _weights(u), np.zeros(len(u))
    d[-half:] += _weights(u[-half:])
    d[:half] -= _weights(u[:half])
    heads = np.log1p(np.exp(-q * (u - u[0]))), np.log1p(np.exp(q * (u - u[-1])))
    return float(abs(d @ v) * max(abs(w @ g) / abs(d @ g) for g in heads))


def _window(x, y, floor, within) -> tuple[np.ndarray, str]:
    """The points to use, (n,) bool, and why the others are not."""
    inside = (within[0] <= x) & (x <= within[1])
    order = np.argsort(x)
    if y[order[0]] < y[order[-1]]:
        order = order[::-1]  # the direction in which y falls, judged by the two end points
    low = (inside & (y <= FLOOR_FACTOR * floor))[order]
    ended = np.zeros(len(x), dtype=bool)
    ended[order] = np.logical_or.accumulate(low)
    why = []
    if count := (~inside).sum():
        why.append(f"{count} dropped outside {within[0]:g} <= x <= {within[1]:g}")
    if count := (inside & ended).sum():
        k = order[np.argmax(low)]
        where = f"from x={x[k]:g} on (y={y[k]:.2g}, floor {floor[k]:.2g})"
        why.append(f"{count} dropped within {FLOOR_FACTOR:g} times the floor, {where}")
    return inside & ~ended, "; ".join(why) or "no point dropped"
