"""What the pictures share: curves with a look, and panels of curves."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Look = tuple[str, str, Mapping[str, Any]]  # the role, the label, what differs from the role's look
Some = Any  # y by x, whose zeros a logarithmic axis does not show; or x and y
Panel = tuple[Iterable[Curve], Mapping[str, Any]]  # settings: log, ticks, and those of matplotlib
STAR = {"marker": "*", "markersize": 9, "linestyle": ""}


def points(role: str, some: Some, label: str, **look: Any) -> Curve:
    if isinstance(some, Mapping):
        shown = {x: y for x, y in some.items() if y > 0}
        some = list(shown), list(shown.values())
    x, y = some
    return Curve(role, x, y, label, look)


def named(looks: Mapping[str, Look], found: Mapping[str, Some]) -> list[Curve]:
    """The curves that there are, each in its look."""
    there = ((look, found[name]) for name, look in looks.items() if name in found)
    return [points(role, some, label, **look) for (role, label, look), some in there]


def side_by_side(
    *panels: Panel, width: float = 4.8, height: float = 4.2, below: int = 0
) -> "Figure":
    """Panels with axes of their own, each with its legend, or in so many columns below the last."""
    figure, every = figures.panels(len(panels), width=width, height=height)
    for axes, (drawn, settings) in zip(every, panels, strict=True):
        for one in drawn:
            figures.draw(axes, one.role, one.x, one.y, one.label, **one.look)
        others = {"log": "y", "ticks": (), **settings}
        log, ticks = others.pop("log"), others.pop("ticks")
        figures.decades(axes, log, **others)
        if ticks:
            axes.set_xticks(ticks, [str(x) for x in ticks])
            axes.set_xticks([], minor=True)
        if not below:
            axes.legend(loc="best")
    if below:
        figures.legend_below(figure, every[-1], below)
    return figure
