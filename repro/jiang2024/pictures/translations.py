"""Table 1, ENG-DE: BLEU scores with their intervals, a row for each way to be trained."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from repro.jiang2024.bleu import Estimate


def scores(rows: "Mapping[str, tuple[str, Estimate]]", texts: str) -> "Figure":
    """From top to bottom; each with its role, of figures.ROLES."""
    figure, (axes,) = figures.panels(1, width=7.2, height=1.0 + 0.36 * len(rows))
    for height, (role, found) in enumerate(rows.values()):
        ends = [found.low, found.high]
        figures.draw(axes, role, ends, [height] * 2, "", marker="|", linestyle="-")
        marker = figures.ROLES[role]["marker"] or "D"
        figures.draw(axes, role, [found.value], [height], "", linestyle="", marker=marker)
        beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{found.value:.1f}", (found.high, height), **beside)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 1.12 * max(found.high for _, found in rows.values()))
    axes.set(title=texts, xlabel="BLEU, with 95 % intervals over test sentences")
    return figure
