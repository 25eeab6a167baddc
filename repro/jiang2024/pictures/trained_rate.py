"""Figure 1: errors against the size of the head, beside what a coupling of that rank can do."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.jiang2024.pictures import rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = Mapping[int, float]
Seeds = Mapping[int, Sequence[float]]
TICKS = (1, 2, 3, 6, 8, 16)
LOOKS = {
    "construction": ("construction", "construction", {}),
    "best": ("floor", "best coupling of rank $m_h$ found, $F = f = $ id", {"linewidth": 2.4}),
    "from construction": (
        "trained",
        "construction, trained on",
        {"marker": "v", "linestyle": "--", "color": "#CC79A7"},
    ),
    "trained from random": ("trained", "trained from random", {}),
}


def beside_references(
    panels: Mapping[str, tuple[Seeds, Mapping[str, Points]]], error: str, nothing: float
) -> "Figure":
    """One panel for each rank: trained from both starts, the construction, the best coupling.

    Errors below `nothing`, which is round-off here, are drawn there.
    """
    shown = {}
    for title, (random, references) in panels.items():
        first = {m: errors[0] for m, errors in random.items()}
        shown[title] = {
            name: {m: max(value, nothing) for m, value in curve.items()}
            for name, curve in {**references, "trained from random": first}.items()
        }
    figure = rate.named(LOOKS, shown, x=rate.HEAD, y=error, columns=2, size=(4.0, 4.4))
    for axes, (random, _) in zip(figure.axes, panels.values(), strict=True):
        _other_seeds(axes, random)
    top = max(axes.get_ylim()[1] for axes in figure.axes)
    for axes in figure.axes:
        axes.axhspan(nothing / 2, nothing * 2, color="#f2f2f2", zorder=0)
        axes.set_ylim(nothing / 2, top)
    return figure


def _other_seeds(axes: Any, random: Seeds, **look: str) -> None:
    for m, (_, *errors) in random.items():
        others = {**look, "linestyle": "", "markerfacecolor": "none"}
        figures.draw(axes, "trained", [m] * len(errors), errors, "", **others)


def as_printed(panels: Mapping[str, tuple[float, Mapping[str, Seeds]]]) -> "Figure":
    """The paper's own view: a panel for each alpha, a curve for each rank, and m^-(2 alpha - 1)."""
    colours, shown = ("#0072B2", "#009E73", "#E69F00"), {}
    for title, (exponent, curves) in panels.items():
        firsts = [[errors[0] for errors in random.values()] for random in curves.values()]
        shown[title] = [
            figures.Curve("trained", list(random), first, label, {"color": colour})
            for (label, random), first, colour in zip(curves.items(), firsts, colours, strict=True)
        ]
        line = [max(map(max, firsts)) * m**-exponent for m in TICKS]
        shown[title].append(figures.Curve("floor", TICKS, line, "$m_h^{-(2\\alpha - 1)}$"))
    y = "mean square error, trained from random"
    figure = figures.curves(shown, x=rate.HEAD, y=y, log="xy", ticks=True, columns=4)
    for axes, (_, curves) in zip(figure.axes, panels.values(), strict=True):
        for random, colour in zip(curves.values(), colours, strict=True):
            _other_seeds(axes, random, color=colour)
    return figure


def losses(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], guess: float | None = None
) -> "Figure":
    """Of several trainings (steps, values), and the error of a guess that all of them can make."""
    drawn = [
        figures.Curve("trained", *curve, name, {"marker": "", "linewidth": 1, "color": f"C{k}"})
        for k, (name, curve) in enumerate(curves.items())
    ]
    if guess is not None:
        steps, _ = next(iter(curves.values()))
        drawn.append(figures.Curve("floor", [0, steps[-1]], [guess] * 2, "best guess from u(t)"))
    return figures.curves({"": drawn}, x="step", y="mean square error of a batch", size=(7.2, 4.0))
