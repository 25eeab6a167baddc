"""Representations (8): what they cost, what they separate; superpositions; pieces; a spectrum."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

Values = Sequence[float]


def degeneracy(eps: Values, sigma: Values, least: Values, most: Values) -> "Figure":
    """sigma_1 and the Lipschitz constant of F against eps."""
    figure, (left, right) = figures.panels(2, height=3.8)
    figures.draw(left, "construction", eps, sigma, "")
    left.set(ylabel="$\\sigma_1$ of the coupling, an upper bound of $C_1^{(\\alpha)}(H)$")
    figures.draw(right, "bound", eps, most, "of the $F$ built here, at most")
    figures.draw(right, "floor", eps, least, "of every $F$ for this $f$ and $\\rho$, at least")
    right.fill_between(eps, least, most, color="#0072B2", alpha=0.12, linewidth=0)
    right.set(ylabel="Lipschitz constant $K_F$")
    right.legend(loc="upper right")
    x = "$\\varepsilon$ in $\\rho = \\varepsilon\\, t s$"
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel=x)
    return figure


def separations(grid: Sequence[int], curves: Mapping[str, Values], title: str) -> "Figure":
    """Scaled separation against the grid: n = 1, sines and affine f of width tau d, 2 tau d + 1."""
    figure, (axes,) = figures.panels(1, width=7.0, height=3.8)
    looks = [
        ("control", {}),
        ("control", {"marker": "v", "linestyle": "--"}),
        ("construction", {"marker": "^", "linestyle": "--"}),
        ("construction", {}),
    ]
    for (label, values), (role, changes) in zip(curves.items(), looks, strict=True):
        figures.draw(axes, role, grid, values, label, **changes)
    axes.set(xscale="log", yscale="log", xlabel="points $k$ of the grid in each variable")
    axes.set(ylabel="least distance of two $u_t$, times $k-1$", title=title)
    axes.set_xticks(grid, [str(k) for k in grid])
    axes.minorticks_off()
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def kolmogorov(
    inner: "tuple[np.ndarray, np.ndarray]",
    outer: "tuple[np.ndarray, np.ndarray]",
    errors: "Mapping[str, tuple[Values, Values]]",
    control: Values,
) -> "Figure":
    """The inner function, one outer function, and what is left after each step."""
    figure, (left, middle, right) = figures.panels(3, width=4.2, height=4.2)
    smooth = {"marker": "", "linewidth": 1.2}
    figures.draw(left, "construction", *inner, "", **smooth)
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
    right.set(yscale="log", xlabel="steps", ylabel="what is left of $f$", title="errors")
    right.set_xticks(steps)
    figures.legend_below(figure, right, 4)
    return figure


def staircases(before: Values, after: Values, constants: tuple[int, int]) -> "Figure":
    """One value for each room, in two orders."""
    figure, panels = figures.panels(2, height=3.4)
    shown = (
        (before, "in order", "construction"),
        (after, "first and last ten exchanged", "control"),
    )
    for axes, (values, title, role), constant in zip(panels, shown, constants, strict=True):
        left = [2 * t for t in range(1, len(values) + 1)]
        color = figures.ROLES[role]["color"]
        axes.hlines(values, left, [x + 1 for x in left], color=color, linewidth=2.5)
        axes.set(xlabel="$x$, in rooms $[2t, 2t+1]$")
        axes.set_title(f"{title}: Lipschitz constant {constant}")
    panels[0].set(ylabel="value of $\\phi$ on room $t$")
    return figure


def spectra(
    ours: Mapping[str, Values], printed: Values, artefact: tuple[Sequence[int], Values]
) -> "Figure":
    """Singular values before and after the mixing; the first one on grids with both ends."""
    figure, (left, right) = figures.panels(2, height=3.8)
    looks = {"original": {"marker": "s", "color": "#009E73"}, "mixed": {}}
    for name, values in ours.items():
        places = range(1, len(values) + 1)
        figures.draw(left, "construction", places, values, name, linestyle="", **looks[name])
    places = range(1, len(printed) + 1)
    figures.draw(left, "control", places, printed, "printed, mixed", linestyle="", markersize=8)
    left.set(xlabel="$i$", ylabel="$\\sigma_i$", ylim=(0, 1.4))
    left.set_xticks([1, 2, 3])
    left.legend(loc="upper right")
    points, values = artefact
    label = "matrix on $N$ points with both ends"
    figures.draw(right, "construction", points, values, label, marker="")
    first, stated = [ours["mixed"][0]] * len(points), [printed[0]] * len(points)
    figures.draw(right, "bound", points, first, "$(\\sqrt{11} + \\sqrt{3})/4$")
    figures.draw(right, "control", points, stated, "printed", marker="", linestyle=":")
    right.set(xscale="log", xlabel="$N$", ylabel="$\\sigma_1$")
    right.set_xticks(points, [str(N) for N in points])
    right.minorticks_off()
    right.legend(loc="upper right")
    return figure
