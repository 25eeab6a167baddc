"""Lemmas E.4 and E.5 and the heads that long memories need: errors and heads."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.figures import decades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = Mapping[int, float]  # heads: error


def heads_needed(
    Ts: Sequence[int], proofs: Mapping[str, Sequence[int]], literal: Mapping[str, Mapping[int, int]]
) -> "Figure":
    """Heads for an error of 1/2 against T: necessary and enough, literal exponents, bounds."""
    figure, (axes,) = figures.panels(1, width=7.4, height=4.2)
    marks = {"lin": "o", "log": "D"}
    for rpe, marker in marks.items():
        look = {"marker": marker, "markerfacecolor": "none", "linewidth": 1}
        figures.draw(axes, "bound", Ts, proofs[rpe], f"{rpe}: bound of the proof", **look)
    for rpe, marker in marks.items():
        most = "at least, " if rpe == "log" else ""
        points = literal[rpe]
        label = f"{rpe}: {most}exponents of the proof"
        figures.draw(
            axes, "best in class", list(points), list(points.values()), label, marker=marker
        )
    for rpe, marker, more in (("lin", "o", 1), ("log", "D", 0)):
        needed = [T + more for T in Ts]
        label = f"{rpe}: necessary and enough, T{' + 1' * more}"
        figures.draw(axes, "construction", Ts, needed, label, marker=marker)
    decades(axes, "xy", xlabel="distance T of the memory")
    axes.set_ylabel("heads for an ℓ₁ error of 1/2")
    axes.set_xticks(Ts, [str(T) for T in Ts])
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def collapse(
    best: Mapping[int, Points],
    T: int,
    built: Mapping[str, Points],
    layers: Points,
    floors: Points,
) -> "Figure":
    """Error against heads: the best coefficients for several instants, constructions for one."""
    figure, (left, right) = figures.panels(2, width=5, height=4.2)
    for instant, errors in best.items():
        figures.draw(left, "best in class", list(errors), list(errors.values()), "")
        end = max(errors)
        place = {"xytext": (0, -15), "textcoords": "offset points", "ha": "center"}
        left.annotate(f"T = {instant}", (end, errors[end]), fontsize=9, **place)
    left.axhline(1, color="#bbbbbb", linewidth=0.8)
    left.set(xscale="log", yscale="log", title="best coefficients for t⁻², t⁻³, ..., certified")
    left.set(xlabel="heads m", ylabel="ℓ₁ error over all integers")
    left.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    left.set(ylim=(1e-10, 3))
    shown = {m: error for m, error in best[T].items() if m >= T}
    figures.draw(right, "best in class", list(shown), list(shown.values()), "t⁻²⁻ᵏ, best")
    for (label, errors), marker in zip(built.items(), "ov", strict=True):
        figures.draw(
            right, "construction", list(errors), list(errors.values()), label, marker=marker
        )
    look = {"linestyle": "", "marker": "*", "markersize": 9}
    figures.draw(
        right, "trained", list(layers), list(layers.values()), "float64 layer, t⁻⁶ᵏ or t⁻³ᵏ", **look
    )
    figures.draw(right, "floor", list(floors), list(floors.values()), "its floor eps A")
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
        errors, single = all_at_once[T], alone[T]
        figures.draw(
            axes, "best in class", list(errors), list(errors.values()), "all B ≤ T at once"
        )
        figures.draw(axes, "floor", list(single), list(single.values()), "B = T alone", marker="+")
        axes.axhline(1, color="#bbbbbb", linewidth=0.8)
        axes.set(yscale="log", ylim=(1e-8, 3), title=f"T = {T}", xlabel="heads m")
        axes.minorticks_off()
    panels[0].set_ylabel("least ℓ₁ error, largest over B")
    panels[0].legend(loc="lower left")
    return figure
