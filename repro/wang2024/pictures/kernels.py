"""Kernels: sums of exponentials and powers against alternating, smooth and heavy-tailed targets."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve
from repro.wang2024.pictures.curves import Look, named, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Sequence[float]
Curves = Mapping[str, tuple[Sequence[int], Values]]
DASHED = {"linestyle": "--", "marker": "D"}
ALTERNATING: dict[str, Look] = {
    "best": ("best in class", "best coefficients, fixed exponents", {}),
    "floor": ("floor", "the tail: nothing is below", {}),
    "interpolation": ("construction", "interpolation at $1, …, H$", {"linestyle": ""}),
}
BUMP_CURVES: dict[str, Look] = {
    "literal": ("control", "the proof, bumps from T = 1 on", {}),
    "repaired": ("construction", "the proof, bumps from T = 0 on", {}),
    "interpolation": ("construction", "interpolation, exponents $h$ log 2", DASHED),
    "best": ("best in class", "best coefficients, exponents $h$/2", {}),
}
ROUGH_CURVES: dict[str, Look] = {
    "bumps": ("construction", "the proof's construction", {}),
    "interpolation": ("construction", "interpolation, exponents 2$m$$h$", DASHED),
    "best": ("best in class", "best coefficients, exponents 1/2 + $h$", {}),
    "floor": ("floor", "the tail: nothing is below", {}),
}


def formula(name: str) -> str:
    """The name of a kernel, t^-2.5 cos(log t), for matplotlib."""
    words = name.replace("cos", r"\cos").replace("log", r"\log").replace("+-", r"\pm ")
    return "$" + re.sub(r"\^(-?[0-9.]*t?)", r"^{\1}", words) + "$"


def alternating(panels: Mapping[str, Mapping[str, Curves]]) -> "Figure":
    """One panel for each RPE, in it the floor, interpolation and the optimum for each beta."""
    figure, axes = figures.panels(len(panels), width=5.0, height=4.4)
    titles = {"lin": "lin: $H$ exponentials", "log": "log: $H$ powers"}
    for place, (rpe, of_beta) in zip(axes, panels.items(), strict=True):
        for (beta, found), marker in zip(of_beta.items(), "os^", strict=True):
            looks = {
                name: (role, label * (marker == "o"), {**look, "marker": marker})
                for name, (role, label, look) in ALTERNATING.items()
            }
            heads, best = found["best"]
            panel(place, *named(looks, found), log="xy", legend="", ticks=heads)
            place.text(heads[-1] * 1.08, best[-1], f"$\\beta$ = {beta}", va="center", fontsize=9)
        place.set(xlabel="number of heads $H$", title=titles[rpe])
        place.set_xlim(heads[0] / 1.1, heads[-1] * 1.45)
    axes[0].set(ylabel="$\\ell_1$ error against $(-1)^t t^{-\\beta}$")
    figures.legend_below(figure, axes[0], 3)
    return figure


def bumps(x: Any, repaired: Any, literal: Any, curves: Curves) -> "Figure":
    """The function of the proof on [0, 1], and errors over the number of exponentials."""
    figure, (left, right) = figures.panels(2, height=4.2)
    smooth = {"marker": "", "linewidth": 1.4}
    figures.draw(left, "construction", x, repaired, "", **smooth)
    figures.draw(left, "control", x, literal, "", **smooth, linestyle="--")
    left.set(xlabel="$x = e^{-\\alpha t}$", ylabel="$\\varphi(x)$, the sum of bumps")
    x, y = "number $m$ of exponentials", "$\\ell_1$ error against $\\rho$"
    panel(right, *named(BUMP_CURVES, curves), legend="", xlabel=x, ylabel=y)
    right.set_xscale("log", base=2)
    figures.legend_below(figure, right, 2)
    return figure


def rough_and_smooth(rough: str, curves: Curves, smooth: Curves) -> "Figure":
    """Errors against one rough kernel, and of layers in float64 against smooth ones."""
    figure, (left, right) = figures.panels(2, height=4.2)
    y = f"$\\ell_1$ error against {formula(rough)}"
    panel(left, *named(ROUGH_CURVES, curves), legend="", xlabel="number $m$ of powers", ylabel=y)
    left.set_xscale("log", base=2)
    layers = [
        Curve("construction", *found, f"a layer in float64, {formula(name)}", {"marker": marker})
        for (name, found), marker in zip(smooth.items(), "ov", strict=True)
    ]
    panel(right, *layers, xlabel="number of heads", ylabel="largest error of the layer")
    figures.legend_below(figure, left, 2)
    return figure


def any_kernel(
    heads: Sequence[int],
    exponential: Mapping[str, tuple[Values, Values]],
    polynomial: Mapping[str, tuple[Values, Values]],
    geometric: tuple[Sequence[int], Values],
    capped: tuple[Sequence[int], Values, float],
) -> "Figure":
    """Errors of interpolation and their bounds, kernel by kernel."""
    figure, (left, right) = figures.panels(2, width=5.0, height=4.6)
    for axes, kernels in ((left, exponential), (right, polynomial)):
        markers = zip(kernels.items(), "osv^", strict=False)
        for (name, (errors, bounds)), marker in markers:
            look = {"marker": marker, "markersize": 4}
            error = Curve("construction", heads, errors, formula(name), look)
            panel(axes, error, Curve("bound", heads, bounds, "", {"linewidth": 0.9}), legend="")
        axes.set(xlabel="number of heads $H$")
    left.set(ylabel="$\\ell_1$ error, and its bound (dashed)")
    left.legend(loc="lower left")
    Hs, errors, floor = capped
    others = (
        Curve("best in class", *geometric, "$t^{-2.5}$, geometric exponents"),
        Curve("control", Hs, errors, "weights of sum 10, $(-1)^t t^{-2.5}$"),
        Curve("floor", Hs, [floor] * len(Hs), "floor for these"),
    )
    panel(right, *others, log="xy", legend="", ticks=heads)
    right.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
