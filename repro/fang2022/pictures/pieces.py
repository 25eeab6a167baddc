"""Remark 3.6: how near to x^2 a ReLU network comes, against its number of linear pieces."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = Sequence[tuple[int, float]]  # pieces, error


def floor(
    least: Points, optimal: Mapping[str, Points], trained: Mapping[str, Points], attention: float
) -> "Figure":
    """The least error of k pieces, networks that have it, trained ones above; attention below."""
    figure, (whole,) = figures.panels(1, width=8.6, height=4.8)
    whole.remove()
    high, low = figure.subplots(2, 1, sharex=True, height_ratios=[5, 1])
    pieces, errors = zip(*least, strict=True)
    figures.draw(high, "floor", pieces, errors, "least error of k pieces, 1/(2k²)")
    open_: dict[str, Any] = {"linestyle": "", "markerfacecolor": "none", "markersize": 7}
    pale: dict[str, Any] = {"linestyle": "", "markersize": 6, "alpha": 0.8}
    networks = ("best in class", optimal, "sD", open_), ("trained", trained, "^v>", pale)
    for role, found, markers, look in networks:
        for (label, points), marker in zip(found.items(), markers, strict=True):
            x, y = zip(*points, strict=True)
            figures.draw(high, role, x, y, label, marker=marker, **look)
    ends = [pieces[0], pieces[-1]]
    label = "attention, float64\n(0 in rationals)"
    figures.draw(low, "construction", ends, [attention] * 2, label, marker="", linewidth=2.5)
    high.set(yscale="log", ylabel="largest error against x²")
    low.set(yscale="log", ylim=(attention / 8, attention * 8))
    ticks = [2**j for j in range(ends[1].bit_length())]
    low.set_xscale("log", base=2)
    low.set_xticks(ticks, [str(k) for k in ticks])
    low.set(xlabel="linear pieces on [−1, 1]")
    for axes in (high, low):
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
