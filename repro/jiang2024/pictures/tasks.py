"""Figures 4-6: attention as a matrix, as a relationship between points, and F o f.

One example in (a) and (b); cells of (a) carry the weight that the task asks for, so that colour and
number should agree. (c) is over fresh tokens, with the untrained twin in grey.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from repro import figures

GREEN, RED, BLUE = "#009E73", "#D55E00", "#0072B2"
Matrix = Any  # (tau, tau)
Points = Any  # (tau, 2)


def nearest(
    attention: Matrix, weights: Matrix, u: Points, v: Points, readout: Points, twin: Points
) -> "figures.Figure":
    """Figure 4. `readout` and `twin` are pairs (coordinate of v, coordinate of F o f)."""
    figure, (matrix, plane, scatter) = figures.panels(3, width=4.2, height=3.9)
    _matrix(matrix, attention, weights, "v(s)", "u(t)")
    _lines(plane, v, u, attention)
    _numbered(plane, u, GREEN, "u, who asks")
    _numbered(plane, v, RED, "v, who may be nearest")
    plane.set(title="(b) a line is as dark as its weight", aspect="equal")
    plane.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
    _identity(scatter, readout, twin)
    return figure


def gravity(
    attention: Matrix,
    weights: Matrix,
    heaps: Sequence[Sequence[Any]],
    axis: Any,
    readout: Any,
    norm: Any,
) -> "figures.Figure":
    """Figure 5. A heap: points (n, 2), masses, weights given to them, centre, centre found.
    `readout` and `norm` are over the square of `axis`."""
    figure, (matrix, points, contour) = figures.panels(3, width=4.2, height=3.9)
    _matrix(matrix, attention, weights, "x(s)", "x(t)")
    for (x, masses, given, centre, found), colour in zip(heaps, (GREEN, RED), strict=True):
        _lines(points, x, [centre], [given])
        points.scatter(*x.T, s=220 * masses, color=colour, zorder=2)
        points.scatter(*centre, marker="*", s=150, color="white", edgecolor=colour, zorder=3)
        points.scatter(*found, marker="+", s=60, color="black", zorder=4)
    points.set(title="(b) masses, centres (star), by attention (cross)", aspect="equal")
    levels = [0.2, 0.4, 0.6, 0.8, 1.0, 1.2]
    contour.contour(axis, axis, norm, levels, colors="black", linestyles="dashed", linewidths=0.8)
    drawn = contour.contour(axis, axis, readout, levels, cmap="viridis", linewidths=1.6)
    contour.clabel(drawn, fontsize=8)
    title = "(c) F∘f; dashed: circles of these radii"
    contour.set(xlabel="x₁", ylabel="x₂", aspect="equal", title=title)
    return figure


def selection(
    attention: Matrix, weights: Matrix, readout: Points, twin: Points
) -> "figures.Figure":
    """Figure 6: rows are outputs, columns inputs."""
    figure, (matrix, graph, scatter) = figures.panels(3, width=4.2, height=3.9)
    _matrix(matrix, attention, weights, "input v(s)", "output y(t)")
    inputs, outputs = ([(place, height) for place in range(len(attention))] for height in (1, 0))
    _lines(graph, inputs, outputs, attention)
    _numbered(graph, inputs, RED, "v")
    _numbered(graph, outputs, GREEN, "y")
    graph.set(title="(b) which outputs rest on which inputs", ylim=(-0.25, 1.25))
    graph.set_axis_off()
    _identity(scatter, readout, twin)
    return figure


def attentions(panels: Mapping[str, tuple[Matrix, Matrix]]) -> "figures.Figure":
    """Attention of one target in several representations; a 1 is at the largest weights."""
    figure, all_axes = figures.panels(len(panels), width=4.3, height=3.8)
    for axes, (title, matrices) in zip(all_axes, panels.items(), strict=True):
        _matrix(axes, *matrices, "key v(s)", "query u(t)", title)
    return figure


WRITTEN = "(a) attention; written: the weight asked for"


def _matrix(
    axes: "figures.Axes", attention: Matrix, weights: Matrix, x: str, y: str, title: str = WRITTEN
) -> None:
    """Colour: the trained weight. Number: the weight that is asked for, if it is not 0."""
    axes.imshow(attention, vmin=0, vmax=1, cmap="Blues")
    for t, row in enumerate(weights):
        for s, weight in enumerate(row):
            if weight > 0:
                colour = "white" if attention[t][s] > 0.5 else "black"
                shown = "1" if weight == 1 else f"{weight:.2f}".removeprefix("0")
                axes.text(s, t, shown, color=colour, fontsize=8, ha="center", va="center")
    axes.grid(False)
    places = range(len(weights))
    axes.set(xlabel=x, ylabel=y, title=title, xticks=places, yticks=places)


def _lines(axes: "figures.Axes", keys: Points, queries: Points, attention: Matrix) -> None:
    """As dark as their weights."""
    for query, row in zip(queries, attention, strict=True):
        for key, weight in zip(keys, row, strict=True):
            axes.plot(*zip(query, key, strict=True), color=BLUE, alpha=float(weight), zorder=1)


def _numbered(axes: "figures.Axes", points: Points, colour: str, name: str) -> None:
    axes.scatter(*zip(*points, strict=True), color=colour, s=45, label=name)
    look = {"textcoords": "offset points", "color": colour, "fontsize": 8}
    for number, point in enumerate(points):
        axes.annotate(str(number), point, (5, 6), **look)


def _identity(axes: "figures.Axes", readout: Points, twin: Points) -> None:
    small: dict[str, Any] = {"s": 4, "linewidths": 0}
    axes.scatter(*zip(*twin, strict=True), color="#aaaaaa", label="untrained", **small)
    axes.scatter(*zip(*readout, strict=True), color=BLUE, label="trained", **small)
    figures.draw(axes, "bound", [-1, 1], [-1, 1], "identity", linewidth=1)
    title = "(c) F∘f, fresh tokens"
    axes.set(xlabel="coordinate of v", ylabel="the same of F∘f", aspect="equal", title=title)
    axes.legend(loc="upper left", markerscale=3)
