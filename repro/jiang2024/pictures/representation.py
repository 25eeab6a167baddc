"""What the shape (8) costs, what it separates, and what it does not fix; superpositions; pieces."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.jiang2024.pictures import rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Sequence[float]
Curve = tuple[Any, Any]


def degeneracy(eps: Values, sigma: Values, least: Values, most: Values) -> "Figure":
    """sigma_1 and the Lipschitz constant of F against eps."""
    panels = {
        "Lipschitz constant $K_F$": [
            figures.Curve("bound", eps, most, "of the $F$ built here, at most"),
            figures.Curve("floor", eps, least, "of every $F$ for this $f$ and $\\rho$, at least"),
        ],
        "$\\sigma_1$ of the coupling, at least $C_1^{(\\alpha)}(H)$": [
            figures.Curve("construction", eps, sigma, "")
        ],
    }
    x = "$\\varepsilon$ in $\\rho = \\varepsilon\\, t s$"
    return figures.curves(panels, x=x, y="", log="xy")


def separations(grid: Sequence[int], curves: Mapping[str, Values], title: str) -> "Figure":
    """Scaled separation against the grid: n = 1, sines and affine f of width tau d, 2 tau d + 1."""
    looks = [
        ("control", {}),
        ("control", {"marker": "v", "linestyle": "--"}),
        ("construction", {"marker": "^", "linestyle": "--"}),
        ("construction", {}),
    ]
    named = zip(curves, looks, strict=True)
    table = {label: (role, label, look) for label, (role, look) in named}
    x, y = "points $k$ of the grid in each variable", "least distance of two $u_t$, times $k-1$"
    return rate.named(table, {title: curves}, grid, x=x, y=y, columns=2, size=(7.0, 4.4))


def kolmogorov(
    inner: Curve, outer: Curve, errors: Mapping[str, tuple[Values, Values]], control: Values
) -> "Figure":
    """The inner function, one outer function, and what is left after each step."""
    figure, (left, middle, right) = figures.panels(3, width=4.2, height=4.2)
    figures.draw(left, "construction", *inner, "", marker="", linewidth=1.2)
    left.set(xlabel="$y$", ylabel="$\\psi(y)$, for all $f$", title="inner function")
    figures.draw(middle, "construction", *outer, "", marker="", linewidth=0.4)
    middle.set(xlabel="$\\psi(y_1) + \\lambda \\psi(y_2)$", ylabel="$g_0$")
    middle.set(title=f"an outer function, for {next(iter(errors))}")
    steps = range(len(control))
    for (name, (largest, mean)), marker in zip(errors.items(), "os^", strict=True):
        figures.draw(right, "construction", steps, largest, f"{name}, largest", marker=marker)
        look = {"marker": marker, "linestyle": "--", "markerfacecolor": "white"}
        figures.draw(right, "construction", steps, mean, f"{name}, root mean square", **look)
    figures.draw(right, "control", steps, control, "no shifts, largest")
    figures.decades(right, xlabel="steps", ylabel="what is left of $f$", xticks=steps)
    figures.legend_below(figure, right, 4)
    return figure


def staircases(panels: Mapping[str, Values]) -> "Figure":
    """One value for each room, in two orders."""
    look = {"linestyle": "", "marker": "_"}
    drawn = {
        title: [figures.Curve(role, [2 * t + 2.5 for t in range(len(values))], values, "", look)]
        for (title, values), role in zip(panels.items(), ("construction", "control"), strict=True)
    }
    x, y = "$x$, in rooms $[2t, 2t+1]$", "value of $\\phi$ on room $t$"
    return figures.curves(drawn, x=x, y=y, log="")


def grids(points: Sequence[int], values: Values, first: float, printed: float) -> "Figure":
    """The first singular value after the mixing, on grids with both ends."""
    ends = [points[0], points[-1]]
    drawn = [
        figures.Curve("construction", points, values, "matrix on $N$ points with both ends"),
        figures.Curve("bound", ends, [first] * 2, "$(\\sqrt{11} + \\sqrt{3})/4$"),
        figures.Curve("control", ends, [printed] * 2, "printed", {"marker": ""}),
    ]
    return figures.curves({"": drawn}, x="$N$", y="$\\sigma_1$", log="x", ticks=True, columns=1)


def equivariance(
    shuffled: Sequence[tuple[int, float, float]], encoded: Sequence[tuple[int, float]]
) -> "Figure":
    """(tau, difference, bound) without encoding, (tau, difference) with."""
    taus, off, bounds = zip(*shuffled, strict=True)
    lengths, moved = zip(*encoded, strict=True)
    drawn = [
        figures.Curve("control", lengths, moved, "positions encoded"),
        figures.Curve("bound", taus, bounds, "derived round-off"),
        figures.Curve("construction", taus, off, "no encoding"),
    ]
    x, y, size = "number of tokens τ", "|H(x∘p) − H(x)∘p|, largest", (7.4, 4.2)
    return figures.curves({"": drawn}, x=x, y=y, log="xy", ticks=True, size=size, columns=3)


def softmax_moves(tried: Curve, extremal: Curve) -> "Figure":
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


def temperatures(errors: Mapping[float, Curve], bounds: Mapping[float, Curve]) -> "Figure":
    """Against the sharpness, for each gap of distances."""
    drawn = []
    for (gap, curve), marker in zip(errors.items(), "osD", strict=True):
        drawn.append(figures.Curve("construction", *curve, f"gap {gap:g}", {"marker": marker}))
        label = "proved bound of each" if gap == 1 else ""
        drawn.append(figures.Curve("bound", *bounds[gap], label, {"linewidth": 1}))
    x, y = "sharpness β of the softmax", "error against the nearest point"
    figure = figures.curves({"": drawn}, x=x, y=y, log="xy", size=(7.4, 4.2), columns=4)
    figure.axes[0].set_ylim(1e-12, 30)
    return figure
