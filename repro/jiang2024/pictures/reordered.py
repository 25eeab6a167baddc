"""Table 1: scores with their intervals, a row for each way to be trained."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from repro import figures
from repro.jiang2024.bleu import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Mapping[str, tuple[str, Estimate]]  # name: role, of figures.ROLES, and score


def translations(rows: Rows, texts: str) -> "Figure":
    figure, (axes,) = figures.panels(1, width=7.2, height=1.0 + 0.36 * len(rows))
    _from_the_top(axes, rows, digits=1)
    axes.set(title=texts, xlabel="BLEU, with 95 % intervals over test sentences")
    return figure


def accuracies(networks: Mapping[str, Rows]) -> "Figure":
    """A panel for each network."""
    height = 1.1 + 0.36 * max(map(len, networks.values()))
    figure, all_axes = figures.panels(len(networks), width=5.2, height=height)
    for axes, (name, rows) in zip(all_axes, networks.items(), strict=True):
        _from_the_top(axes, rows, digits=3)
        axes.set(title=name, xlabel="test accuracy, with two standard errors")
    return figure


def _from_the_top(axes: "Axes", rows: Rows, digits: int) -> None:
    for height, (role, found) in enumerate(rows.values()):
        ends = [found.low, found.high]
        figures.draw(axes, role, ends, [height] * 2, "", marker="|", linestyle="-")
        marker = figures.ROLES[role]["marker"] or "D"
        figures.draw(axes, role, [found.value], [height], "", linestyle="", marker=marker)
        beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{found.value:.{digits}f}", (found.high, height), **beside)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 1.16 * max(found.high for _, found in rows.values()))
