"""Table 1: T5's staircase. Proposition B.1: how far rounding moves a number."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.figures import Curve
from repro.wang2024.pictures.curves import panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def staircases(
    distances: Sequence[int], stairs: Mapping[int, Sequence[int]], printed: Sequence[int]
) -> "Figure":
    """-r(n) for the D that fit the table, and for the next that do not; beside it -phi."""
    figure, (left, right) = figures.panels(2, width=5.2, height=3.8)
    low, first, *_, last, high = stairs
    steps = {"marker": "", "drawstyle": "steps-post"}
    shown = [
        Curve(role, distances[:96], stairs[D][:96], f"{words}D = {D}", {"linestyle": line, **steps})
        for role, words, D, line in (
            ("control", "control: ", low, ":"),
            ("control", "control: ", high, "-."),
            ("construction", "", first, "-"),
            ("construction", "", last, "--"),
        )
    ]
    dots = {"linestyle": "", "marker": ".", "color": "black"}
    shown.append(Curve("floor", range(len(printed)), printed, "Table 1, 31 entries", dots))
    panel(left, *shown, log="", xlabel="distance n", ylabel="−r(n)", title="B = 8")
    logs = [math.log(n) for n in distances[1:]]
    panel(
        right,
        Curve("construction", distances, stairs[last], f"T5, B = 8, D = {last}", steps),
        Curve("bound", distances[:21], distances[:21], "−φ_lin(n) = n"),
        Curve("floor", distances[1:], logs, "−φ_log(n) = log n"),
        log="",
        xlabel="distance n",
        ylabel="minus the bias",
    )
    return figure


def sawtooth(
    z: Sequence[float], fine: Sequence[float], bound: Sequence[float], plain: Sequence[float]
) -> "Figure":
    """How far log[exp(z)] and [z] move z, and Proposition B.1's bounds."""
    line = {"marker": "", "linewidth": 1.0}
    drawn = (
        Curve("construction", z, fine, "|log[exp z] − z|", line),
        Curve("bound", z, bound, "1 / (2 min{exp z, [exp z]})"),
        Curve("control", z, plain, "|[z] − z|, at most 1/2", line),
    )
    figure = figures.curves({"": drawn}, x="z", y="how far rounding moves z", size=(7.4, 3.8))
    figure.axes[0].set_ylim(1e-3, 1.5)
    return figure
