"""Table 1: T5's staircase. Proposition B.1: how far rounding moves a number."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.figures import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def staircases(stairs: Mapping[int, Sequence[int]], printed: Sequence[int]) -> "Figure":
    """-r(n) for the least and largest D that fit the table, and for the next that do not."""
    low, first, *_, last, high = stairs
    looks = {low: ("control", ":"), first: ("construction", "-")}
    looks |= {last: ("construction", "--"), high: ("control", "-.")}
    steps = {"marker": "", "drawstyle": "steps-post"}
    drawn = [
        Curve(role, range(96), stairs[D][:96], f"D = {D}", {"linestyle": line, **steps})
        for D, (role, line) in looks.items()
    ]
    dots = {"linestyle": "", "marker": ".", "color": "black"}
    drawn.append(Curve("floor", range(len(printed)), printed, "Table 1, 31 entries", dots))
    y, size = "−r(n), B = 8", (7.2, 3.8)
    return figures.curves({"": drawn}, x="distance n", y=y, log="", size=size, columns=5)


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
