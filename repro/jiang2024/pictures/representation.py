"""Theorems A.1 and A.3, how far a softmax average moves, and the example of Section D.3."""

from collections.abc import Mapping, Sequence
from typing import Any

from repro import figures

Values = Sequence[float]
Curve = tuple[Any, Any]


def separations(grid: Sequence[int], curves: Mapping[str, Values], title: str) -> "figures.Figure":
    """Scaled separation against the grid: n = 1, sines and affine f of width tau d, 2 tau d + 1."""
    looks = [
        ("control", {}),
        ("control", {"marker": "v", "linestyle": "--"}),
        ("construction", {"marker": "^", "linestyle": "--"}),
        ("construction", {}),
    ]
    drawn = [
        figures.Curve(role, grid, values, label, look)
        for (label, values), (role, look) in zip(curves.items(), looks, strict=True)
    ]
    x, y = "points $k$ of the grid in each variable", "least distance of two $u_t$, times $k-1$"
    return figures.curves({title: drawn}, x=x, y=y, log="xy", ticks=True, size=(7.0, 4.4))


def kolmogorov(inner: Curve, outer: Curve, target: str) -> "figures.Figure":
    """The inner function, and an outer function for this target."""
    figure, (left, right) = figures.panels(2, width=4.6, height=4.2)
    figures.draw(left, "construction", *inner, "", marker="", linewidth=1.2)
    left.set(xlabel="$y$", ylabel="$\\psi(y)$, for all $f$", title="inner function")
    figures.draw(right, "construction", *outer, "", marker="", linewidth=0.4)
    right.set(xlabel="$\\psi(y_1) + \\lambda \\psi(y_2)$", ylabel="$g_0$")
    right.set_title(f"an outer function, for {target}")
    return figure


def grids(points: Sequence[int], values: Values, first: float, printed: float) -> "figures.Figure":
    """The first singular value after the mixing, on grids with both ends."""
    drawn = [
        figures.Curve("construction", points, values, "matrix on $N$ points with both ends"),
        figures.Curve("bound", points, [first] * len(points), "$(\\sqrt{11} + \\sqrt{3})/4$"),
        figures.Curve("control", points, [printed] * len(points), "printed", {"marker": ""}),
    ]
    return figures.curves({"": drawn}, x="$N$", y="$\\sigma_1$", log="x", ticks=True, columns=1)


def softmax_moves(tried: Curve, extremal: Curve) -> "figures.Figure":
    """Oscillations and moves, over the diameter: random averages, and the two-token example."""
    dots = {"linestyle": "", "marker": ".", "markersize": 2, "color": "#888888"}
    omega = [10**-2.5, 10**1.3]
    drawn = [
        figures.Curve("control", *tried, "random logits and values", dots),
        figures.Curve("construction", *extremal, "two tokens: diam tanh(osc / 4)"),
        figures.Curve("bound", omega, [w / 4 for w in omega], "diam osc / 4"),
        figures.Curve("floor", omega, [1, 1], "diam"),
    ]
    x, y = "oscillation of the change of the logits", "move of the average / diam"
    return figures.curves({"": drawn}, x=x, y=y, log="xy", size=(7.4, 4.4))
