"""Lemma 3.1: the round-off of a product."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[float]]


def roundoff(
    Ms: Sequence[float], errors: Curves, bounds: Curves, control: Sequence[float]
) -> "Figure":
    """Error of Lemma 3.1's product against M: one curve and one bound for each type of number."""
    figure, (axes,) = figures.panels(1, width=7, height=3.8)
    figures.draw(axes, "control", Ms, control, "control: softmax for the maximum")
    for dtype, marker in zip(errors, "os^", strict=False):
        bound = "" if dtype == next(iter(errors)) else "derived bounds 4uM²"
        figures.draw(axes, "bound", Ms, bounds[dtype], bound)
        figures.draw(axes, "construction", Ms, errors[dtype], f"measured, {dtype}", marker=marker)
        axes.annotate(dtype, (Ms[-3], errors[dtype][-3]), (8, -16), textcoords="offset points")
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel="M, the known bound on |x| and |y|", ylabel="largest error of the stored −xy")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
