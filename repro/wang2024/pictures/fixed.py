"""Theorems 4.1 and 6.1: width, the roles of heads and readout, and the curse of memory."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from repro import figures
from repro.figures import Curve
from repro.wang2024.pictures.curves import Look, named, panel
from repro.wang2024.pictures.curves import heads as heads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from repro.wang2024.width import Curves

MEMORY: dict[str, Look] = {
    "log": ("best in class", "log heads, best weights", {}),
    "lin": ("best in class", "lin heads = diagonal RNN, best weights", {"marker": "D"}),
    "shift": ("construction", "RNN that shifts", {}),
    "least": ("bound", "no heads of either type", {}),
}


def width(found: "Curves", attention_error: float, target: str) -> "Figure":
    """Error of the layer against the width of its readout."""
    ms, label = found.widths, "neurons drawn at random (mean)"
    (drawn, of_drawn), (spread, of_spread) = found.means("drawn"), found.means("spread")
    curves = (
        Curve("construction", ms, drawn, label),
        Curve("construction", ms, spread, "neurons spread evenly", {"marker": "s"}),
        Curve("bound", ms, of_drawn, "proved bounds"),
        Curve("bound", ms, of_spread, ""),
        Curve("floor", ms, [attention_error] * len(ms), "attention error"),
    )
    x, y = "width $m$ of the readout", f"largest error found, {target}"
    return figures.curves({"": curves}, x=x, y=y, log="xy", ticks=True, size=(5.6, 4.4))


def roles(
    Hs: Sequence[int],
    ms: Sequence[int],
    whole: np.ndarray,  # (H, m)
    fetched: np.ndarray,  # (H,): the exact f after the layer's attention
    read: np.ndarray,  # (m,): the layer's network after exact memories
) -> "Figure":
    """Errors against heads for two widths, and against width for two numbers of heads."""
    figure, (left, right) = figures.panels(2, width=4.8, height=4.3)
    around = {"linestyle": "--", "markersize": 9, "markerfacecolor": "none"}
    of_H = [Curve("best in class", Hs, fetched, "the readout replaced by $f$", around)]
    of_m = [Curve("best in class", ms, read, "the attention replaced by memories", around)]
    for end, look in (0, {"marker": "v", "linestyle": ":"}), (-1, {"marker": "o"}):
        of_H.append(Curve("construction", Hs, whole[:, end], f"the layer, $m$ = {ms[end]}", look))
        of_m.append(Curve("construction", ms, whole[end], f"the layer, $H$ = {Hs[end]}", look))
    limits = min(fetched) / 3, 3
    panel(left, *of_H, ticks=Hs, ylim=limits, xlabel="heads $H$", ylabel="largest error")
    panel(right, *of_m, log="xy", ticks=ms, ylim=limits, xlabel="width $m$")
    return figure


def memory(
    Ns: Sequence[int],
    rough: Mapping[str, Sequence[float]],
    mixed: Sequence[float],
    caps: Sequence[float],
    floors: Sequence[float],
    capped: Sequence[float],
) -> "Figure":
    """Heads and linear recurrences: a rough kernel, a smooth one, and bounded weights."""
    figure, (left, middle, right) = figures.panels(3, width=4.3, height=4.2)
    both = named(MEMORY, {name: (Ns, errors) for name, errors in rough.items()})
    title = "(−1)$^t$ $t^{-4}$: both like $N^{-3}$"
    panel(left, *both, log="xy", ticks=Ns, xlabel="heads or units N", title=title)
    left.set_ylabel("l1 error")
    one = Curve("construction", Ns, mixed, "RNN, weights > 0 of sum 1")
    panel(middle, one, ticks=Ns, xlabel="units N", title="$(1+t)^{-4}$: root-exponential")
    bounded = (
        Curve("floor", caps, floors, "proved floor, any number of units"),
        Curve("best in class", caps, capped, "40 units, best weights"),
    )
    title = "$(1+t)^{-4}$: exponents at least 1"
    panel(right, *bounded, log="xy", xlabel="bound A on the sum of |weights|", title=title)
    return figure
