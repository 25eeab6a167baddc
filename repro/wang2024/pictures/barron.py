"""Lemma F.5: ratios to Jackson's bound. Lemma F.6: networks of m neurons for |y|_2."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.wang2024.pictures.curves import Curves, Look, named, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS: dict[str, Look] = {
    "bound": ("bound", "proved bound, like 1/√m", {}),
    "control": ("control", "control: half of the sphere", {}),
    "drawn": ("construction", "drawn neurons (mean)", {}),
    "spread": ("construction", "well-spread neurons", {"marker": "D", "linestyle": "--"}),
    "best": ("best in class", "best in its class (see title)", {}),
    "trained": ("trained", "trained", {}),
}
RATIOS: dict[str, Look] = {
    "lemma": ("floor", "the lemma: at most 1", {"color": "#D55E00"}),
    "repaired": ("bound", "repaired: 1.12ⁿ", {}),
    "upper": ("best in class", "largest ratio, upper bound", {"marker": ""}),
    "lower": ("best in class", "largest ratio, lower bound", {"marker": "", "linestyle": "-."}),
}


def rates(plane: Curves, space: Curves) -> "Figure":
    """Largest error on the cube against the number of neurons, in R^2 and in R^3."""
    figure, panels = figures.panels(2, width=4.8, height=4.6)
    titles = "plane (best: without biases)", "space (best: weights for spread directions)"
    for axes, some, title in zip(panels, (plane, space), titles, strict=True):
        ticks = [4**k for k in range(2, 7) if 4**k <= max(some["drawn"][0])]
        shown = named(LOOKS, some)
        panel(axes, *shown, log="xy", legend="", ticks=ticks, xlabel="neurons m", title=title)
    panels[0].set(ylabel="largest error against |y|₂ on [−1, 1]ᵈ")
    figures.legend_below(figure, panels[1], 3)
    return figure


def jackson(orders: Sequence[int], bounds: Mapping[str, Sequence[float]]) -> "Figure":
    """Bounds of the largest ratio m^n E / M(n) against n."""
    ratios = {"lemma": [1] * len(orders), **bounds}
    drawn = named(RATIOS, {name: (orders, some) for name, some in ratios.items()})
    y = "mⁿE / M(n), largest over f, m ≤ n"
    return figures.curves({"": drawn}, x="order n", y=y, legend="upper left", size=(5.6, 4))
