"""Lemmas E.1 and E.2 and the findings on them: errors, heads and weights."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.wang2024.pictures.curves import points

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heads_equal_T(
    Ts: Sequence[int],
    errors: Mapping[int, Sequence[float]],
    bounds: Mapping[int, float],
    heads: Sequence[int],
    proof: Mapping[int, int],
) -> "Figure":
    """The error of T + j heads against T, and the heads needed for an error of 1/10."""
    figure, (left, right) = figures.panels(2, width=4.8, height=4)
    for j, values in errors.items():
        first = j == min(errors)
        figures.draw(left, "construction", Ts, values, "exact error" if first else "", marker="")
        figures.draw(left, "bound", Ts, [bounds[j]] * len(Ts), "bound" if first else "")
        left.text(Ts[-1] * 1.02, values[-1], f"j = {j}", va="center", fontsize=8)
    left.set(yscale="log", xlabel="T", ylabel="l1 error of T + j heads, q = 1/2")
    left.set(xlim=(0, Ts[-1] * 1.16), ylim=(1e-13, 10))
    left.legend(loc="lower right")
    points(right, "bound", proof, "the proof's bound, corrected")
    figures.draw(right, "construction", Ts, heads, "interpolation, exact", markersize=3)
    figures.draw(right, "floor", Ts, [T + 1 for T in Ts], "fewer cannot: T + 1")
    right.set(yscale="log", xlabel="T", ylabel="heads for an l1 error of 1/10", ylim=(1, 6e4))
    right.legend(loc="center right", bbox_to_anchor=(1, 0.62))
    return figure


def singled_out(
    literal: Mapping[int, float],
    bumps: Mapping[int, float],
    lines: Mapping[bool, Mapping[int, float]],
    built: Mapping[int, float],
    optimum: Mapping[int, float],
    layers: Mapping[int, float],
    floors: Mapping[int, float],
    trained: Mapping[int, float],
) -> "Figure":
    """Lemma E.1: error against heads, with the exponents of the proof, and with wider ones."""
    figure, (left, right) = figures.panels(2, width=5, height=4.2)
    points(left, "construction", bumps, "polynomial of the proof")
    points(left, "best in class", literal, "best coefficients, certified")
    points(left, "bound", lines[False], "bound, corrected")
    points(left, "control", lines[True], "bound, as printed (false)", marker="")
    left.axhline(1, color="#bbbbbb", linewidth=0.8)
    left.set(xscale="log", yscale="log", ylim=(1e-4, 1e6), title="exponents 0.01 k, T = 1")
    left.set(xlabel="heads m", ylabel="l1 error")
    left.legend(loc="upper right")
    points(right, "construction", built, "interpolation, exact")
    points(right, "best in class", optimum, "best coefficients, certified")
    points(right, "trained", trained, "trained from random")
    points(right, "control", layers, "float64 layer, worst signs", linestyle="", markersize=7)
    points(right, "floor", floors, "its floor eps A")
    right.set(yscale="log", ylim=(1e-14, 30), title="exponents k log(5/3), T = 3")
    right.set(xlabel="heads m", ylabel="l1 error")
    right.legend(loc="center right", bbox_to_anchor=(1.02, 0.74))
    return figure


def moving_instant(
    errors: Mapping[int, float], unmoved: Mapping[int, float], T: int, optimum: float
) -> "Figure":
    """Lemma E.2: the error of one set of coefficients against B."""
    figure, (axes,) = figures.panels(1, width=5.6, height=3.8)
    points(axes, "best in class", errors, "best for T, moved by B")
    points(axes, "control", unmoved, "not moved")
    axes.axhline(optimum, **{**figures.ROLES["bound"], "linewidth": 1}, label="optimum for T")
    axes.axvline(T, color="#bbbbbb", linewidth=0.8)
    axes.text(T, axes.get_ylim()[1], " B = T", va="top", fontsize=9)
    axes.set(yscale="log", xlabel="B", ylabel="l1 error against the indicator of B")
    axes.legend(loc="upper left")
    return figure


def weights(
    bounds: Mapping[int, float],
    needed: Mapping[int, float],
    built: Mapping[int, float],
    capped: Mapping[int, Mapping[float, float]],
    forced: Mapping[int, Mapping[float, float]],
) -> "Figure":
    """The weights that an error of 1/2 costs, and the error under a cap on the weights."""
    figure, (left, right) = figures.panels(2, width=5, height=4.2)
    points(left, "bound", bounds, "proved, any heads")
    points(left, "best in class", needed, "best coefficients, error ≤ 1/2")
    points(left, "construction", built, "interpolation with T + 3 heads", markersize=3)
    left.axhline(2.0**53, **figures.ROLES["floor"], label="1 / eps in float64")
    left.set(yscale="log", xlabel="T", xticks=range(0, max(built) + 1, 5))
    left.set(ylabel="sum of |weights|")
    left.legend(loc="upper left")
    for T, values in capped.items():
        first = min(capped) == T
        points(right, "best in class", values, "least error" if first else "")
        points(right, "bound", forced[T], "forced by the inequality" if first else "")
        cap = next((cap for cap, error in values.items() if error < 0.75), max(values))
        right.text(1.3 * cap, values[cap], f"T = {T}", fontsize=9)
    right.set(xscale="log", ylim=(0, 1.05), xlabel="bound on the sum of |weights|")
    right.set(ylabel="l1 error, any heads")
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2)
    return figure
