"""Table 2 and section D.1: floors under RNNs, and their rate."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = Sequence[tuple[float, float]]


def orderings(M: np.ndarray, floors: Mapping[str, Points], printed: float) -> "Figure":
    """The matrix of the reordered target, and the least error of an RNN for many orders."""
    figure, (left, right) = figures.panels(2, width=5.0, height=4.0)
    shown = left.imshow(M, cmap="Blues", vmin=0, vmax=1)
    left.plot([-0.5, len(M) - 0.5], [-0.5, len(M) - 0.5], color="#D55E00", linewidth=1)
    left.set(xlabel="input time j", ylabel="output time t")
    left.set_title("target, first and last 10 exchanged")
    left.annotate("future", (0.68, 0.72), xycoords="axes fraction", color="#D55E00")
    left.grid(visible=False)
    figure.colorbar(shown, ax=left, shrink=0.8)
    looks = {
        "exchange": ("best in class", "first k and last k exchanged", {}),
        "to the end": ("construction", "first k put last", {}),
        "to the front": ("control", "last k put first", {}),
    }
    for name, (role, label, changes) in looks.items():
        k, errors = zip(*floors[name], strict=True)
        figures.draw(right, role, k, errors, label, **changes)
    right.axhline(printed, **{**figures.ROLES["bound"], "label": f"Table 2, RNN: {printed:g}"})
    right.set(xlabel="k", ylabel="least mean square error", ylim=(0, 0.16))
    right.set_title("no convolution errs less (free offsets)")
    right.legend(loc="upper left")
    return figure


RATES = {
    "printed": ("bound", "printed rate $C_{RNN}/m$", {}),
    "repaired": ("bound", "$(1 + C_1) C_2 e^{-m/C_1}$, proved", {"linestyle": "-."}),
    "register": ("construction", "register of m units", {}),
    "found": ("construction", "Ho and Kalman's m units", {"marker": "D", "linestyle": ":"}),
    "floor": ("best in class", "Hankel floor, certified", {}),
}


def rates(panels: Mapping[str, Mapping[str, Mapping[int, float]]]) -> "Figure":
    """l1 error of a kernel against the number of units, one panel for each kernel."""
    figure, all_axes = figures.panels(len(panels), width=3.5, height=4.2)
    for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
        for name, (role, label, changes) in RATES.items():
            shown = {m: error for m, error in curves[name].items() if error > 0}
            figures.draw(axes, role, shown.keys(), shown.values(), label, markersize=4, **changes)
        axes.set(xscale="log", yscale="log", xlabel="units m", title=title)
        ticks = [2**k for k in range(8) if 2**k <= max(curves["printed"])]
        axes.set_xticks(ticks, [str(m) for m in ticks])
        axes.set_xticks([], minor=True)
    all_axes[0].set_ylabel("l1 error of the kernel")
    figures.legend_below(figure, all_axes[0], 5)
    return figure
