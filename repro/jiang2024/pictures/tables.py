"""Tables 1 to 3 as dots: a row for each cell, a dot for each seed, beside the printed number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from repro import figures


@dataclass(frozen=True)
class Cell:
    label: str
    values: Sequence[float]
    printed: float | None = None
    floor: float | Sequence[float] | None = None  # one for all dots, or one for each
    role: str = "trained"
    dots: str = "trained, one seed each"
    interval: tuple[float, float] | None = None

    def draw(self, axes: "figures.Axes", height: float) -> None:
        seeds, marker = len(self.values), figures.ROLES[self.role]["marker"] or "D"
        at = height + (np.arange(seeds) - (seeds - 1) / 2) / (2 * seeds)  # a line for each
        figures.draw(axes, self.role, self.values, at, self.dots, linestyle="", marker=marker)
        if self.interval is not None:
            figures.draw(axes, self.role, self.interval, [height] * 2, "", marker="|")
        if self.floor is not None:
            look = {"linestyle": "", "marker": ">", "markersize": 4}
            floors = np.broadcast_to(self.floor, seeds)
            figures.draw(axes, "floor", floors, at, "exact floor of each", **look)
        if self.printed is not None:
            look = {"linestyle": "", "marker": "|", "markersize": 20}
            figures.draw(axes, "bound", [self.printed], [height], "printed", **look)


def cells(panels: Mapping[str, Sequence[Cell]], x: str, scale: str = "log") -> "figures.Figure":
    """One panel for each model, cells from top to bottom."""
    rows = max(len(content) for content in panels.values())
    figure, all_axes = figures.panels(len(panels), width=5.2, height=1.6 + 0.42 * rows)
    handles = {}
    for axes, (title, content) in zip(all_axes, panels.items(), strict=True):
        for height, cell in enumerate(content):
            cell.draw(axes, height)
        axes.set(xscale=scale, xlabel=x, title=title, ylim=(len(content) - 0.5, -0.5))
        axes.set_yticks(range(len(content)), [cell.label for cell in content])
        if scale == "linear":
            axes.set_xlim(left=0)
        own, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, own, strict=True))
    if handles:
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=len(handles))
    return figure
