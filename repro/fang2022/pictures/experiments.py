"""Section 5: the surfaces of Figure 2, the learning curves of Figure 3, the convergence rule."""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


SEEDS = ("#0072B2", "#56B4E9", "#999999")  # of one curve, so no roles
LOOKS = {
    "ATTENTION": {"role": "construction"},
    "NN_depth": {"role": "trained"},
    "NN_width": {"role": "control", "linestyle": "--"},
}


def surfaces(
    axis: "np.ndarray", truth: "np.ndarray", outputs: "Mapping[str, np.ndarray]"
) -> "Figure":
    """One surface above the same square for each model, named by the key; f* as a wire frame."""
    import numpy as np

    figure, flat = figures.panels(len(outputs), width=3.9, height=4.1)
    x_1, x_2 = np.meshgrid(axis, axis, indexing="ij")
    for place, (title, surface) in enumerate(outputs.items(), start=1):
        flat[place - 1].remove()
        axes: Any = figure.add_subplot(1, len(outputs), place, projection="3d")
        shade: Any = {"cmap": "viridis", "vmin": 0, "vmax": truth.max(), "alpha": 0.85}
        axes.plot_surface(x_1, x_2, surface, linewidth=0, **shade)
        axes.plot_wireframe(x_1, x_2, truth, color="#666666", linewidth=0.4, rcount=12, ccount=12)
        axes.set(xlabel="$x_1$", ylabel="$x_2$", zlim=(0, truth.max()))
        axes.set_title(title)
        axes.tick_params(labelsize=7, pad=0)
        axes.set_box_aspect(None, zoom=0.88)
    return figure


def learning_curves(
    curves: "Mapping[str, Sequence[Mapping[str, Sequence[float]]]]", level: float
) -> "Figure":
    """Train and test error by epoch; for each model the first seed, the others thin."""
    figure, (left, right) = figures.panels(2, width=4.8)
    for model, seeds in curves.items():
        for number, seed in enumerate(seeds):
            thin = {} if number == 0 else {"linewidth": 0.6, "alpha": 0.5}
            look = {"marker": "", **LOOKS[model], **thin}
            role, label = look.pop("role"), model if number == 0 else ""
            epochs = range(1, len(seed["train"]) + 1)
            figures.draw(left, role, epochs, seed["train"], label, **look)
            figures.draw(right, role, seed["test_epoch"], seed["test"], label, **look)
    left.axhline(1, label="variance of the noise", **{**figures.ROLES["bound"], "linewidth": 1})
    left.axhline(level, label="the level of the claim", **figures.ROLES["floor"])
    left.set(ylabel="train MSE, with noise")
    right.set(ylabel="test MSE, without noise")
    for axes in (left, right):
        axes.set(xlabel="epoch", yscale="log")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def convergence_rule(
    curves: "Mapping[int, Sequence[float]]",
    first: "Mapping[int, int]",
    settled: "Mapping[int, int]",
) -> "Figure":
    """Train error by epoch for several seeds, and where two rules say that it has converged."""
    figure, (axes,) = figures.panels(1, width=7, height=3.8)
    for (seed, curve), color in zip(curves.items(), itertools.cycle(SEEDS), strict=False):
        epochs = range(1, len(curve) + 1)
        axes.plot(epochs, curve, color=color, linewidth=0.8, label=f"seed {seed}")
    for role, label, edge, epochs in (
        ("control", "first change below 0.01", 2.5, first),
        ("best in class", "20 in a row", 1.0, settled),
    ):
        heights = [curves[seed][epoch - 1] for seed, epoch in epochs.items()]
        marks = {"linestyle": "", "markersize": 9, "zorder": 5, "markeredgewidth": edge}
        figures.draw(axes, role, list(epochs.values()), heights, label, **marks)
    axes.set(xlabel="epoch", ylabel="train MSE", yscale="log")
    axes.legend(loc="upper right")
    return figure
