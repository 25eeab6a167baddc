"""Proposition 5.2, Definition B.5 and C.2: following a pointer, parameters, depth."""

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import decades
from repro.wang2024.pictures import words

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = Mapping[int, float]


def _curve(axes: "Axes", role: str, points: Points, label: str, **changes: Any) -> None:
    figures.draw(axes, role, list(points), list(points.values()), label, **changes)


def followed(
    layers: Points,
    best: Points,
    any_g: Points,
    least: float,
    squares: Mapping[str, Sequence[float]],
) -> "Figure":
    """Error against heads, with dot product and without; mean squares of all runs of training."""
    figure, (left, right) = figures.panels(2, width=5, height=4)
    left.axhline(least, **figures.ROLES["bound"], label="no layer without dot product is below")
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


def followed_told(
    layers: Points, any_g: Points, squares: Mapping[str, Sequence[float]]
) -> dict[str, str]:
    middle = {kind: statistics.median(runs) for kind, runs in squares.items()}
    return {
        "caption": "One attention layer follows a pointer. Left: error over all windows against "
        "the number of heads. Right: mean square error of four heads, g = 1, 2, 3, after training "
        "from random starts (bar: median; dots: all runs), beside what is written down and what "
        "nothing can beat.",
        "alt": words.curves({"lin": layers.items(), "log": any_g.items()})
        + "; mean squares, median and range: "
        + ", ".join(
            f"{kind} {middle[kind]:.2g} ({min(runs):.2g} to {max(runs):.2g})"
            for kind, runs in squares.items()
        ),
    }


def maps(tokens: Sequence[int], weights: Mapping[str, "np.ndarray"]) -> "Figure":
    """How much x_{t-s} counts, for each present token: (tokens, distances) for each layer."""
    figure, panels = figures.panels(len(weights), width=4.4, height=2.6)
    for axes, (title, table) in zip(panels, weights.items(), strict=True):
        axes.imshow(table, cmap="Blues", vmin=0, vmax=1.3, aspect="auto")
        for (row, s), value in _entries(table):
            ink = "white" if value > 0.8 else "black"
            axes.text(s, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink)
        axes.set(title=title, xlabel="distance s")
        axes.set_xticks(range(table.shape[1]))
        axes.set_yticks(range(len(tokens)), [f"$x_t$ = {x}" for x in tokens])
        axes.grid(visible=False)
    return figure


def maps_told(tokens: Sequence[int], weights: Mapping[str, "np.ndarray"]) -> dict[str, str]:
    rows = {
        f"{kind}, x_t = {x}": ", ".join(f"{abs(weight):.2f}" for weight in row)
        for kind, table in weights.items()
        for x, row in zip(tokens, table, strict=True)
    }
    return {
        "caption": "How much the token at distance s counts, for g(x) = x + 2. The dot product "
        "moves the peak to s = g(x_t); without it every token has the same row.",
        "alt": "Weights at s = 0, 1, 2, ...: "
        + "; ".join(f"{name}: {row}" for name, row in rows.items())
        + ".",
    }


def _entries(table: "np.ndarray") -> list[tuple[tuple[int, int], float]]:
    rows, columns = table.shape
    places = [(row, s) for row in range(rows) for s in range(columns)]
    return [(place, abs(round(float(table[place]), 2))) for place in places]


def same_errors(curves: Mapping[str, Mapping[str, Points]]) -> "Figure":
    """One panel for each target: errors of DP and TMX against heads, for both RPEs."""
    figure, panels = figures.panels(len(curves), width=4.6, height=3.8)
    looks = {
        "lin, dot product": ("construction", {"marker": "o"}),
        "lin, TMX": ("control", {"marker": "x", "linestyle": "", "markersize": 8}),
        "log, dot product": ("best in class", {"marker": "s"}),
        "log, TMX": ("control", {"marker": "+", "linestyle": "", "markersize": 10}),
    }
    for axes, (title, lines) in zip(panels, curves.items(), strict=True):
        for label, points in lines.items():
            role, changes = looks[label]
            _curve(axes, role, points, label, **changes)
        decades(axes, xlabel="heads for each memory", title=title)
        axes.set_xticks(sorted({H for points in lines.values() for H in points}))
    panels[0].set_ylabel("largest error over all windows")
    panels[-1].legend(loc="lower left")
    return figure


def same_errors_told(curves: Mapping[str, Mapping[str, Points]]) -> dict[str, str]:
    points = {
        target: {label: curve.items() for label, curve in lines.items()}
        for target, lines in curves.items()
    }
    return {
        "caption": "Two layers, float64: the error with TMX is that with the dot product.",
        "alt": words.panels(points),
    }


def parameters(counts: Mapping[str, Points]) -> "Figure":
    """Parameters of one head besides W_V, against D."""
    figure, (axes,) = figures.panels(1, width=5.6, height=3.8)
    roles = ["control", "best in class", "construction"]
    for role, (label, points) in zip(roles, counts.items(), strict=True):
        _curve(axes, role, points, label)
    decades(axes, "xy", xlabel="D")
    axes.set_ylabel("parameters of a head, besides $W_V$")
    Ds = list(next(iter(counts.values())))
    axes.set_xticks(Ds, [str(D) for D in Ds])
    axes.legend(loc="upper left")
    return figure


def depth(
    far: Sequence[int],
    totals: Mapping[str, Sequence[float]],
    per_layer: Mapping[str, Sequence[float]],
    M: int,
    built: Mapping[str, tuple[int, int]],
) -> "Figure":
    """Heads of M + 1 layers over heads of two, as one memory moves away; and built networks."""
    figure, (left, right) = figures.panels(2, width=5, height=4)
    for (label, values), marker in zip(totals.items(), "oD", strict=True):
        figures.draw(left, "control", far, values, f"{label}, in total", marker=marker)
        shown = f"{label}, in each layer"
        figures.draw(left, "construction", far, per_layer[label], shown, marker=marker)
    left.axhline(1, **{**figures.ROLES["bound"], "linewidth": 1})
    left.axhline(M, **{**figures.ROLES["floor"], "linewidth": 1})
    decades(left, "xy", ylim=(0.1, 1.5 * M))
    left.set(xlabel=f"distance of one memory, {M - 1} others at {far[0]}")
    left.set_ylabel("heads of M + 1 layers over heads of two")
    ticks = [2.0**k for k in range(-3, M.bit_length())]
    left.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    left.set_xticks(far, [str(T) for T in far])
    left.minorticks_off()
    left.set_title("by the bounds")
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.1), ncols=2, fontsize=8)
    place = range(len(built))
    for offset, index, role, label in (
        (-0.2, 0, "construction", "largest layer"),
        (0.2, 1, "control", "all layers"),
    ):
        heights = [pair[index] for pair in built.values()]
        color = figures.ROLES[role]["color"]
        bars = right.bar([x + offset for x in place], heights, 0.36, color=color, label=label)
        right.bar_label(bars, fontsize=9)
    right.set_xticks(list(place), list(built), fontsize=8)
    right.grid(visible=False, axis="x")
    right.set(ylabel="heads", title="in the networks that were built (lin)")
    right.margins(y=0.15)
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.1), ncols=2, fontsize=8)
    return figure
