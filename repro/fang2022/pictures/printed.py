"""Figures 1 to 3 of the paper, drawn again, and the convergence rule of Table 1."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Sequence[Sequence[float]]


def stages(tables: Mapping[str, Table], rows: Sequence[str], output: str) -> "Figure":
    """Figure 1: what the tokens (columns) hold after each box; changed entries are framed."""
    figure, panels = figures.panels(len(tables), width=2.1, height=3.7)
    before = next(iter(tables.values()))
    for axes, (title, table) in zip(panels, tables.items(), strict=True):
        axes.imshow([[abs(v) ** 0.5 for v in row] for row in table], cmap="Blues", vmin=0, vmax=6)
        for i, row in enumerate(table):
            for j, value in enumerate(row):
                axes.text(j, i, f"{value:.3g}" if value else "·", ha="center", va="center", size=9)
                if before[i][j] != value:
                    corners = [j - 0.5, j + 0.5, j + 0.5, j - 0.5], [i - 0.5] * 2 + [i + 0.5] * 2
                    axes.fill(*corners, fill=False, edgecolor="#D55E00", linewidth=1.8)
        names = [f"z{j + 1}" for j in range(len(table[0]))]
        axes.set(title=title, xticks=range(len(names)), xticklabels=names)
        axes.set(yticks=range(len(rows)))
        axes.set_yticklabels(rows if axes is panels[0] else [""] * len(rows))
        axes.grid(False)
        before = table
    figure.suptitle(output, size=10)
    return figure


def surfaces(axis: Any, truth: Any, outputs: Mapping[str, Any]) -> "Figure":
    """Figure 2: a surface above the same square for each model, by name; f* as a wire frame."""
    import numpy as np

    figure, flat = figures.panels(len(outputs), width=3.9, height=4.1)
    x_1, x_2 = np.meshgrid(axis, axis, indexing="ij")
    for place, (title, surface) in enumerate(outputs.items(), start=1):
        flat[place - 1].remove()
        axes: Any = figure.add_subplot(1, len(outputs), place, projection="3d")
        shade: Any = {"cmap": "viridis", "vmin": 0, "vmax": truth.max(), "alpha": 0.85}
        axes.plot_surface(x_1, x_2, surface, linewidth=0, **shade)
        axes.plot_wireframe(x_1, x_2, truth, color="#666666", linewidth=0.4, rcount=12, ccount=12)
        axes.set(xlabel="$x_1$", ylabel="$x_2$", zlim=(0, truth.max()), title=title)
        axes.tick_params(labelsize=7, pad=0)
        axes.set_box_aspect(None, zoom=0.88)
    return figure


LOOKS = {
    "ATTENTION": ("construction", {"marker": ""}),
    "NN_depth": ("trained", {"marker": ""}),
    "NN_width": ("control", {"marker": "", "linestyle": "--"}),
}


def learning_curves(
    curves: Mapping[str, Sequence[Mapping[str, Sequence[float]]]], level: float
) -> "Figure":
    """Figure 3: errors by epoch; for each model the first seed, the others thin."""
    train, test, epochs = [], [], range(0)
    for model, (role, look) in LOOKS.items():
        for number, seed in enumerate(curves[model]):
            label, epochs = "" if number else model, range(1, len(seed["train"]) + 1)
            drawn = {**look, "linewidth": 0.6, "alpha": 0.5} if number else look
            train.append(Curve(role, epochs, seed["train"], label, drawn))
            test.append(Curve(role, seed["test_epoch"], seed["test"], label, drawn))
    train.append(Curve("bound", epochs, [1] * len(epochs), "variance of the noise"))
    train.append(Curve("floor", epochs, [level] * len(epochs), "the level of the claim"))
    panels = {"training data, with noise": train, "test data, without noise": test}
    return figures.curves(panels, x="epoch", y="mean square error", size=(4.8, 3.9), columns=5)


SEEDS = ("#0072B2", "#56B4E9", "#999999")  # of one curve, so no roles


def convergence_rule(
    curves: Mapping[int, Sequence[float]], first: Mapping[int, int], settled: Mapping[int, int]
) -> "Figure":
    """Train error by epoch for several seeds, and where two rules say that it has converged."""
    drawn = []
    for (seed, curve), color in zip(curves.items(), SEEDS, strict=False):
        look = {"color": color, "linewidth": 0.8, "marker": ""}
        drawn.append(Curve("trained", range(1, len(curve) + 1), curve, f"seed {seed}", look))
    for role, label, edge, epochs in (
        ("control", "first change below 0.01", 2.5, first),
        ("best in class", "20 in a row", 1.0, settled),
    ):
        heights = [curves[seed][epoch - 1] for seed, epoch in epochs.items()]
        look = {"linestyle": "", "markersize": 9, "zorder": 5, "markeredgewidth": edge}
        drawn.append(Curve(role, [*epochs.values()], heights, label, look))
    axes = {"x": "epoch", "y": "train MSE", "size": (7, 3.8)}
    return figures.curves({"": drawn}, **axes, legend="upper right")
