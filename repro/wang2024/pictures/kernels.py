"""Kernels: sums of exponentials and powers against alternating, smooth and heavy-tailed targets."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    drawn = {
        f"{rpe}-RPE": [
            replace(one, label=f"{one.label}, β = {beta}", look={**one.look, "marker": marker})
            for (beta, found), marker in zip(of_beta.items(), "os^", strict=True)
            for one in named(ALTERNATING, found)
        ]
        for rpe, of_beta in panels.items()
    }
    x, y = "number of heads $H$", "$\\ell_1$ error against $(-1)^t t^{-\\beta}$"
    return figures.curves(drawn, x=x, y=y, log="xy", ticks=True, size=(5, 4.8), columns=3)


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


def rough(kernel: str, curves: Curves) -> "Figure":
    """Errors of powers against one rough kernel."""
    x, y = "number $m$ of powers", f"$\\ell_1$ error against {formula(kernel)}"
    drawn = {"": named(ROUGH_CURVES, curves)}
    return figures.curves(drawn, x=x, y=y, log="xy", size=(5.6, 4.2))


def any_kernel(
    heads: Sequence[int], panels: Mapping[str, Mapping[str, tuple[Values, Values]]]
) -> "Figure":
    """Errors of interpolation and their bounds, kernel by kernel; a panel for each title."""
    drawn: dict[str, list[Curve]] = {}
    for title, kernels in panels.items():
        curves = drawn[title] = []
        for (name, (errors, bounds)), marker in zip(kernels.items(), "osv^dp", strict=False):
            look = {"marker": marker, "markersize": 4}
            curves.append(Curve("construction", heads, errors, formula(name), look))
            curves.append(Curve("bound", heads, bounds, "", {"linewidth": 0.9}))
    x, y = "number of heads $H$", "$\\ell_1$ error, and its bound (dashed)"
    figure = figures.curves(drawn, x=x, y=y, size=(5, 4.6))
    figure.legends.clear()
    for axes in figure.axes:
        axes.legend(loc="lower left")
    return figure
