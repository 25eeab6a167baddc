"""Figure 2: violins of singular values over inputs, and every head as a dot."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDES: Any = {"trained": ("trained", "low", "left"), "untrained": ("control", "high", "right")}


def spectra(
    violins: Mapping[str, Any], heads: Mapping[str, tuple[Any, Any]], head: str
) -> "Figure":
    """Left halves are of the trained network, right halves of its twin; `head` says which it is.

    A violin: values (inputs, k), divided by tau, with a bar at their mean, the estimate of the
    paper. Heads: their effective ranks and spreads.
    """
    figure, (left, right) = figures.panels(2, width=5.6, height=4.4)
    for name, (role, half, side) in SIDES.items():
        values, colour = np.asarray(violins[name]), figures.ROLES[role]["color"]
        ks = np.arange(1, values.shape[1] + 1)
        drawn = left.violinplot(np.log10(values), ks, widths=0.9, showextrema=False, side=half)
        for body in drawn["bodies"]:  # type: ignore[union-attr]
            body.set(facecolor=colour, edgecolor=colour, alpha=0.55, linewidth=0.5)
        start = ks - 0.45 if half == "low" else ks
        left.hlines(np.log10(values.mean(0)), start, start + 0.45, color=colour, linewidth=1.4)
        look = {"linestyle": "", "markersize": 6}
        figures.draw(right, role, *heads[name], f"{name} ({side} halves)", **look)
    left.yaxis.set_major_formatter(lambda height, _: f"$10^{{{height:g}}}$")
    left.set(title=head, xlabel="index $k$ of the singular value", ylabel="$\\sigma_k / \\tau$")
    right.set(title="every head of every layer", xlabel="effective rank, mean over inputs")
    right.set(ylabel="spread of $\\sigma_k$ over inputs, median over $k$")
    right.margins(0.1)
    right.set_xlim(left=0)
    right.set_ylim(bottom=0)
    figures.legend_below(figure, right, 2)
    return figure
