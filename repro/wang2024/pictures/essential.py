"""Theorem 6.1, end to end, and what is true of the curse of memory."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.figures import decades
from repro.wang2024.pictures import curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from repro.wang2024.width import Curves

LOOKS: dict[str, curves.Look] = {
    "bound": ("bound", "proved bound, heads apart", {}),
    "apart": ("construction", "heads apart, as printed", {}),
    "shared": ("construction", "heads shared by both kernels", {"marker": "D", "linestyle": ":"}),
    "floor": ("best in class", "no network with these exponents errs less", {"linestyle": "--"}),
    "trained": ("trained", "trained, heads shared", {}),
}


def heads(target: str, found: Mapping[str, Sequence[tuple[float, float]]]) -> "Figure":
    """Error of the layer against the number of heads."""
    figure, (axes,) = figures.panels(1, width=7.6, height=3.8)
    split = {name: tuple(zip(*points, strict=True)) for name, points in found.items()}
    curves.named(axes, LOOKS, split)
    axes.set(yscale="log", xlabel="number of heads H", ylabel="largest error found")
    beta = "2.5" if "heavy" in target else "4"
    powers = f"log-RPE: $(1+t)^{{-{beta}}}$ and $t^{{-{beta}}}\\cos(\\log t)$"
    axes.set_title("lin-RPE: e⁻ᵗ cos t and e⁻ᵗ cos 3t" if target == "lin" else powers)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def width(found: "Curves", attention_error: float, *, heads: int, target: str) -> "Figure":
    """Error of the layer against the width of its readout."""
    figure, (axes,) = figures.panels(1, width=7.6, height=3.8)
    widths, means = found.widths, found.means()
    for kind, label, marker, proved in (
        ("drawn", "neurons drawn at random (mean)", "o", "proved bounds"),
        ("spread", "neurons spread evenly", "s", ""),
    ):
        errors, bounds = means[kind]
        figures.draw(axes, "construction", widths, errors, label, marker=marker)
        figures.draw(axes, "bound", widths, bounds, proved)
    fetched = [attention_error] * len(widths)
    figures.draw(axes, "floor", widths, fetched, f"attention error, {heads} heads")
    decades(axes, "xy", xlabel="width $m$ of the readout")
    axes.set(ylabel=f"largest error found, {target}")
    curves.ticks(axes, widths)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def memory(
    Ns: Sequence[int],
    rough: Mapping[str, Sequence[float]],
    mixed: Sequence[float],
    caps: Sequence[float],
    floors: Sequence[float],
    capped: Sequence[float],
) -> "Figure":
    """Heads and linear recurrences: a rough kernel, a smooth one, and bounded weights."""
    figure, (left, middle, right) = figures.panels(3, width=4.3, height=4.2)
    looks: dict[str, curves.Look] = {
        "log": ("best in class", "log heads, best weights", {}),
        "lin": (
            "best in class",
            "lin heads = diagonal RNN, best weights",
            {"marker": "D", "linestyle": ":"},
        ),
        "shift": ("construction", "RNN that shifts", {}),
        "least": ("bound", "no heads of either type", {}),
    }
    curves.named(left, looks, {name: (Ns, errors) for name, errors in rough.items()})
    decades(left, "xy", xlabel="heads or units N", ylabel="l1 error")
    left.set_title("(−1)$^t$ $t^{-4}$: both like $N^{-3}$")
    figures.draw(middle, "construction", Ns, mixed, "RNN, weights > 0 of sum 1")
    decades(middle, xlabel="units N", title="$(1+t)^{-4}$: root-exponential")
    figures.draw(right, "floor", caps, floors, "proved floor, any number of units")
    figures.draw(right, "best in class", caps, capped, "40 units, best weights")
    decades(right, "xy", xlabel="bound A on the sum of |weights|")
    right.set_title("$(1+t)^{-4}$: exponents at least 1")
    for axes in (left, middle, right):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18))
    for axes in (left, middle):
        curves.ticks(axes, Ns)
    return figure
