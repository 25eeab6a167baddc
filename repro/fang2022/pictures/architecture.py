"""Figure 1: what the tokens hold after each box of the drawing."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Sequence[Sequence[float]]


def stages(tables: Mapping[str, Table], rows: Sequence[str], output: str) -> "Figure":
    """One panel for each stage: rows are the entries of a token, columns the tokens.

    An entry that the stage has changed is framed.
    """
    figure, panels = figures.panels(len(tables), width=2.1, height=3.7)
    before: Table | None = None
    for axes, (title, table) in zip(panels, tables.items(), strict=True):
        axes.imshow([[abs(v) ** 0.5 for v in row] for row in table], cmap="Blues", vmin=0, vmax=6)
        for i, row in enumerate(table):
            for j, value in enumerate(row):
                axes.text(j, i, f"{value:.3g}" if value else "·", ha="center", va="center", size=9)
                if before is not None and before[i][j] != value:
                    frame = {"fill": False, "edgecolor": "#D55E00", "linewidth": 1.8}
                    axes.add_patch(_square(j, i, **frame))
        axes.set(title=title, xticks=range(len(table[0])), yticks=range(len(rows)))
        axes.set_xticklabels([f"z{j + 1}" for j in range(len(table[0]))])
        axes.set_yticklabels(rows if axes is panels[0] else [""] * len(rows))
        axes.grid(False)
        before = table
    figure.suptitle(output, size=10)
    return figure


def _square(x: int, y: int, **style: object):
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, **style)  # pyright: ignore[reportArgumentType]
