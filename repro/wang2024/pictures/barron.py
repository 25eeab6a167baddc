"""Lemmas F.5 and F.6: ratios to Jackson's bound, and networks of m neurons for |y|_2."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.wang2024.pictures import curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = tuple[Sequence[float], Sequence[float]]
LOOKS: dict[str, curves.Look] = {
    "bound": ("bound", "proved bound, like 1/√m", {}),
    "control": ("control", "control: half of the sphere", {}),
    "drawn": ("construction", "drawn neurons (mean)", {}),
    "spread": ("construction", "well-spread neurons", {"marker": "D", "linestyle": "--"}),
    "best": ("best in class", "best in its class (see title)", {}),
    "trained": ("trained", "trained", {}),
}


def rates(plane: Mapping[str, Curve], space: Mapping[str, Curve]) -> "Figure":
    """Largest error on the cube against the number of neurons, in R^2 and in R^3."""
    figure, panels = figures.panels(2, width=4.8, height=4.6)
    titles = "plane (best: without biases)", "space (best: weights for spread directions)"
    for axes, some, title in zip(panels, (plane, space), titles, strict=True):
        curves.named(axes, LOOKS, some)
        axes.set(xscale="log", yscale="log", xlabel="neurons m", title=title)
        curves.ticks(axes, [4**k for k in range(2, 7) if 4**k <= max(some["drawn"][0])])
    panels[0].set(ylabel="largest error against |y|₂ on [−1, 1]ᵈ")
    figure.legend(*panels[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def jackson(
    orders: Sequence[int],
    bounds: Mapping[str, Sequence[float]],
    small: Mapping[int, Sequence[float]],
) -> "Figure":
    """Bounds of the largest ratio m^n E / M(n) against n, and one bound against m/n."""
    figure, (left, right) = figures.panels(2, width=4.8, height=4)
    dashed = {"marker": "", "linestyle": "-."}
    looks: dict[str, curves.Look] = {
        "lemma": ("floor", "the lemma: at most 1", {"color": "#D55E00"}),
        "repaired": ("bound", "repaired: 1.12ⁿ", {}),
        "upper": ("best in class", "largest ratio, upper bound", {"marker": ""}),
        "lower": ("best in class", "largest ratio, lower bound", dashed),
    }
    drawn = {"lemma": [1] * len(orders), **bounds}
    curves.named(left, looks, {name: (orders, ratios) for name, ratios in drawn.items()})
    left.set(yscale="log", xlabel="order n", ylabel="mⁿE / M(n), largest over f and m ≤ n")
    figures.draw(right, "floor", [0, 1], [1, 1], "", color="#D55E00")
    for (n, ratios), marker in zip(small.items(), "os^", strict=True):
        places = [m / n for m in range(1, n + 1)]
        figures.draw(right, "best in class", places, ratios, f"n = {n}", marker=marker)
    right.set(yscale="log", ylim=(1e-4, 30), xlabel="m / n", ylabel="mⁿE / M(n), lower bound")
    for axes in (left, right):
        axes.legend(loc="upper left")
    return figure
