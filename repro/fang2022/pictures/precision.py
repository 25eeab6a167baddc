"""Lemma 3.3 and Theorem 3.5 in floating point: condition numbers and lost digits."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def conditions(
    degrees: Sequence[int], found: Mapping[str, Sequence[float]], predicted: Sequence[float]
) -> "Figure":
    """Condition number against the degree, for each family of directions in the plane."""
    figure, (axes,) = figures.panels(1, width=7, height=3.8)
    figures.draw(axes, "control", degrees, found["random"], "random")
    figures.draw(axes, "trained", degrees, found["lattice"], "simplex lattice")
    figures.draw(axes, "construction", degrees, found["ours"], "ours, rational")
    figures.draw(axes, "best in class", degrees, found["equispaced"], "equispaced angles")
    figures.draw(axes, "bound", degrees, predicted, "predicted √C(q, q/2)")
    axes.set(yscale="log", xlabel="degree q (d = 2, q + 1 directions)", ylabel="condition number")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def digits(
    Bs: Sequence[float],
    found: Mapping[str, Mapping[str, Sequence[float]]],
    bounds: Mapping[str, Mapping[str, Sequence[float]]],
) -> "Figure":
    """Error of the stored power against B, by type: the printed lifts and the roomy ones."""
    figure, panels = figures.panels(2, width=4.8, height=4)
    titles = {"printed": "printed, M = B^(i−1)", "roomy": "repaired, M² = 9/8 B^i"}
    for axes, (lifts, title) in zip(panels, titles.items(), strict=True):
        role = "control" if lifts == "printed" else "construction"
        for dtype, marker in zip(found, "os^", strict=True):
            bound = "derived bound" if dtype == next(iter(found)) else ""
            figures.draw(axes, "bound", Bs, bounds[dtype][lifts], bound)
            figures.draw(axes, role, Bs, found[dtype][lifts], dtype, marker=marker)
        axes.axvline(1, color="#bbbbbb", linewidth=0.8)
        axes.set(xscale="log", yscale="log", ylim=(1e-17, 1e3), title=title)
        axes.set(xlabel="B, the radius of the ball", ylabel="error of the stored t⁵, over B⁵")
    panels[1].legend(loc="center right", bbox_to_anchor=(1, 0.33))
    return figure


def zero_error(
    degrees: Sequence[int],
    exact: Sequence[float],
    floating: Mapping[str, Sequence[float]],
    bounds: Mapping[str, Sequence[float]],
    fewer: Sequence[float],
) -> "Figure":
    """Error of Theorem 3.5's model against the degree: in rationals, by type, a block fewer."""
    figure, (axes,) = figures.panels(1, width=7, height=3.8)
    figures.draw(axes, "control", degrees, fewer, "control: one block fewer, its best β")
    for dtype, marker in zip(reversed(list(floating)), "^s", strict=True):
        bound = "" if dtype == next(iter(floating)) else "derived bounds"
        figures.draw(axes, "bound", degrees, bounds[dtype], bound)
        figures.draw(axes, "construction", degrees, floating[dtype], dtype, marker=marker)
    figures.draw(axes, "construction", degrees, exact, "in rationals: exactly 0")
    axes.set_yscale("symlog", linthresh=1e-17, linscale=0.6)  # the only log axis that has a 0
    axes.set(ylim=(-4e-18, 10), yticks=[0, 1e-16, 1e-12, 1e-8, 1e-4, 1], xticks=degrees)
    axes.set(xlabel="degree q, and number of blocks", ylabel="largest $|C(x) - x^q|$, over $B^q$")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
