"""How far a piecewise analytic function is from a polynomial, everywhere: proved from above."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import flint
import numpy as np

from repro.numerics.exact import vector

if TYPE_CHECKING:
    from repro.numerics.minimax import Target

ROUNDOFF = 2.0**-53
CELLS, ORDER = 16, 10  # cells per degree and J: the bound is then about 1 % above the truth
BITS = 256


def lower_end(ball: flint.arb) -> float:
    """The largest float that no number of the ball is below; `float` alone rounds to nearest."""
    near, end = float(ball.lower()), ball.lower()
    return near if flint.arb(near) <= end else math.nextafter(near, -math.inf)


def upper_end(ball: flint.arb) -> float:
    """The least float that no number of the ball exceeds."""
    near, end = float(ball.upper()), ball.upper()
    return near if flint.arb(near) >= end else math.nextafter(near, math.inf)


def upper_bound(f: "Target", coefficients: np.ndarray) -> flint.arb:
    """A ball whose upper end no |f(x) - sum_k c_k T_k| exceeds, by Taylor's theorem on cells.

    With x = m + r cos t, the error e(t) = f(x) - sum_k c_k cos(k t) is cut into cells of half-width
    D around t_0, and on each
        |e(t)| <= sum_{j < J} |e^(j)(t_0)| D^j / j!  +  (max |f^(J)| + sum_k |c_k| k^J) D^J / J!.
    The derivatives of f come from power series whose coefficients are balls.
    """
    angles = np.arccos((np.array(f.breaks) - f.centre) / f.radius)  # from pi down to 0
    cap, flint.ctx.cap = flint.ctx.cap, ORDER + 1
    try:
        with flint.ctx.workprec(BITS):
            ends = zip(angles[1:], angles[:-1], f.branches, strict=True)
            return max((_on_branch(f, coefficients, *piece) for piece in ends), key=upper_end)
    finally:
        flint.ctx.cap = cap


def _on_branch(
    f: "Target", coefficients: np.ndarray, begin: float, end: float, branch: Callable[[Any], Any]
) -> flint.arb:
    count = math.ceil(CELLS * (len(coefficients) + 8) * (end - begin) / math.pi)
    half = (end - begin) / count / 2 * (1 + 1e-9)  # a little more: the cells overlap
    centres = begin + (end - begin) * (np.arange(count) + 0.5) / count
    cells = zip(centres.tolist(), _cosines(coefficients, centres), strict=True)
    return max((_on_cell(f, branch, t, half, parts) for t, parts in cells), key=upper_end)


def _on_cell(
    f: "Target", branch: Callable[[Any], Any], t: float, half: float, parts: list[flint.arb]
) -> flint.arb:
    """The bound on |s - t| <= half."""
    here, near = (
        branch(vector([f.radius * flint.arb_series([flint.arb(t, r), 1]).cos() + f.centre]))[0]
        for r in (0, half)
    )
    D = flint.arb(half)
    bound = (abs(near[ORDER]) + parts[ORDER]) * D**ORDER
    for j in range(ORDER):
        bound += abs(here[j] - parts[j]) * D**j
    if not bound.is_finite():
        x = f.centre + f.radius * math.cos(t)
        raise ArithmeticError(
            f"f has no bounded derivatives near x={x:.3g}: put a break there, or, if the interval "
            "ends there, take a smaller one"
        )
    return bound


def _cosines(coefficients: np.ndarray, t: np.ndarray) -> list[list[flint.arb]]:
    """Taylor coefficients 0, ..., J-1 of sum_k c_k cos(k t) at each t, and a bound on the J-th.

    In floating point, with radii: k t + j pi/2 is off by (2 pi q + 47) u, a cosine, its factor and
    their product by 7 u, a sum of q + 1 terms by q u: 8 (q + 7) u in all, of the sum of |terms|.
    """
    k = np.arange(len(coefficients), dtype=float)
    scaled = np.array([coefficients * k**j / math.factorial(j) for j in range(ORDER + 1)])
    turned = np.cos(k[:, None, None] * t + (math.pi / 2) * np.arange(ORDER)[:, None])
    sums = np.einsum("jk,kjn->nj", scaled[:ORDER], turned)  # (n, J)
    sizes = np.abs(scaled).sum(axis=1)  # (J+1,)
    radii = 8 * (len(k) + 6) * ROUNDOFF * sizes
    last = flint.arb(sizes[ORDER] + radii[ORDER])
    return [[*map(flint.arb, row, radii[:ORDER].tolist()), last] for row in sums.tolist()]
