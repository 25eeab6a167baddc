"""A power above a constant, y = a x^-b + c, fitted to noisy points, with intervals.

For given b the model is linear in a and c: least squares leaves the residual RSS(b), and the fit is
where that is least. The interval of b holds all b that an F-test does not reject,

    RSS(b) <= RSS(b^) (1 + F / (n - 3)),    F the quantile of F(1, n - 3),

for n points with independent errors of one size. It is exact for linear models and good for others
when n is not small (tests measure how good). c ranges over the fits of the b in the interval, which
is a little too narrow. An end of the interval at 0 says that the points cannot tell the fit from
y = c - a log x, and at infinity, from a constant after the first point.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

EXPONENTS = np.geomspace(1e-3, 30, 600)  # setting: where intervals are looked for


@dataclass(frozen=True)
class Plateau:
    a: float
    b: float
    c: float
    b_low: float
    b_high: float
    c_low: float
    c_high: float
    deviation: float  # of the points from the fit, n - 3 degrees of freedom

    def __call__(self, x: ArrayLike) -> np.ndarray:
        return self.a * np.asarray(x, dtype=float) ** -self.b + self.c


def fit(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Plateau:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    residuals, _, _ = _least(EXPONENTS[:, None], x, y)
    middle = int(residuals.argmin())
    around = EXPONENTS[max(middle - 1, 0)], EXPONENTS[min(middle + 1, len(EXPONENTS) - 1)]
    best: Any = optimize.minimize_scalar(
        lambda b: _least(b, x, y)[0], bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    b, freedom = float(best.x), len(x) - 3
    least, a, c = map(float, _least(b, x, y))
    allowed = least * (1 + stats.f.ppf(confidence, 1, freedom) / freedom)
    inside = EXPONENTS[residuals <= allowed]
    low, high = (float(inside.min()), float(inside.max())) if len(inside) else (b, b)
    levels = _least(np.array([*inside, b])[:, None], x, y)[2]
    return Plateau(
        a, b, c,
        b_low=0.0 if low == EXPONENTS[0] else min(low, b),
        b_high=math.inf if high == EXPONENTS[-1] else max(high, b),
        c_low=float(levels.min()), c_high=float(levels.max()),
        deviation=math.sqrt(least / freedom),
    )  # fmt: skip


def _least(b: ArrayLike, x: np.ndarray, y: np.ndarray) -> tuple[Any, Any, Any]:
    """RSS, a, c for b, or for each b of a column."""
    power = x ** -np.asarray(b)
    deviations = power - power.mean(-1, keepdims=True)
    a = deviations @ y / (deviations**2).sum(-1)
    c = y.mean() - a * power.mean(-1)
    off = a[..., None] * power + c[..., None] - y
    return (off**2).sum(-1), a, c
