"""Table 2 and section D.1: floors under RNNs, and their rate."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from repro import figures
from repro.jiang2024.pictures import rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDERS = {
    "exchange": ("best in class", "first k and last k exchanged"),
    "to the end": ("construction", "first k put last"),
    "to the front": ("control", "last k put first"),
}
RATES = {
    "printed": ("bound", "printed rate $C_{RNN}/m$", {}),
    "repaired": ("bound", "$(1 + C_1) C_2 e^{-m/C_1}$, proved", {"linestyle": "-."}),
    "register": ("construction", "register of m units", {}),
    "found": ("construction", "Ho and Kalman's m units", {"marker": "D", "linestyle": ":"}),
    "floor": ("best in class", "Hankel floor, certified", {}),
}


def orderings(
    M: np.ndarray, floors: Mapping[str, Sequence[tuple[float, float]]], printed: float
) -> "Figure":
    """The matrix of the reordered target, and the least error of an RNN for many orders."""
    figure, (left, right) = figures.panels(2, width=5.0, height=4.0)
    shown = left.imshow(M, cmap="Blues", vmin=0, vmax=1)
    left.plot([-0.5, len(M) - 0.5], [-0.5, len(M) - 0.5], color="#D55E00", linewidth=1)
    left.set(xlabel="input time j", ylabel="output time t")
    left.set_title("target, first and last 10 exchanged; above the line: future")
    left.grid(visible=False)
    figure.colorbar(shown, ax=left, shrink=0.8)
    for name, (role, label) in ORDERS.items():
        k, errors = zip(*floors[name], strict=True)
        figures.draw(right, role, k, errors, label)
    right.axhline(printed, **{**figures.ROLES["bound"], "label": f"Table 2, RNN: {printed:g}"})
    right.set(xlabel="k", ylabel="least mean square error", ylim=(0, 0.16))
    right.set_title("no convolution errs less (free offsets)")
    right.legend(loc="upper left")
    return figure


def rates(panels: Mapping[str, Mapping[str, Mapping[int, float]]]) -> "Figure":
    """l1 error of a kernel against the number of units, one panel for each kernel."""
    shown = {
        title: {
            name: {m: error for m, error in curve.items() if error > 0}
            for name, curve in curves.items()
        }
        for title, curves in panels.items()
    }
    y = "l1 error of the kernel"
    return rate.named(RATES, shown, x="units m", y=y, ticks=False, columns=5, size=(3.5, 4.2))
