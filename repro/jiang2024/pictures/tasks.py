"""Figures 4-6: attention as a matrix, as a relationship between points, and F o f.

One example in (a) and (b); cells of (a) carry the weight that the task asks for, so that colour and
number should agree. (c) is over fresh tokens, with the untrained twin in grey.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREEN, RED, BLUE, GREY = "#009E73", "#D55E00", "#0072B2", "#aaaaaa"
Matrix = Any  # (tau, tau)
Points = Any  # (tau, 2)


def nearest(
    attention: Matrix, weights: Matrix, u: Points, v: Points, readout: Points, twin: Points
) -> "Figure":
    """Figure 4. `readout` and `twin` are pairs (coordinate of v, coordinate of F o f)."""
    figure, (matrix, plane, scatter) = figures.panels(3, width=4.2, height=3.9)
    _matrix(matrix, attention, weights, xlabel="v(s)", ylabel="u(t)")
    for t, row in enumerate(attention):
        for s, weight in enumerate(row):
            plane.plot(*zip(u[t], v[s], strict=True), color=BLUE, alpha=float(weight), zorder=1)
    _numbered(plane, u, GREEN, "o", "u, who asks")
    _numbered(plane, v, RED, "s", "v, who may be nearest")
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
) -> "Figure":
    """Figure 5. A heap: points (n, 2), masses, weights given to them, centre, centre found.
    `readout` and `norm` are over the square of `axis`."""
    figure, (matrix, points, contour) = figures.panels(3, width=4.2, height=3.9)
    _matrix(matrix, attention, weights, xlabel="x(s)", ylabel="x(t)")
    for number, (x, masses, given, centre, found) in enumerate(heaps):
        for point, weight in zip(x, given, strict=True):
            ends = zip(centre, point, strict=True)
            points.plot(*ends, color=BLUE, alpha=min(1.0, 1.6 * float(weight)), zorder=1)
        colour, heap = (GREEN, RED)[number], ("first", "second")[number]
        points.scatter(*x.T, s=220 * masses, color=colour, label=f"{heap} heap", zorder=2)
        points.scatter(*centre, marker="*", s=150, color="white", edgecolor=colour, zorder=3)
        points.scatter(*found, marker="+", s=60, color="black", zorder=4)
    points.scatter([], [], marker="*", color="white", edgecolor="black", label="centre")
    points.scatter([], [], marker="+", color="black", label="by attention")
    points.set(title="(b) masses and their centres", aspect="equal")
    points.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
    _contours(contour, axis, readout, norm)
    return figure


def selection(attention: Matrix, weights: Matrix, readout: Points, twin: Points) -> "Figure":
    """Figure 6: rows are outputs, columns inputs."""
    figure, (matrix, graph, scatter) = figures.panels(3, width=4.2, height=3.9)
    _matrix(matrix, attention, weights, xlabel="input v(s)", ylabel="output y(t)")
    for t, row in enumerate(attention):
        for s, weight in enumerate(row):
            graph.plot([s, t], [1, 0], color=BLUE, alpha=float(weight), linewidth=2, zorder=1)
    for height, colour, name in ((1, RED, "v"), (0, GREEN, "y")):
        graph.scatter(range(len(attention)), [height] * len(attention), color=colour, s=60)
        for place in range(len(attention)):
            side = 8 if height else -16
            graph.annotate(
                f"{name}({place})", (place, height), xytext=(0, side), ha="center",
                textcoords="offset points", fontsize=8,
            )  # fmt: skip
    graph.set(title="(b) which outputs rest on which inputs", ylim=(-0.25, 1.25))
    graph.set_axis_off()
    _identity(scatter, readout, twin)
    return figure


def detour(curves: Mapping[str, tuple[Any, Any]], guess: float) -> "Figure":
    """Losses (steps, values) of several trainings, and the error of the guess from u alone."""
    figure, (axes,) = figures.panels(1, width=7.4)
    for (name, curve), colour in zip(curves.items(), (BLUE, GREEN, RED), strict=False):
        figures.draw(axes, "trained", *curve, name, color=colour, marker="", linewidth=1)
    axes.axhline(guess, **{**figures.ROLES["floor"], "marker": None}, label="best guess from u(t)")
    axes.set(xlabel="step", ylabel="mean square error of a batch", yscale="log")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _matrix(axes: "Axes", attention: Matrix, weights: Matrix, *, xlabel: str, ylabel: str) -> None:
    """Colour: the trained weight. Number: the weight that is asked for, if it is not 0."""
    axes.imshow(attention, vmin=0, vmax=1, cmap="Blues")
    for t, row in enumerate(weights):
        for s, weight in enumerate(row):
            if weight > 0:
                dark = attention[t][s] > 0.5
                shown = "1" if weight == 1 else f"{weight:.2f}".removeprefix("0")
                axes.text(s, t, shown, color="white" if dark else "black", fontsize=8,
                          ha="center", va="center")  # fmt: skip
    axes.set_xticks(range(len(weights)))
    axes.set_yticks(range(len(weights)))
    axes.grid(False)
    axes.set(xlabel=xlabel, ylabel=ylabel, title="(a) attention; written: the weight asked for")


def _numbered(axes: "Axes", points: Points, colour: str, marker: str, name: str) -> None:
    axes.scatter(*zip(*points, strict=True), color=colour, marker=marker, s=45, label=name)
    for number, point in enumerate(points):
        axes.annotate(
            str(number), point, xytext=(5, 4), textcoords="offset points", color=colour, fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4}, zorder=3,
        )  # fmt: skip


def _identity(axes: "Axes", readout: Points, twin: Points) -> None:
    small: dict[str, Any] = {"s": 4, "linewidths": 0}
    axes.scatter(*zip(*twin, strict=True), color=GREY, label="untrained", **small)
    axes.scatter(*zip(*readout, strict=True), color=BLUE, label="trained", **small)
    figures.draw(axes, "bound", [-1, 1], [-1, 1], "identity", linewidth=1)
    axes.set(xlabel="coordinate of v", ylabel="the same of F∘f", aspect="equal")
    axes.set_title("(c) F∘f, fresh tokens")
    axes.legend(loc="upper left", markerscale=3)


def _contours(axes: "Axes", axis: Any, readout: Any, norm: Any) -> None:
    levels = [0.2, 0.4, 0.6, 0.8, 1.0, 1.2]
    axes.contour(axis, axis, norm, levels, colors="black", linestyles="dashed", linewidths=0.8)
    drawn = axes.contour(axis, axis, readout, levels, cmap="viridis", linewidths=1.6)
    axes.clabel(drawn, fontsize=8)
    axes.set(xlabel="x₁", ylabel="x₂", aspect="equal")
    axes.set_title("(c) F∘f; dashed: circles of these radii")
