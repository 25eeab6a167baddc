"""What the pictures share: a panel of curves, and curves by their names or from a mapping."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Look = tuple[str, str, Mapping[str, Any]]  # the role, the label, what differs from the role's look
Points = Mapping[Any, float]


def panel(
    axes: "Axes",
    *drawn: Curve,
    log: str = "y",
    legend: Any = "best",
    ticks: Sequence[Any] = (),
    **settings: Any,
) -> None:
    """Draw these curves; `ticks` are the only x with a tick, and no `legend` is ""."""
    for one in drawn:
        figures.draw(axes, one.role, one.x, one.y, one.label, **one.look)
    figures.decades(axes, log, **settings)
    if ticks:
        axes.set_xticks(ticks, [str(x) for x in ticks])
        axes.set_xticks([], minor=True)
    if legend:
        axes.legend(loc=legend)


def named(looks: Mapping[str, Look], found: Mapping[str, Sequence[Any]]) -> list[Curve]:
    """The curves (x, y) that there are, each in its look."""
    looks = {name: look for name, look in looks.items() if name in found}
    drawn = []
    for name, (role, label, look) in looks.items():
        x, y = found[name]
        drawn.append(Curve(role, x, y, label, look))
    return drawn


def points(role: str, y_of: Points, label: str, **look: Any) -> Curve:
    """y against x; zeros, which a logarithmic axis does not have, are omitted."""
    shown = {x: y for x, y in y_of.items() if y > 0}
    return Curve(role, list(shown), list(shown.values()), label, look)
