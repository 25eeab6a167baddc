"""Section D.1: four kernels, with both rates, the Hankel floor, and the networks found for each."""

import functools
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from repro.jiang2024 import hankel, memory
from repro.jiang2024.memory import Exponential, Kernel
from repro.numerics.logarithms import ball

BITS = 160
GAMMA, ROWS, UNITS = 100, 200, 67  # of the rough kernel, and the units of the counterexample


# (1/8) sum_{k=1}^{8} e^{-ks/8}: C_1 = 9, C_2 = 1
SMOOTH = Kernel(terms=tuple(Exponential(Fraction(1, 8), Fraction(k, 8)) for k in range(1, 9)))
ALTERNATING = Kernel(terms=(Exponential(1, Fraction(1, 5), -1),))  # C_1 = 6, C_2 = 1
BOX = Kernel([1] * 10)  # C_1 = 1, C_2 = e^9
KERNELS = {"smooth": SMOOTH, "alternating": ALTERNATING, "box": BOX}
# The values of a kernel, its C_1 and C_2, the rows of a section, and the times over which errors
# are summed: what comes later is below 1e-6 of it.
EXAMPLES = {
    "smooth": (SMOOTH.ball, (memory.C_1(SMOOTH), memory.C_2(SMOOTH)), 120, 400),
    # e^(t/beta) rho(t) -> 0 for beta >= 5, and e^(t/6) rho(t) <= rho(0) = 1
    "decaying": (lambda s: (-flint.arb(s) / 5).exp() / (1 + s), (6, 1), 120, 400),
    "box": (BOX.ball, (memory.C_1(BOX), memory.C_2(BOX)), 30, 60),
    # |rho(s)| = e^(-s/gamma)
    "rough": (lambda s: hankel.sign(s) * (-flint.arb(s) / GAMMA).exp(), (1 + GAMMA, 1), ROWS, 2000),
}


def tail(kernel: Kernel, m: int) -> flint.arb:
    """sum_{s >= m} |rho(s)|: the register's error; for kernels whose terms add up in modulus."""
    late = sum((abs(ball(v)) for v in kernel.first[m:]), flint.arb(0))
    terms = [(abs(ball(t.a)), ball(t.rate)) for t in kernel.terms]
    return sum((a * (-b * m).exp() / (1 - (-b).exp()) for a, b in terms), late)


@functools.cache
def curves(name: str) -> dict[str, dict[int, Any]]:
    """{m: number} for both rates and the floor, in balls, and for two networks, in float64."""
    values_at, (C_1, C_2), rows, times = EXAMPLES[name]
    units = [*range(1, 17), *([32, UNITS, 100, 150] if name == "rough" else [])]
    with flint.ctx.workprec(BITS):
        rho = [values_at(s) for s in range(times)]
        floors = hankel.floors(rho[: 2 * rows - 1], units)
    values = np.array([float(v) for v in rho])

    def found(m: int) -> float:
        kernel = hankel.ho_kalman(values[: 2 * rows], m).kernel(times)[:, 0]
        return float(np.abs(kernel - values).sum())

    return {
        "printed": {m: hankel.printed_rate(C_1, C_2, m) for m in units},
        "repaired": {m: hankel.register_rate(C_1, C_2, m) for m in units},
        "register": {m: float(np.abs(values[m:]).sum()) for m in units},
        "found": {m: found(m) for m in units},
        "floor": dict(zip(units, floors, strict=True)),
    }
