"""What the pictures share: curves drawn by their names, or from a mapping of points."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Look = tuple[str, str, Mapping[str, Any]]  # the role, the label, what differs from the role's look


def named(axes: "Axes", looks: Mapping[str, Look], curves: Mapping[str, Sequence[Any]]) -> None:
    """Draw the curves (x, y) that there are, each in its look."""
    for name, (role, label, changes) in looks.items():
        if name in curves:
            figures.draw(axes, role, *curves[name], label, **changes)


def points(axes: "Axes", role: str, y_of: Mapping[Any, float], label: str, **changes: Any) -> None:
    """Draw y against x; zeros, which a logarithmic axis does not have, are left out."""
    shown = {x: y for x, y in y_of.items() if y > 0}
    figures.draw(axes, role, list(shown), list(shown.values()), label, **changes)


def ticks(axes: "Axes", places: Any) -> None:
    """A tick at each of these x, and at no other."""
    axes.set_xticks(places, [str(x) for x in places])
    axes.set_xticks([], minor=True)
