"""Figure 1: what the tokens hold after each box of the drawing."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Sequence[Sequence[float]]
CHANGED = {"edgecolor": "#D55E00", "linewidth": 1.8}


def stages(tables: Mapping[str, Table], rows: Sequence[str], output: str) -> "Figure":
    """One panel for each stage: rows are the entries of a token, columns the tokens.

    An entry that the stage has changed is framed.
    """
    figure, panels = figures.panels(len(tables), width=2.1, height=3.7)
    before = next(iter(tables.values()))
    for axes, (title, table) in zip(panels, tables.items(), strict=True):
        axes.imshow([[abs(v) ** 0.5 for v in row] for row in table], cmap="Blues", vmin=0, vmax=6)
        for i, row in enumerate(table):
            for j, value in enumerate(row):
                axes.text(j, i, f"{value:.3g}" if value else "·", ha="center", va="center", size=9)
                if before[i][j] != value:
                    corners = [j - 0.5, j + 0.5, j + 0.5, j - 0.5], [i - 0.5] * 2 + [i + 0.5] * 2
                    axes.fill(*corners, fill=False, **CHANGED)
        names = [f"z{j + 1}" for j in range(len(table[0]))]
        axes.set(title=title, xticks=range(len(names)), xticklabels=names)
        axes.set(yticks=range(len(rows)))
        axes.set_yticklabels(rows if axes is panels[0] else [""] * len(rows))
        axes.grid(False)
        before = table
    figure.suptitle(output, size=10)
    return figure
