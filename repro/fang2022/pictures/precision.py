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
