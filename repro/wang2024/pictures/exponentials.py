"""Lemmas E.1, E.4 and the findings on them: errors, heads and weights."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.figures import Curve
from repro.wang2024.pictures.curves import Points, panel, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STAR = {"linestyle": "", "marker": "*", "markersize": 9}


def heads_equal_T(
    Ts: Sequence[int],
    errors: Mapping[int, Sequence[float]],
    bounds: Points,
    heads: Sequence[int],
    proof: Points,
) -> "Figure":
    """The error of T + j heads against T, and the heads needed for an error of 1/10."""
    figure, (left, right) = figures.panels(2, width=4.8, height=4)
    label = f"exact errors, j = {min(errors)}, ..., {max(errors)} downwards"
    for j, values in errors.items():
        exact = Curve("construction", Ts, values, label * (j == min(errors)), {"marker": ""})
        bound = Curve("bound", Ts, [bounds[j]] * len(Ts), "bounds" * (j == min(errors)))
        panel(left, exact, bound, legend="lower right", ylim=(1e-13, 10))
    left.set(xlabel="T", ylabel="l1 error of T + j heads, q = 1/2")
    needed = (
        points("bound", proof, "the proof's bound, corrected"),
        Curve("construction", Ts, heads, "interpolation, exact", {"markersize": 3}),
        Curve("floor", Ts, [T + 1 for T in Ts], "fewer cannot: T + 1"),
    )
    panel(right, *needed, xlabel="T", ylabel="heads for an l1 error of 1/10")
    return figure


def heads_needed(
    Ts: Sequence[int], proofs: Mapping[str, Sequence[int]], literal: Mapping[str, Points]
) -> "Figure":
    """Heads for an error of 1/2 against T: necessary and enough, literal exponents, bounds."""
    drawn = []
    for rpe, marker, more, most in (("lin", "o", 1, ""), ("log", "D", 0, "at least, ")):
        look, needed = {"marker": marker}, [T + more for T in Ts]
        enough = f"{rpe}: necessary and enough, T{' + 1' * more}"
        drawn += [
            Curve("bound", Ts, proofs[rpe], f"{rpe}: bound of the proof", look),
            points("best in class", literal[rpe], f"{rpe}: {most}exponents of the proof", **look),
            Curve("construction", Ts, needed, enough, look),
        ]
    x, y = "distance T of the memory", "heads for an ℓ₁ error of 1/2"
    return figures.curves({"": drawn}, x=x, y=y, log="xy", ticks=True, size=(7.4, 4.6))


def singled_out(
    literal: Points,
    bumps: Points,
    lines: Mapping[bool, Points],
    built: Points,
    optimum: Points,
    layers: Points,
    floors: Points,
    trained: Points,
) -> "Figure":
    """Lemma E.1: error against heads, with the exponents of the proof, and with wider ones."""
    figure, (left, right) = figures.panels(2, width=5, height=4.2)
    of_proof = (
        points("construction", bumps, "polynomial of the proof"),
        points("best in class", literal, "best coefficients, certified"),
        points("bound", lines[False], "bound, corrected"),
        points("control", lines[True], "bound, as printed (false)", marker=""),
    )
    panel(left, *of_proof, log="xy", ylim=(1e-4, 1e6), title="exponents 0.01 k, T = 1")
    wider = (
        points("construction", built, "interpolation, exact"),
        points("best in class", optimum, "best coefficients, certified"),
        points("trained", trained, "trained from random"),
        points("control", layers, "float64 layer, worst signs", linestyle="", markersize=7),
        points("floor", floors, "its floor eps A"),
    )
    panel(right, *wider, ylim=(1e-14, 30), title="exponents k log(5/3), T = 3")
    for axes in (left, right):
        axes.axhline(1, color="#bbbbbb", linewidth=0.8)
        axes.set(xlabel="heads m", ylabel="l1 error")
    return figure


def collapse(
    best: Mapping[int, Points], T: int, built: Mapping[str, Points], layers: Points, floors: Points
) -> "Figure":
    """Error against heads: the best coefficients for several instants, constructions for one."""
    figure, (left, right) = figures.panels(2, width=5, height=4.2)
    several = [
        points("best in class", errors, f"T = {instant}", marker=marker)
        for (instant, errors), marker in zip(best.items(), "os^vD", strict=False)
    ]
    title, some = "best coefficients for t⁻², t⁻³, ..., certified", [1, 2, 5, 10, 20]
    panel(left, *several, log="xy", ticks=some, ylim=(1e-10, 3), title=title)
    shown = {m: error for m, error in best[T].items() if m >= T}
    of_T = [points("best in class", shown, "t⁻²⁻ᵏ, best")]
    for (label, errors), marker in zip(built.items(), "ov", strict=True):
        of_T.append(points("construction", errors, label, marker=marker))
    of_T.append(points("trained", layers, "float64 layer, t⁻⁶ᵏ or t⁻³ᵏ", **STAR))
    of_T.append(points("floor", floors, "its floor eps A"))
    panel(right, *of_T, ylim=(1e-18, 20), title=f"T = {T}")
    for axes in (left, right):
        axes.axhline(1, color="#bbbbbb", linewidth=0.8)
        axes.set(xlabel="heads m", ylabel="ℓ₁ error over all integers")
    return figure


def weights(
    bounds: Points,
    needed: Points,
    built: Points,
    capped: Mapping[int, Points],
    forced: Mapping[int, Points],
) -> "Figure":
    """The weights that an error of 1/2 costs, and the error under a cap on the weights."""
    figure, (left, right) = figures.panels(2, width=5, height=4.2)
    sums = (
        points("bound", bounds, "proved, any heads"),
        points("best in class", needed, "best coefficients, error ≤ 1/2"),
        points("construction", built, "interpolation with T + 3 heads", markersize=3),
        points("floor", dict.fromkeys(built, 2.0**53), "1 / eps in float64"),
    )
    panel(left, *sums, xlabel="T", ylabel="sum of |weights|", xticks=range(0, max(built) + 1, 5))
    for (T, values), marker in zip(capped.items(), "os^", strict=True):
        least = points("best in class", values, f"least error, T = {T}", marker=marker)
        panel(right, least, points("bound", forced[T], ""), log="x", ylim=(0, 1.05))
    right.set(xlabel="bound on the sum of |weights|", ylabel="l1 error, any heads")
    return figure
