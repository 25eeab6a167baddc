"""Kernels: sums of exponentials and powers against alternating, smooth and heavy-tailed targets."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from repro import figures
from repro.wang2024.pictures.curves import Look, named, ticks

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

Values = Sequence[float]
Curves = Mapping[str, tuple[Sequence[int], Values]]


def formula(name: str) -> str:
    """The name of a kernel, t^-2.5 cos(log t), for matplotlib."""
    words = name.replace("cos", r"\cos").replace("log", r"\log").replace("+-", r"\pm ")
    return "$" + re.sub(r"\^(-?[0-9.]*t?)", r"^{\1}", words) + "$"


APART = 2  # ends of curves that are so far apart get a label each
TITLES = {"lin": "lin: $H$ exponentials", "log": "log: $H$ powers"}
BESIDE = {"textcoords": "offset points", "va": "center", "fontsize": 9}


class Sandwich(NamedTuple):
    """For one beta, over the same H: the floor, what interpolation attains, the optimum."""

    heads: Sequence[int]
    floor: Values
    interpolation: Values
    optimum: Values


def alternating(panels: "Mapping[str, Mapping[str, Sandwich]]") -> "Figure":
    """One panel for each RPE, in it a sandwich for each beta."""
    figure, axes = figures.panels(len(panels), width=5.0, height=4.4)
    for place, (rpe, sandwiches) in zip(axes, panels.items(), strict=True):
        for (beta, found), marker in zip(sandwiches.items(), "os^", strict=True):
            heads, *_, best = found
            looks: dict[str, Look] = {
                "best": ("best in class", "best coefficients, fixed exponents", {"marker": marker}),
                "floor": ("floor", "the tail: nothing is below", {}),
                "interpolation": (
                    "construction",
                    "interpolation at $1, …, H$",
                    {"marker": marker, "linestyle": ""},
                ),
            }
            if marker != "o":
                looks = {name: (role, "", look) for name, (role, _, look) in looks.items()}
            curves = {"best": best, "floor": found.floor, "interpolation": found.interpolation}
            named(place, looks, {name: (heads, values) for name, values in curves.items()})
            ends = {"construction": found.interpolation[-1]}
            if best[-1] > APART * found.interpolation[-1]:
                ends["best in class"] = best[-1]
            for role, end in ends.items():
                color = figures.ROLES[role]["color"]
                place.annotate(
                    f"$\\beta$ = {beta}", (heads[-1], end), (7, 0), color=color, **BESIDE
                )
        place.set(xscale="log", yscale="log", xlabel="number of heads $H$", title=TITLES[rpe])
        place.set_xlim(heads[0] / 1.1, heads[-1] * 1.45)
        ticks(place, heads)
    axes[0].set(ylabel="$\\ell_1$ error against $(-1)^t t^{-\\beta}$")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


DASHED = {"linestyle": "--", "marker": "D"}
BUMP_CURVES: dict[str, Look] = {
    "literal": ("control", "the proof, bumps from T = 1 on", {}),
    "repaired": ("construction", "the proof, bumps from T = 0 on", {}),
    "interpolation": ("construction", "interpolation, exponents $h$ log 2", DASHED),
    "best": ("best in class", "best coefficients, exponents $h$/2", {}),
}


def bumps(
    x: "np.ndarray", repaired: "np.ndarray", literal: "np.ndarray", curves: Curves
) -> "Figure":
    """The function of the proof on [0, 1], and errors over the number of exponentials."""
    figure, (left, right) = figures.panels(2, height=4.2)
    smooth = {"marker": "", "linewidth": 1.4}
    figures.draw(left, "construction", x, repaired, "", **smooth)
    figures.draw(left, "control", x, literal, "", **smooth, linestyle="--")
    left.set(xlabel="$x = e^{-\\alpha t}$", ylabel="$\\varphi(x)$, the sum of bumps")
    named(right, BUMP_CURVES, curves)
    right.set(yscale="log", xlabel="number $m$ of exponentials")
    right.set(ylabel="$\\ell_1$ error against $\\rho$")
    right.set_xscale("log", base=2)
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


ROUGH_CURVES: dict[str, Look] = {
    "bumps": ("construction", "the proof's construction", {}),
    "interpolation": ("construction", "interpolation, exponents 2$m$$h$", DASHED),
    "best": ("best in class", "best coefficients, exponents 1/2 + $h$", {}),
    "floor": ("floor", "the tail: nothing is below", {}),
}


def rough_and_smooth(rough: str, curves: Curves, smooth: Curves) -> "Figure":
    """Errors against one rough kernel, and of layers in float64 against smooth ones."""
    figure, (left, right) = figures.panels(2, height=4.2)
    named(left, ROUGH_CURVES, curves)
    for (name, (ms, errors)), marker in zip(smooth.items(), "ov", strict=True):
        label = f"a layer in float64, {formula(name)}"
        figures.draw(right, "construction", ms, errors, label, marker=marker)
    left.set(yscale="log", xlabel="number $m$ of powers")
    left.set(ylabel=f"$\\ell_1$ error against {formula(rough)}")
    left.set_xscale("log", base=2)
    right.set(yscale="log", xlabel="number of heads", ylabel="largest error of the layer")
    right.legend(loc="upper right")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def any_kernel(
    heads: Sequence[int],
    exponential: "Mapping[str, tuple[Values, Values]]",
    polynomial: "Mapping[str, tuple[Values, Values]]",
    geometric: "tuple[Sequence[int], Values]",
    capped: "tuple[Sequence[int], Values, float]",
) -> "Figure":
    """Errors of interpolation and their bounds, kernel by kernel."""
    figure, (left, right) = figures.panels(2, width=5.0, height=4.6)
    for axes, kernels in ((left, exponential), (right, polynomial)):
        markers = zip(kernels.items(), "osv^", strict=False)
        for (name, (errors, bounds)), marker in markers:
            look = {"marker": marker, "markersize": 4}
            figures.draw(axes, "construction", heads, errors, formula(name), **look)
            figures.draw(axes, "bound", heads, bounds, "", linewidth=0.9)
        axes.set(yscale="log", xlabel="number of heads $H$")
    figures.draw(right, "best in class", *geometric, "$t^{-2.5}$, geometric exponents")
    figures.draw(right, "control", *capped[:2], "weights of sum 10, $(-1)^t t^{-2.5}$")
    figures.draw(right, "floor", capped[0], [capped[2]] * len(capped[0]), "floor for these")
    right.set(xscale="log")
    ticks(right, heads)
    left.set(ylabel="$\\ell_1$ error, and its bound (dashed)")
    left.legend(loc="lower left")
    right.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
