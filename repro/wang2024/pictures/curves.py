"""What the pictures share: panels of curves, and errors against the number of heads."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Look = tuple[str, str, Mapping[str, Any]]  # the role, the label, what differs from the role's look
Points = Mapping[Any, float]
Curves = Mapping[str, Sequence[Any]]  # x and y by the name of a look

HEADS: dict[str, Look] = {
    "less": ("control", "control: one layer less", {}),
    "bound": ("bound", "proved bound, without rounding", {}),
    "best": (
        "best in class",
        "no weights do better with these exponents",
        {"linewidth": 6, "alpha": 0.4, "marker": ""},
    ),
    "apart": ("construction", "heads apart, as printed", {"marker": "v", "linestyle": ":"}),
    "shared": ("construction", "heads shared by all memories", {}),
    "network": ("construction", "network, largest error found", {}),
    "two pointers": ("construction", "two pointers, majority", {"marker": "D"}),
    "follow": ("construction", "the fetched token", {}),
    "compass": ("construction", "tokens in the plane", {"marker": "v", "linestyle": ":"}),
    "trained": ("trained", "trained, heads shared", {}),
    "trained from construction": (
        "trained",
        "trained from the disturbed construction",
        {"marker": "*", "markersize": 9, "linestyle": ""},
    ),
    "trained from random": ("trained", "trained from a random start", {"linestyle": ""}),
}


def heads(panels: Mapping[str, Mapping[str, Iterable[tuple[int, float]]]]) -> "Figure":
    """The largest error found against the number of heads, as (H, error), for each title."""
    drawn = {
        title: named(HEADS, {name: [*zip(*some, strict=True)] for name, some in found.items()})
        for title, found in panels.items()
    }
    x, y = "number of heads $H$", "largest error found"
    return figures.curves(drawn, x=x, y=y, ticks=True, size=(4.8, 4.4))


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


def named(looks: Mapping[str, Look], found: Curves) -> list[Curve]:
    """The curves that there are, each in its look."""
    drawn = []
    for name in (name for name in looks if name in found):
        (role, label, look), (x, y) = looks[name], found[name]
        drawn.append(Curve(role, x, y, label, look))
    return drawn


def points(role: str, y_of: Points, label: str, **look: Any) -> Curve:
    """y against x; zeros, which a logarithmic axis does not have, are omitted."""
    shown = {x: y for x, y in y_of.items() if y > 0}
    return Curve(role, list(shown), list(shown.values()), label, look)
