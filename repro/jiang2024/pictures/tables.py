"""Tables 2 and 3 as dots: a row for each cell, a dot for each seed, beside the printed number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from repro import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LOOKS = {  # of the dots: what they are, and how they look
    "trained": ("trained", "trained, one seed each"),
    "constant": ("construction", "the best constant, one kernel each"),
}


@dataclass(frozen=True)
class Cell:
    label: str
    errors: Sequence[float]
    printed: float | None = None
    floor: float | Sequence[float] | None = None  # one for all dots, or one for each
    what: str = "trained"


def cells(panels: Mapping[str, Sequence[Cell]]) -> "Figure":
    """One panel for each model, cells from top to bottom."""
    rows = max(len(content) for content in panels.values())
    figure, all_axes = figures.panels(len(panels), width=5.2, height=1.6 + 0.42 * rows)
    for axes, (title, content) in zip(all_axes, panels.items(), strict=True):
        _dots(axes, content)
        axes.set(xscale="log", xlabel="mean square error", title=title)
    handles = {
        label: handle
        for axes in all_axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    return figure


def _dots(axes: "Axes", content: Sequence[Cell]) -> None:
    for height, cell in enumerate(content):
        seeds, (role, label) = len(cell.errors), LOOKS[cell.what]
        at = height + (np.arange(seeds) - (seeds - 1) / 2) / (2 * seeds)  # a line for each
        figures.draw(axes, role, cell.errors, at, label, linestyle="")
        if cell.floor is not None:
            floors = np.broadcast_to(cell.floor, seeds)
            look = {"linestyle": "", "marker": ">", "markersize": 4}
            figures.draw(axes, "floor", floors, at, "exact floor of each", **look)
        if cell.printed is not None:
            look = {"linestyle": "", "marker": "|", "markersize": 20}
            figures.draw(axes, "bound", [cell.printed], [height], "printed", **look)
    axes.set_yticks(range(len(content)), [cell.label for cell in content])
    axes.set_ylim(len(content) - 0.5, -0.5)
