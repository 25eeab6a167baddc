"""Tables 2 and 3 as dots: a row for each cell, a dot for each seed, beside the printed number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    floor: float | None = None
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
        at, (role, label) = [height] * len(cell.errors), LOOKS[cell.what]
        figures.draw(axes, role, cell.errors, at, label, linestyle="")
        marks = (
            ("bound", cell.printed, "printed", {"marker": "|", "markersize": 14}),
            ("floor", cell.floor, "exact floor", {"marker": ">", "markersize": 5}),
        )
        for role, value, label, look in marks:
            if value is not None:
                figures.draw(axes, role, [value], [height], label, linestyle="", **look)
    axes.set_yticks(range(len(content)), [cell.label for cell in content])
    axes.set_ylim(len(content) - 0.5, -0.5)
