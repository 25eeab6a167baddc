"""Corollary 3.7: the error against the degree, for four functions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[tuple[int, float]]]  # degree and error, by the names in LOOKS

PALE: dict[str, Any] = {
    "alpha": 0.75,
    "linewidth": 1.2,
    "markersize": 4,
    "markerfacecolor": "white",
}
OPEN = {"markersize": 7, "markerfacecolor": "none", "linewidth": 1}
UNIT, BOTH = "float64 [0, 1]", "float64 [-1, 1]"
LOOKS: dict[str, tuple[str, str, dict[str, Any]]] = {  # role, label, changes; in drawing order
    "jackson": ("bound", "Jackson's bound", {}),
    "best": ("best in class", "best polynomial, certified", OPEN),
    "rationals": ("construction", "the model, in rationals", {"markersize": 3.5}),
    UNIT: ("construction", "in float64, on [0, 1]", {**PALE, "linestyle": "--", "marker": "D"}),
    BOTH: ("construction", "in float64, on [−1, 1]", {**PALE, "linestyle": "-.", "marker": "v"}),
    "floor [0, 1]": ("floor", "round-off predicted, u Σ|c|", {}),
    "floor [-1, 1]": ("floor", "round-off predicted, u Σ|c|", {}),
    "fixed": ("control", "control: only 8 blocks", {"marker": "", "linestyle": (0, (1, 1))}),
    "jump": ("control", "control: f has a jump", {"linewidth": 1.2}),
}
HIGHEST = 30.0


def convergence(panels: Mapping[str, Curves]) -> "Figure":
    """Two by two panels, by their titles; one legend below."""
    figure, (whole,) = figures.panels(1, width=10, height=8.2)
    whole.remove()
    grid, handles = figure.subplots(2, 2), {}
    for axes, (title, curves) in zip(grid.flat, panels.items(), strict=True):
        for name, (role, label, changes) in LOOKS.items():
            if name in curves:
                degrees, errors = zip(*curves[name], strict=True)
                figures.draw(axes, role, degrees, errors, label, **changes)
        lowest = min(error for _, error in curves["best"])
        axes.set(yscale="log", ylim=(lowest / 4, HIGHEST), title=title)
        lines, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, lines, strict=True))
    for axes in grid[1]:
        axes.set(xlabel="degree $q$ = number of blocks")
    for axes in grid[:, 0]:
        axes.set(ylabel="largest error $|C^q - f|$")
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    return figure
