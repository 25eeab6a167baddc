"""Lemmas F.5 and F.6: ratios to Jackson's bound, and networks of m neurons for |y|_2."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = tuple[Sequence[float], Sequence[float]]
LOOKS = {  # role, label, changes
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
    for axes, curves, title in zip(panels, (plane, space), titles, strict=True):
        for name, (role, label, changes) in LOOKS.items():
            if name in curves:
                figures.draw(axes, role, *curves[name], label, **changes)
        axes.set(xscale="log", yscale="log", xlabel="neurons m", title=title)
        ticks = [4**k for k in range(2, 7) if 4**k <= max(curves["drawn"][0])]
        axes.set_xticks(ticks, [str(m) for m in ticks])
        axes.minorticks_off()
    panels[0].set(ylabel="largest error against |y|₂ on [−1, 1]ᵈ")
    figure.legend(*panels[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def jackson(
    orders: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    small: Mapping[int, Sequence[float]],
) -> "Figure":
    """Bounds of the largest ratio m^n E / M(n) against n, and one bound against m/n."""
    figure, (left, right) = figures.panels(2, width=4.8, height=4)
    figures.draw(left, "floor", orders, [1] * len(orders), "the lemma: at most 1", color="#D55E00")
    figures.draw(left, "bound", orders, curves["repaired"], "repaired: 1.12ⁿ")
    look = {"marker": ""}
    figures.draw(
        left, "best in class", orders, curves["upper"], "largest ratio, upper bound", **look
    )
    look |= {"linestyle": "-."}
    figures.draw(
        left, "best in class", orders, curves["lower"], "largest ratio, lower bound", **look
    )
    left.set(yscale="log", xlabel="order n", ylabel="mⁿE / M(n), largest over f and m ≤ n")
    left.legend(loc="upper left")
    figures.draw(right, "floor", [0, 1], [1, 1], "", color="#D55E00")
    for (n, ratios), marker in zip(small.items(), "os^", strict=True):
        places = [m / n for m in range(1, n + 1)]
        figures.draw(right, "best in class", places, ratios, f"n = {n}", marker=marker)
    right.set(yscale="log", ylim=(1e-4, 30), xlabel="m / n", ylabel="mⁿE / M(n), lower bound")
    right.legend(loc="upper left")
    return figure
