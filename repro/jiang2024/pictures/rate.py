"""Theorem 4.1: which exponent is right, what is possible at all, and what networks cost."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[float] | Mapping[int, float]]
Looks = Mapping[str, tuple[str, str, dict[str, Any]]]
HEAD = "size of the head $m_h$"
ALPHA = "$\\sigma_i = i^{{-{}}}$"
POINTS = {"linestyle": "", "markersize": 6}
FLOOR = "every coupling of rank $m_h$, at least"
EXPONENTS = {
    "sin, plain": ("control", "truncation of the proof, logits", {"marker": ""}),
    "sin, ridge": ("construction", "ridge correction, logits", {"marker": ""}),
    "plain": ("control", "truncation, outputs measured", POINTS),
    "ridge": ("construction", "ridge correction, outputs measured", POINTS),
    "bound": ("bound", "proved bound, ridge correction", {}),
    "sin, floor": ("floor", FLOOR, {}),
}
OVER_FLOOR = {
    "trace": ("control", "trace kept", {"marker": "+", "linestyle": ":"}),
    "plain": ("control", "plain truncation", {}),
    "ridge": ("construction", "ridge correction", {}),
    "best": ("best in class", "best found by least squares", {}),
    "most": ("bound", "proved for the ridge: $1/(2\\tau-2)$", {}),
}
ENCODED = {
    "bound": ("bound", "proved bound", {}),
    "plain": ("control", "truncated after $r$ terms", {}),
    "mended": ("construction", "diagonal mended, $m_h = r + \\tau$", {}),
    "floor": ("floor", FLOOR, {}),
}
PAIR = {
    "bound": ("bound", "truncation after $m_h$ terms, at most", {}),
    "truncation": ("construction", "truncation, measured", POINTS),
    "floor": ("floor", FLOOR, {}),
    "printed": ("control", "(17) as printed promises", {"marker": ""}),
}


def named(
    looks: Looks,
    panels: Mapping[str, Curves],
    places: Sequence[int] = (),
    title: str = "{}",
    **axes: Any,
) -> "Figure":
    """The curves of every panel that `looks` names, over `places` or over places of their own."""

    def curve(name: str, values: Any) -> figures.Curve:
        role, label, look = looks[name]
        own = isinstance(values, Mapping)
        x, y = (list(values), list(values.values())) if own else (places, values)
        return figures.Curve(role, x, y, label, look)

    drawn = {
        title.format(panel): [curve(name, curves[name]) for name in looks if name in curves]
        for panel, curves in panels.items()
    }
    return figures.curves(drawn, **{"log": "xy", "ticks": True, "columns": 3, **axes})


def exponents(panels: Mapping[str, Curves], ticks: Sequence[int]) -> "Figure":
    """Mean squares times m^(2 alpha - 1): level where the exponent is 2 alpha - 1."""
    y = "mean square error × $m_h^{2\\alpha-1}$"
    figure = named(EXPONENTS, panels, title=ALPHA, x=HEAD, y=y, ticks=False, size=(4.0, 5.0))
    for axes in figure.axes:
        axes.set_xticks(ticks, list(map(str, ticks)))
    return figure


def pair(ms: Sequence[int], panels: Mapping[str, Curves]) -> "Figure":
    """Two encoded tokens, alpha = 3: (17) dives below what any coupling can do."""
    return named(PAIR, panels, ms, x=HEAD, y="mean error of $H_1$", columns=2, size=(5.0, 4.8))


def over_floor(ms: Sequence[int], panels: Mapping[str, Curves], most: float) -> "Figure":
    """By how much the cost of a row of logits exceeds the least possible, relatively."""
    shown = {
        title: {
            name: [value - 1 for value in curve]
            for name, curve in {**curves, "most": [most] * len(ms)}.items()
        }
        for title, curves in panels.items()
    }
    figure = named(OVER_FLOOR, shown, ms, ALPHA, x="rank $m$", y="cost over floor, less 1")
    for axes in figure.axes:
        axes.set_ylim(2e-3, 12)
    return figure


def encoded(sizes: Sequence[int], panels: Mapping[str, Curves], x: str, y: str) -> "Figure":
    """Encoded tokens: with the diagonal mended, and what it is compared with."""
    return named(ENCODED, panels, sizes, ALPHA, x=x, y=y, size=(4.0, 4.4))


def neurons(
    curves: Mapping[int, tuple[Sequence[int], Curves]],
    valley: tuple[int, Sequence[int], Curves],
) -> "Figure":
    """Networks of m_FF neurons: against m_FF for some m_h, and against m_h for one m_FF."""
    figure, (left, middle, right) = figures.panels(3, width=3.9, height=4.6)
    for (m, (budgets, sides)), marker in zip(curves.items(), "oDs^", strict=True):
        for axes, error, bound in ((left, "error", "repaired"), (middle, "moved", "most")):
            look = {"marker": marker, "linewidth": 1.2, "markersize": 4}
            figures.draw(axes, "construction", budgets, sides[error], f"$m_h = {m}$", **look)
            figures.draw(axes, "bound", budgets, sides[bound], "", **look)
    m_FF, ms, sides = valley
    figures.draw(right, "control", ms, sides["printed"], "right side of (17) as printed")
    figures.draw(right, "bound", ms, sides["repaired"], "proved bound; left, same mark")
    figures.draw(right, "construction", ms, sides["error"], "error of the network")
    for axes in (left, middle):
        figures.decades(axes, "xy", xlabel="neurons $m_{FF}$")
    left.set(title="error, all in all", ylabel="$L^1$ error, summed over $t$")
    middle.set(title="what the networks add to exact waves")
    figures.decades(right, "xy", xlabel=HEAD, title=f"$m_{{FF}} = {m_FF}$ neurons to share out")
    right.set_xticks(ms, list(map(str, ms)))
    right.legend(loc="upper center")
    right.set_ylim(top=30 * max(sides["printed"]))
    figures.legend_below(figure, left, 4)
    return figure


def spectrum(
    taus: Sequence[int],
    errors: Sequence[float],
    bounds: Sequence[float],
    sigma: Sequence[float],
    seen: Mapping[int, Sequence[float]],
) -> "Figure":
    """Singular values of sampled score matrices, divided by tau, against those of the kernel."""
    figure, (left, right) = figures.panels(2, width=4.8, height=4.0)
    ks = range(1, len(sigma) + 1)
    figures.draw(left, "bound", ks, sigma, "of the kernel", marker="s", linestyle="-")
    for (tau, values), marker in zip(seen.items(), "^o", strict=True):
        label, look = f"of a sample, τ = {tau}", {"marker": marker, "linestyle": ":"}
        figures.draw(left, "construction", ks, values, label, **look)
    figures.decades(left, "y", xlabel="k", ylabel="singular value / τ", xticks=ks)
    figures.draw(right, "bound", taus, bounds, "bound from the samples' Gram matrices")
    figures.draw(right, "construction", taus, errors, "largest relative error, mean")
    figures.decades(right, "xy", xlabel="length τ", ylabel="relative error")
    right.set_xticks(taus, list(map(str, taus)))
    for axes in (left, right):
        axes.legend(loc="best")
    return figure
