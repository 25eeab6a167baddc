"""Figure 1: errors against the size of the head, beside what a coupling of that rank can do."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = Mapping[int, float]
Seeds = Mapping[int, Sequence[float]]
TICKS = (1, 2, 3, 6, 8, 16)


def beside_references(
    panels: Mapping[str, tuple[Seeds, Mapping[str, Points]]], error: str, nothing: float
) -> "Figure":
    """One panel for each rank: trained from both starts, the construction, the best coupling.

    Errors below `nothing`, which is round-off here, are drawn there, as 0.
    """
    figure, all_axes = figures.panels(len(panels), width=4.0, height=4.4)
    looks = {
        "construction": ("construction", "construction", {}),
        "best": ("floor", "best coupling of rank $m_h$ found, $F = f = $ id", {"linewidth": 2.4}),
        "from construction": (
            "trained",
            "construction, trained on",
            {"marker": "v", "linestyle": "--", "color": "#CC79A7"},
        ),
    }
    for axes, (title, (random, curves)) in zip(all_axes, panels.items(), strict=True):
        for name, (role, label, changes) in looks.items():
            heights = [max(value, nothing) for value in curves[name].values()]
            figures.draw(axes, role, list(curves[name]), heights, label, **changes)
        _seeds(axes, random)
        axes.set(yscale="log", title=title, ylim=(nothing / 2, None))
        _heads(axes)
    _share_height(all_axes, nothing)
    all_axes[0].set_ylabel(error)
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _share_height(all_axes: "Sequence[Axes]", nothing: float) -> None:
    """The same decades everywhere, and 0 for the lowest."""
    top = max(axes.get_ylim()[1] for axes in all_axes)
    lowest, highest = round(math.log10(nothing)), math.floor(math.log10(top))
    decades = range(lowest + 1, highest + 1)
    labels = ["0", *[f"$10^{{{k}}}$" for k in decades]]
    for axes in all_axes:
        axes.set_ylim(top=top)
        axes.axhspan(nothing / 2, nothing * 2, color="#f2f2f2", zorder=0)
        axes.set_yticks([nothing, *[10.0**k for k in decades]], labels)
        axes.set_yticks([], minor=True)


def _seeds(axes: "Axes", random: Seeds, label: str = "trained from random", **changes: str) -> None:
    """The first seed as a curve, the others as marks around it."""
    figures.draw(axes, "trained", list(random), [e[0] for e in random.values()], label, **changes)
    quiet = {**changes, "linestyle": "", "markerfacecolor": "none"}
    for m, errors in random.items():
        figures.draw(axes, "trained", [m] * len(errors[1:]), errors[1:], "", **quiet)


def _heads(axes: "Axes") -> None:
    axes.set(xscale="log", xlabel="size of the head $m_h$", xlim=(0.85, 19))
    axes.set_xticks(TICKS, [str(m) for m in TICKS])
    axes.set_xticks([], minor=True)


def as_printed(panels: Mapping[str, tuple[float, Mapping[str, Seeds]]]) -> "Figure":
    """The paper's own view: a panel for each alpha, a curve for each rank, and m^-(2 alpha - 1)."""
    figure, all_axes = figures.panels(len(panels), width=4.8, height=4.0)
    looks = ({"color": "#0072B2", "marker": "o"}, {"color": "#009E73", "marker": "s"}, {})
    for axes, (title, (exponent, curves)) in zip(all_axes, panels.items(), strict=True):
        for (label, random), look in zip(curves.items(), looks, strict=True):
            _seeds(axes, random, label, **look)
        start = max(errors[0] for random in curves.values() for errors in random.values())
        label = f"$m_h^{{-(2\\alpha - 1)}} = m_h^{{-{exponent:g}}}$"
        figures.draw(axes, "floor", TICKS, [start * m**-exponent for m in TICKS], label)
        axes.set(yscale="log", title=title)
        _heads(axes)
        axes.legend(loc="upper right")
    all_axes[0].set_ylabel("mean square error, trained from random")
    return figure


def activations(curves: Mapping[str, tuple[str, Sequence[float], Sequence[float]]]) -> "Figure":
    """Training losses of one target, by first layer and optimiser."""
    figure, (axes,) = figures.panels(1, width=7.2, height=3.8)
    for label, (role, steps, losses) in curves.items():
        look = {"marker": "", "linestyle": ":" if "Adam alone" in label else "-"}
        figures.draw(axes, role, steps, losses, label, **look)
    axes.set(yscale="log", xlabel="step", ylabel="mean square error of the batch")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
