"""Proposition 5.2 and Definition B.5: following a pointer, parameters."""

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from repro import figures
from repro.figures import Curve, decades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = Mapping[int, float]


def _curve(axes: "Axes", role: str, points: Points, label: str, **changes: Any) -> None:
    figures.draw(axes, role, list(points), list(points.values()), label, **changes)


def followed(
    layers: Points,
    best: Points,
    any_g: Points,
    squares: Mapping[str, Sequence[float]],
) -> "Figure":
    """Error against heads, with dot product and without; mean squares of all runs of training."""
    figure, (left, right) = figures.panels(2, width=5, height=4)
    left.axhline(1.0, **figures.ROLES["bound"], label="no layer without dot product is below")
    _curve(left, "construction", any_g, "log, g = 1, 2, 3", marker="D")
    _curve(left, "construction", layers, "lin, g = 0, 1, 2")
    look = {"linestyle": "", "markerfacecolor": "none", "markersize": 10}
    _curve(left, "best in class", best, "the same, best coefficients", **look)
    decades(left, "xy", ylim=(1e-14, 10), xlabel="number of heads H")
    left.set_ylabel("largest error over all windows")
    heads = [3, 4, 6, 8, 12, 18, 24, 30]
    left.set_xticks(heads, [str(H) for H in heads])
    left.legend(loc="lower left")
    roles = ["trained", "floor", "trained", "construction"]
    colors = [figures.ROLES[role]["color"] for role in roles]
    middle = [statistics.median(runs) for runs in squares.values()]
    right.barh(list(squares), middle, color=colors)
    for place, (half, runs) in enumerate(zip(middle, squares.values(), strict=True)):
        if len(runs) > 1:
            right.plot(runs, [place] * len(runs), "o", markersize=3.5, color="black", alpha=0.6)
        beside = {"textcoords": "offset points", "va": "center", "fontsize": 9}
        right.annotate(f"{half:.3f}", (max(runs), place), (6, 0), **beside)
    right.set(xlabel="mean square error, H = 4, g = 1, 2, 3", title="dot product: with or without")
    right.margins(x=0.15)
    right.invert_yaxis()
    right.grid(visible=False, axis="y")
    return figure


def maps(tokens: Sequence[int], weights: Mapping[str, np.ndarray]) -> "Figure":
    """How much x_{t-s} counts, for each present token: (tokens, distances) for each layer."""
    figure, panels = figures.panels(len(weights), width=4.4, height=2.6)
    for axes, (title, table) in zip(panels, weights.items(), strict=True):
        axes.imshow(table, cmap="Blues", vmin=0, vmax=1.3, aspect="auto")
        for (row, s), weight in np.ndenumerate(table):
            value = abs(round(float(weight), 2))
            ink = "white" if value > 0.8 else "black"
            axes.text(s, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink)
        axes.set(title=title, xlabel="distance s")
        axes.set_xticks(range(table.shape[1]))
        axes.set_yticks(range(len(tokens)), [f"$x_t$ = {x}" for x in tokens])
        axes.grid(visible=False)
    return figure


def same_errors(curves: Mapping[str, Mapping[str, Points]]) -> "Figure":
    """One panel for each target: errors of DP and TMX against heads, for both RPEs."""
    looks = {
        "lin, dot product": ("construction", {"marker": "o"}),
        "lin, TMX": ("control", {"marker": "x", "linestyle": "", "markersize": 8}),
        "log, dot product": ("best in class", {"marker": "s"}),
        "log, TMX": ("control", {"marker": "+", "linestyle": "", "markersize": 10}),
    }
    drawn = {
        title: [
            Curve(role, list(lines[label]), list(lines[label].values()), label, look)
            for label, (role, look) in looks.items()
        ]
        for title, lines in curves.items()
    }
    x, y = "heads for each memory", "largest error over all windows"
    return figures.curves(drawn, x=x, y=y, ticks=True)


def parameters(counts: Mapping[str, Points]) -> "Figure":
    """Parameters of one head besides W_V, against D."""
    roles, y = ["control", "best in class", "construction"], "parameters of a head, besides $W_V$"
    named = zip(roles, counts.items(), strict=True)
    drawn = [Curve(role, list(of), list(of.values()), label) for role, (label, of) in named]
    return figures.curves({"": drawn}, x="D", y=y, log="xy", ticks=True, legend="upper left")
