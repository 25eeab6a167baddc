"""Figure 2: violins of singular values over inputs, and every head as a dot."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDES = {"trained": ("trained", "left"), "untrained": ("control", "right")}
Values = Any  # (inputs, k), divided by tau
Dots = tuple[Any, Any]  # effective ranks and spreads, one of each for every head


def spectra(violins: Mapping[str, Values], heads: Mapping[str, Dots], head: str) -> "Figure":
    """Left halves are of the trained network, right halves of its twin; `head` says which it is."""
    figure, (left, right) = figures.panels(2, width=5.6, height=4.4)
    left.remove()
    right.remove()
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    for name, values in violins.items():
        _halves(left, values, *SIDES[name])
    _decades(left)
    left.set(title=head, xlabel="index $k$ of the singular value", ylabel="$\\sigma_k / \\tau$")
    for name, (ranks, spreads) in heads.items():
        role, _ = SIDES[name]
        label = f"{name} ({SIDES[name][1]} halves)"
        figures.draw(right, role, ranks, spreads, label, linestyle="", markersize=6)
    right.set(title="every head of every layer", xlabel="effective rank, mean over inputs")
    right.set_ylabel("spread of $\\sigma_k$ over inputs, median over $k$")
    right.margins(0.1)
    right.set_xlim(left=0)
    right.set_ylim(bottom=0)
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _halves(axes: "Axes", values: Values, role: str, side: str) -> None:
    """On a logarithmic scale; a bar at the mean, the estimate of the paper."""
    import numpy as np

    values = np.asarray(values)
    ks = np.arange(1, values.shape[1] + 1)
    colour = figures.ROLES[role]["color"]
    which = "low" if side == "left" else "high"
    drawn = axes.violinplot(np.log10(values), ks, widths=0.9, showextrema=False, side=which)
    for body in drawn["bodies"]:  # type: ignore[union-attr]
        body.set(facecolor=colour, edgecolor=colour, alpha=0.55, linewidth=0.5)
    start = ks - 0.45 if side == "left" else ks
    axes.hlines(np.log10(values.mean(0)), start, start + 0.45, color=colour, linewidth=1.4)
    axes.set_xlim(0, len(ks) + 1)


def _decades(axes: "Axes") -> None:
    """The heights are logarithms: name them."""
    low, high = axes.get_ylim()
    decades = range(math.ceil(low), math.floor(high) + 1)
    axes.set_yticks(decades, [f"$10^{{{k}}}$" for k in decades])
    axes.set_ylim(low, high)
