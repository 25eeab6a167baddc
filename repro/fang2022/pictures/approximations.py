"""Corollary 3.7: the error against the degree, for four functions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[tuple[int, float]]]  # degree and error, by the names in LOOKS


PALE = {"alpha": 0.75, "linewidth": 1.2, "markersize": 4, "markerfacecolor": "white"}
LOOKS: dict[str, tuple[str, str, dict[str, Any]]] = {  # role, label, changes; in drawing order
    "jackson": ("bound", "Jackson's bound", {}),
    "best": (
        "best in class",
        "best polynomial, certified",
        {"markersize": 7, "markerfacecolor": "none", "linewidth": 1},
    ),
    "rationals": ("construction", "the model, in rationals", {"markersize": 3.5}),
    "float64 [0, 1]": (
        "construction",
        "in float64, on [0, 1]",
        {**PALE, "linestyle": "--", "marker": "D"},
    ),
    "float64 [-1, 1]": (
        "construction",
        "in float64, on [−1, 1]",
        {**PALE, "linestyle": "-.", "marker": "v"},
    ),
    "floor [0, 1]": ("floor", "round-off predicted, u Σ|c|", {}),
    "floor [-1, 1]": ("floor", "round-off predicted, u Σ|c|", {}),
    "fixed": ("control", "control: only 8 blocks", {"marker": "", "linestyle": (0, (1, 1))}),
    "jump": ("control", "control: f has a jump", {"linewidth": 1.2}),
}
BESIDE = {"float64 [0, 1]": "on [0, 1]", "float64 [-1, 1]": "on [−1, 1]"}
SMALL: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": 9}
HIGHEST = 30.0


def convergence(panels: Mapping[str, Curves]) -> "Figure":
    """Two by two panels, by their titles; one legend below."""
    figure, (whole,) = figures.panels(1, width=10, height=8.2)
    whole.remove()
    grid = figure.subplots(2, 2)
    for axes, (title, curves) in zip(grid.flat, panels.items(), strict=True):
        _draw(axes, title, curves)
    for axes in grid[1]:
        axes.set(xlabel="degree $q$ = number of blocks")
    for axes in grid[:, 0]:
        axes.set(ylabel="largest error $|C^q - f|$")
    handles = {}
    for axes in grid.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    return figure


def _draw(axes: "Axes", title: str, curves: Curves) -> None:
    for name, (role, label, changes) in LOOKS.items():
        if name in curves:
            degrees, errors = zip(*curves[name], strict=True)
            figures.draw(axes, role, degrees, errors, label, **changes)
            if name in BESIDE and BESIDE.keys() <= curves.keys():
                at = max((q, error) for q, error in curves[name] if error < HIGHEST / 5)
                axes.annotate(
                    BESIDE[name], at, (-5, 5), **SMALL, color=figures.ROLES[role]["color"]
                )
    lowest = min(error for _, error in curves["best"])
    axes.set(yscale="log", ylim=(lowest / 4, HIGHEST), title=title)
