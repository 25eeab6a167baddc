"""Lemmas E.1 to E.6, F.5, F.6 and the findings on them; Table 1 and Proposition B.1."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve
from repro.wang2024.pictures.curves import STAR, Look, Some, named, points, side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# --- Lemmas E.1, E.4, and the findings on them ----------------------------------------------------

LEAST = ("best in class", "best coefficients, certified", {})
SINGLED: dict[str, Look] = {
    "bumps": ("construction", "polynomial of the proof", {}),
    "interpolation": ("construction", "interpolation, exact", {}),
    "best": LEAST,
    "bound": ("bound", "bound, corrected", {}),
    "printed": ("control", "bound, as printed (false)", {"marker": ""}),
    "trained": ("trained", "trained from random", {}),
    "layers": ("control", "float64 layer, worst signs", {"linestyle": "", "markersize": 7}),
    "eps A": ("floor", "its floor eps A", {}),
}


def singled_out(proof: Mapping[str, Some], wider: Mapping[str, Some]) -> "Figure":
    """Lemma E.1: error against heads, with the exponents of the proof, and with wider ones."""
    axes, title = {"xlabel": "heads m", "ylabel": "l1 error"}, "exponents k log(5/3), T = 3"
    left = {"log": "xy", "ylim": (1e-4, 1e6), "title": "exponents 0.01 k, T = 1"}
    right = {"ylim": (1e-14, 30), "title": title}
    return side_by_side((named(SINGLED, proof), axes | left), (named(SINGLED, wider), axes | right))


def collapse(
    best: Mapping[int, Some], T: int, built: Mapping[str, Some], layers: Some, floors: Some
) -> "Figure":
    """Error against heads: the best coefficients for several instants, constructions for one."""
    several = [
        points("best in class", errors, f"T = {instant}", marker=marker)
        for (instant, errors), marker in zip(best.items(), "os^vD", strict=False)
    ]
    shown = {m: error for m, error in best[T].items() if m >= T}
    of_T = [
        points("best in class", shown, "t⁻²⁻ᵏ, best"),
        *(
            points("construction", errors, label, marker=marker)
            for (label, errors), marker in zip(built.items(), "ov", strict=True)
        ),
        points("trained", layers, "float64 layer, t⁻⁶ᵏ or t⁻³ᵏ", **STAR),
        points("floor", floors, "its floor eps A"),
    ]
    axes = {"xlabel": "heads m", "ylabel": "ℓ₁ error over all integers"}
    title = {"title": "best coefficients for t⁻², t⁻³, ..., certified"}
    left = axes | title | {"log": "xy", "ticks": [1, 2, 5, 10, 20], "ylim": (1e-10, 3)}
    return side_by_side((several, left), (of_T, axes | {"ylim": (1e-18, 20), "title": f"T = {T}"}))


def heads_equal_T(
    Ts: Sequence[int], errors: Mapping[int, Sequence[float]], bounds: Mapping[int, float]
) -> "Figure":
    """The error of T + j heads against T, with a bound for each j."""
    first, last = min(errors), max(errors)
    label = {first: f"exact errors, j = {first}, ..., {last} downwards"}
    bound = {first: "bounds"}
    drawn = []
    for j, values in errors.items():
        drawn.append(Curve("construction", Ts, values, label.get(j, ""), {"marker": ""}))
        drawn.append(Curve("bound", Ts, [bounds[j]] * len(Ts), bound.get(j, "")))
    y = "l1 error of T + j heads, q = 1/2"
    return figures.curves({"": drawn}, x="T", y=y, size=(5.6, 4))


def heads_needed(
    Ts: Sequence[int], proofs: Mapping[str, Sequence[int]], literal: Mapping[str, Some]
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


def weights(
    bounds: Some, needed: Some, built: Some, capped: Mapping[int, Some], forced: Mapping[int, Some]
) -> "Figure":
    """The weights that an error of 1/2 costs, and the error under a cap on the weights."""
    sums = (
        points("bound", bounds, "proved, any heads"),
        points("best in class", needed, "best coefficients, error ≤ 1/2"),
        points("construction", built, "interpolation with T + 3 heads", markersize=3),
        points("floor", dict.fromkeys(built, 2.0**53), "1 / eps in float64"),
    )
    caps = [points("bound", some, "") for some in forced.values()]
    for (T, values), marker in zip(capped.items(), "os^", strict=True):
        caps.append(points("best in class", values, f"least error, T = {T}", marker=marker))
    x, y = "bound on the sum of |weights|", "l1 error, any heads"
    ticks = range(0, max(built) + 1, 5)
    return side_by_side(
        (sums, {"xlabel": "T", "ylabel": "sum of |weights|", "xticks": ticks}),
        (caps, {"xlabel": x, "ylabel": y, "log": "x", "ylim": (0, 1.05)}),
    )


# --- Kernels: Lemmas E.3 and E.6 ----------------------------------------------------

DASHED = {"linestyle": "--", "marker": "D"}
TAIL = ("floor", "the tail: nothing is below", {})
ALTERNATING: dict[str, Look] = {
    "best": ("best in class", "best coefficients, fixed exponents", {}),
    "floor": TAIL,
    "interpolation": ("construction", "interpolation at $1, …, H$", {"linestyle": ""}),
}
BUMPS: dict[str, Look] = {
    "literal": ("control", "the proof, bumps from T = 1 on", {}),
    "repaired": ("construction", "the proof, bumps from T = 0 on", {}),
    "interpolation": ("construction", "interpolation, exponents $h$ log 2", DASHED),
    "best": ("best in class", "best coefficients, exponents $h$/2", {}),
}
ROUGH: dict[str, Look] = {
    "bumps": ("construction", "the proof's construction", {}),
    "interpolation": ("construction", "interpolation, exponents 2$m$$h$", DASHED),
    "best": ("best in class", "best coefficients, exponents 1/2 + $h$", {}),
    "floor": TAIL,
}


def formula(name: str) -> str:
    """The name of a kernel, t^-2.5 cos(log t), for matplotlib."""
    words = name.replace("cos", r"\cos").replace("log", r"\log").replace("+-", r"\pm ")
    return "$" + re.sub(r"\^(-?[0-9.]*t?)", r"^{\1}", words) + "$"


def alternating(panels: Mapping[str, Mapping[str, Mapping[str, Some]]]) -> "Figure":
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


def bumps(x: Any, repaired: Any, literal: Any, curves: Mapping[str, Some]) -> "Figure":
    """The function of the proof on [0, 1], and errors over the number of exponentials."""
    smooth = {"marker": "", "linewidth": 1.4}
    drawn = (
        Curve("construction", x, repaired, "", smooth),
        Curve("control", x, literal, "", {**smooth, "linestyle": "--"}),
    )
    phi = {"xlabel": "$x = e^{-\\alpha t}$", "ylabel": "$\\varphi(x)$, the sum of bumps", "log": ""}
    m = {"log": "xy", "ticks": [8, 32, 128, 512], "xlabel": "number $m$ of exponentials"}
    m["ylabel"] = "$\\ell_1$ error against $\\rho$"
    return side_by_side((drawn, phi), (named(BUMPS, curves), m), below=2)


def rough(kernel: str, curves: Mapping[str, Some]) -> "Figure":
    """Errors of powers against one rough kernel."""
    x, y = "number $m$ of powers", f"$\\ell_1$ error against {formula(kernel)}"
    return figures.curves({"": named(ROUGH, curves)}, x=x, y=y, log="xy", size=(5.6, 4.2))


def any_kernel(
    heads: Sequence[int], panels: Mapping[str, Mapping[str, tuple[Sequence[float], ...]]]
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


# --- Lemmas F.5 and F.6 ---------------------------------------------------------------------------

NORM: dict[str, Look] = {
    "bound": ("bound", "proved bound, like 1/√m", {}),
    "control": ("control", "control: half of the sphere", {}),
    "drawn": ("construction", "drawn neurons (mean)", {}),
    "spread": ("construction", "well-spread neurons", {"marker": "D", "linestyle": "--"}),
    "best": ("best in class", "best in its class (see title)", {}),
    "trained": ("trained", "trained", {}),
}
RATIOS: dict[str, Look] = {
    "lemma": ("floor", "the lemma: at most 1", {"color": "#D55E00"}),
    "repaired": ("bound", "repaired: 1.12ⁿ", {}),
    "upper": ("best in class", "largest ratio, upper bound", {"marker": ""}),
    "lower": ("best in class", "largest ratio, lower bound", {"marker": "", "linestyle": "-."}),
}


def rates(plane: Mapping[str, Some], space: Mapping[str, Some]) -> "Figure":
    """Largest error on the cube against the number of neurons, in R^2 and in R^3."""
    titles = "plane (best: without biases)", "space (best: weights for spread directions)"
    drawn = []
    for some, title in zip((plane, space), titles, strict=True):
        ticks = [4**k for k in range(2, 7) if 4**k <= max(some["drawn"][0])]
        y = {"ylabel": "largest error against |y|₂ on [−1, 1]ᵈ"} if some is plane else {}
        axes = {"log": "xy", "ticks": ticks, "xlabel": "neurons m", "title": title}
        drawn.append((named(NORM, some), axes | y))
    return side_by_side(*drawn, height=4.6, below=3)


def jackson(orders: Sequence[int], bounds: Mapping[str, Sequence[float]]) -> "Figure":
    """Bounds of the largest ratio m^n E / M(n) against n."""
    ratios = {"lemma": [1] * len(orders), **bounds}
    drawn = named(RATIOS, {name: (orders, some) for name, some in ratios.items()})
    y = "mⁿE / M(n), largest over f, m ≤ n"
    return figures.curves({"": drawn}, x="order n", y=y, legend="upper left", size=(5.6, 4))


# --- Table 1 and Proposition B.1 ------------------------------------------------------------------


def staircases(stairs: Mapping[int, Sequence[int]], printed: Sequence[int]) -> "Figure":
    """-r(n) for the least and largest D that fit the table, and for the next that do not."""
    low, first, *_, last, high = stairs
    looks = {low: ("control", ":"), first: ("construction", "-")}
    looks |= {last: ("construction", "--"), high: ("control", "-.")}
    steps = {"marker": "", "drawstyle": "steps-post"}
    drawn = [
        Curve(role, range(96), stairs[D][:96], f"D = {D}", {"linestyle": line, **steps})
        for D, (role, line) in looks.items()
    ]
    dots = {"linestyle": "", "marker": ".", "color": "black"}
    drawn.append(Curve("floor", range(len(printed)), printed, "Table 1, 31 entries", dots))
    y, size = "−r(n), B = 8", (7.2, 3.8)
    return figures.curves({"": drawn}, x="distance n", y=y, log="", size=size, columns=5)


def sawtooth(
    z: Sequence[float], fine: Sequence[float], bound: Sequence[float], plain: Sequence[float]
) -> "Figure":
    """How far log[exp(z)] and [z] move z, and Proposition B.1's bounds."""
    line = {"marker": "", "linewidth": 1.0}
    drawn = (
        Curve("construction", z, fine, "|log[exp z] − z|", line),
        Curve("bound", z, bound, "1 / (2 min{exp z, [exp z]})"),
        Curve("control", z, plain, "|[z] − z|, at most 1/2", line),
    )
    figure = figures.curves({"": drawn}, x="z", y="how far rounding moves z", size=(7.4, 3.8))
    figure.axes[0].set_ylim(1e-3, 1.5)
    return figure
