"""Lemmas E.4 and E.5 and the heads that long memories need: errors and heads."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.figures import decades
from repro.wang2024.pictures.curves import points, ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = Mapping[int, float]  # heads: error


def heads_needed(
    Ts: Sequence[int], proofs: Mapping[str, Sequence[int]], literal: Mapping[str, Mapping[int, int]]
) -> "Figure":
    """Heads for an error of 1/2 against T: necessary and enough, literal exponents, bounds."""
    figure, (axes,) = figures.panels(1, width=7.4, height=4.2)
    for rpe, marker, more, most in (("lin", "o", 1, ""), ("log", "D", 0, "at least, ")):
        look = {"marker": marker, "markerfacecolor": "none", "linewidth": 1}
        figures.draw(axes, "bound", Ts, proofs[rpe], f"{rpe}: bound of the proof", **look)
        label = f"{rpe}: {most}exponents of the proof"
        points(axes, "best in class", literal[rpe], label, marker=marker)
        label = f"{rpe}: necessary and enough, T{' + 1' * more}"
        figures.draw(axes, "construction", Ts, [T + more for T in Ts], label, marker=marker)
    decades(axes, "xy", xlabel="distance T of the memory")
    axes.set_ylabel("heads for an ℓ₁ error of 1/2")
    ticks(axes, Ts)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def collapse(
    best: Mapping[int, Points], T: int, built: Mapping[str, Points], layers: Points, floors: Points
) -> "Figure":
    """Error against heads: the best coefficients for several instants, constructions for one."""
    figure, (left, right) = figures.panels(2, width=5, height=4.2)
    for instant, errors in best.items():
        points(left, "best in class", errors, "")
        end = max(errors)
        place = {"xytext": (0, -15), "textcoords": "offset points", "ha": "center"}
        left.annotate(f"T = {instant}", (end, errors[end]), fontsize=9, **place)
    left.axhline(1, color="#bbbbbb", linewidth=0.8)
    left.set(xscale="log", yscale="log", title="best coefficients for t⁻², t⁻³, ..., certified")
    left.set(xlabel="heads m", ylabel="ℓ₁ error over all integers")
    ticks(left, [1, 2, 5, 10, 20])
    left.set(ylim=(1e-10, 3))
    shown = {m: error for m, error in best[T].items() if m >= T}
    points(right, "best in class", shown, "t⁻²⁻ᵏ, best")
    for (label, errors), marker in zip(built.items(), "ov", strict=True):
        points(right, "construction", errors, label, marker=marker)
    look = {"linestyle": "", "marker": "*", "markersize": 9}
    points(right, "trained", layers, "float64 layer, t⁻⁶ᵏ or t⁻³ᵏ", **look)
    points(right, "floor", floors, "its floor eps A")
    right.axhline(1, color="#bbbbbb", linewidth=0.8)
    right.set(yscale="log", ylim=(1e-18, 20), title=f"T = {T}", xlabel="heads m")
    right.legend(loc="lower left")
    for axes in (left, right):
        axes.minorticks_off()
    return figure


def moving(all_at_once: Mapping[int, Points], alone: Mapping[int, Points]) -> "Figure":
    """Lemma E.5 beside Lemma E.4, with the same exponents: error against heads."""
    figure, panels = figures.panels(len(all_at_once), width=3.3, height=3.4)
    for axes, T in zip(panels, all_at_once, strict=True):
        points(axes, "best in class", all_at_once[T], "all B ≤ T at once")
        points(axes, "floor", alone[T], "B = T alone", marker="+")
        axes.axhline(1, color="#bbbbbb", linewidth=0.8)
        axes.set(yscale="log", ylim=(1e-8, 3), title=f"T = {T}", xlabel="heads m")
        axes.minorticks_off()
    panels[0].set_ylabel("least ℓ₁ error, largest over B")
    panels[0].legend(loc="lower left")
    return figure
