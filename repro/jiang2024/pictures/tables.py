"""Tables 1 to 3 as dots: a row for each cell, a dot for each seed, beside the printed number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from repro import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Cell:
    label: str
    values: Sequence[float]
    printed: float | None = None
    floor: float | Sequence[float] | None = None  # one for all dots, or one for each
    role: str = "trained"
    dots: str = "trained, one seed each"
    interval: tuple[float, float] | None = None


def cells(panels: Mapping[str, Sequence[Cell]], x: str, scale: str = "log") -> "Figure":
    """One panel for each model, cells from top to bottom."""
    rows = max(len(content) for content in panels.values())
    figure, all_axes = figures.panels(len(panels), width=5.2, height=1.6 + 0.42 * rows)
    for axes, (title, content) in zip(all_axes, panels.items(), strict=True):
        for height, cell in enumerate(content):
            _dots(axes, height, cell)
        axes.set(xscale=scale, xlabel=x, title=title, ylim=(len(content) - 0.5, -0.5))
        axes.set_yticks(range(len(content)), [cell.label for cell in content])
        if scale == "linear":
            axes.set_xlim(left=0)
    handles = {
        label: handle
        for axes in all_axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if handles:
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=len(handles))
    return figure


def _dots(axes: "Axes", height: float, cell: Cell) -> None:
    seeds = len(cell.values)
    at = height + (np.arange(seeds) - (seeds - 1) / 2) / (2 * seeds)  # a line for each
    marker = figures.ROLES[cell.role]["marker"] or "D"
    figures.draw(axes, cell.role, cell.values, at, cell.dots, linestyle="", marker=marker)
    if cell.interval is not None:
        figures.draw(axes, cell.role, cell.interval, [height] * 2, "", marker="|", linestyle="-")
    if cell.floor is not None:
        look = {"linestyle": "", "marker": ">", "markersize": 4}
        floors = np.broadcast_to(cell.floor, seeds)
        figures.draw(axes, "floor", floors, at, "exact floor of each", **look)
    if cell.printed is not None:
        look = {"linestyle": "", "marker": "|", "markersize": 20}
        figures.draw(axes, "bound", [cell.printed], [height], "printed", **look)
