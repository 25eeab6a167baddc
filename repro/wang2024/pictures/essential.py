"""Theorem 6.1, end to end, and what is true of the curse of memory."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.figures import decades
from repro.wang2024.pictures import words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from repro.wang2024.width import Curves

Points = Sequence[tuple[float, float]]


def heads(target: str, curves: Mapping[str, Points]) -> "Figure":
    """Error of the layer against the number of heads."""
    looks = {
        "bound": ("bound", "proved bound, heads apart", {}),
        "apart": ("construction", "heads apart, as printed", {}),
        "shared": (
            "construction",
            "heads shared by both kernels",
            {"marker": "D", "linestyle": ":"},
        ),
        "floor": (
            "best in class",
            "no network with these exponents errs less",
            {"linestyle": "--"},
        ),
        "trained": ("trained", "trained, heads shared", {}),
    }
    figure, (axes,) = figures.panels(1, width=7.6, height=3.8)
    for name, (role, label, changes) in looks.items():
        x, y = zip(*curves[name], strict=True)
        figures.draw(axes, role, x, y, label, **changes)
    axes.set(yscale="log", xlabel="number of heads H", ylabel="largest error found")
    axes.set_title({"lin": "lin-RPE: e⁻ᵗ cos t and e⁻ᵗ cos 3t"}.get(target, _powers(target)))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def heads_told(target: str, curves: Mapping[str, Points], width: int) -> dict[str, str]:
    return {
        "caption": f"Two kernels ({target}) and the readout |y|₂: error of the whole layer in "
        f"float64 against the number of heads, m = {width}. The trained layers choose their "
        "exponents, so the floor for the shared ones does not bind them.",
        "alt": words.curves(curves),
    }


def _powers(target: str) -> str:
    beta = "2.5" if "heavy" in target else "4"
    return f"log-RPE: $(1+t)^{{-{beta}}}$ and $t^{{-{beta}}}\\cos(\\log t)$"


def width(curves: "Curves", attention_error: float, *, heads: int, target: str) -> "Figure":
    """Error of the layer against the width of its readout."""
    figure, (axes,) = figures.panels(1, width=7.6, height=3.8)
    looks = {
        "drawn": ("neurons drawn at random (mean)", "o"),
        "spread": ("neurons spread evenly", "s"),
    }
    widths, means = curves.widths, curves.means()
    for name, (label, marker) in looks.items():
        errors, bounds = means[name]
        figures.draw(axes, "construction", widths, errors, label, marker=marker)
        proved = "proved bounds" if name == "drawn" else ""
        figures.draw(axes, "bound", widths, bounds, proved)
    fetched = [attention_error] * len(widths)
    figures.draw(axes, "floor", widths, fetched, f"attention error, {heads} heads")
    decades(axes, "xy", xlabel="width $m$ of the readout")
    axes.set(ylabel=f"largest error found, {target}")
    axes.set_xticks(widths, [str(m) for m in widths])
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def width_told(curves: "Curves", attention_error: float, layer: str) -> dict[str, str]:
    shown = {
        f"neurons {kind}, mean error": zip(curves.widths, errors, strict=True)
        for kind, (errors, _) in curves.means().items()
    }
    return {
        "caption": f"Error against the width m of the readout: {layer}.",
        "alt": words.curves(shown, "m") + f"; the attention error is {attention_error:.1e}.",
    }


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
    figures.draw(left, "best in class", Ns, rough["log"], "log heads, best weights")
    label = "lin heads = diagonal RNN, best weights"
    figures.draw(left, "best in class", Ns, rough["lin"], label, marker="D", linestyle=":")
    figures.draw(left, "construction", Ns, rough["shift"], "RNN that shifts")
    figures.draw(left, "bound", Ns, rough["least"], "no heads of either type")
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
        axes.set_xticks(Ns, [str(N) for N in Ns])
    return figure
