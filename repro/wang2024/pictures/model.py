"""Table 1: T5's staircase. Proposition B.1: how far rounding moves a number."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def staircases(
    distances: Sequence[int], stairs: Mapping[int, Sequence[int]], printed: Sequence[int]
) -> "Figure":
    """-r(n) for the D that fit the table, and for the next that do not; beside it -phi."""
    figure, (left, right) = figures.panels(2, width=5.2, height=3.8)
    low, *fitting, high = stairs
    end = next(i for i, n in enumerate(distances) if n > 95)
    steps = {"marker": "", "drawstyle": "steps-post"}
    for role, D, line in (
        ("control", low, ":"),
        ("control", high, "-."),
        ("construction", fitting[0], "-"),
        ("construction", fitting[-1], "--"),
    ):
        label = f"control: D = {D}" if role == "control" else f"D = {D}"
        figures.draw(left, role, distances[:end], stairs[D][:end], label, linestyle=line, **steps)
    left.plot(range(len(printed)), printed, "k.", markersize=4, label="Table 1, 31 entries")
    left.set(xlabel="distance n", ylabel="−r(n)", title="B = 8: ten values of D fit the table")
    left.legend(loc="lower right")
    figures.draw(
        right, "construction", distances, stairs[fitting[-1]], "T5, B = 8, D = 128", **steps
    )
    positive = [n for n in distances if n >= 1]
    figures.draw(right, "bound", distances[:21], distances[:21], "−φ_lin(n) = n")
    figures.draw(right, "floor", positive, [math.log(n) for n in positive], "−φ_log(n) = log n")
    right.set(xlabel="distance n", ylabel="minus the bias", title="linear, logarithmic, constant")
    right.axvline(128, color="#cccccc", linewidth=0.8)
    right.annotate("D", (128, 0.2), (3, 0), textcoords="offset points", color="#888888")
    right.legend(loc="center")
    return figure


def sawtooth(
    z: Sequence[float], fine: Sequence[float], bound: Sequence[float], plain: Sequence[float]
) -> "Figure":
    """How far log[exp(z)] and [z] move z, and Proposition B.1's bounds."""
    figure, (axes,) = figures.panels(1, width=7.4, height=3.8)
    figures.draw(axes, "construction", z, fine, "|log[exp z] − z|", marker="", linewidth=1.0)
    figures.draw(axes, "bound", z, bound, "1 / (2 min{exp z, [exp z]})")
    figures.draw(axes, "control", z, plain, "|[z] − z|, at most 1/2", marker="", linewidth=1.0)
    axes.axvline(1, color="#888888", linewidth=0.8)
    axes.annotate("z ≥ 1", (1, 1.0), (4, 0), textcoords="offset points", color="#555555")
    axes.set(yscale="log", ylim=(1e-3, 1.5), xlabel="z", ylabel="how far rounding moves z")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
