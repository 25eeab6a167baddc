"""Theorem 4.1, Table 2, Section D.1: exponents, floors, and what networks cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from repro import figures

Curves = Mapping[str, Sequence[float] | Mapping[int, float]]
Looks = Mapping[str, tuple[str, str, dict[str, Any]]]  # role, label, what differs from the role
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
    "printed": ("control", "(52) promises", {"marker": ""}),
}
NEURONS = {
    "printed": ("control", "right side of (17) as printed", {}),
    "repaired": ("bound", "proved bound; left, same mark", {}),
    "error": ("construction", "error of the network", {}),
}
ORDERS = {
    "exchange": ("best in class", "first k and last k exchanged", {}),
    "to the end": ("construction", "first k put last", {}),
    "to the front": ("control", "last k put first", {}),
    "printed": ("bound", "Table 2, RNN", {}),
}
RATES = {
    "printed": ("bound", "printed rate $C_{RNN}/m$", {}),
    "repaired": ("bound", "$(1 + C_1) C_2 e^{-m/C_1}$, proved", {"linestyle": "-."}),
    "register": ("construction", "register of m units", {}),
    "found": ("construction", "Ho and Kalman's m units", {"marker": "D", "linestyle": ":"}),
    "floor": ("best in class", "Hankel floor, certified", {}),
}


def chosen(looks: Looks, curves: Curves, places: Sequence[int] = ()) -> list[figures.Curve]:
    """The curves that `looks` names, over `places` or over places of their own."""
    found = []
    for name in (name for name in looks if name in curves):
        (role, label, look), y = looks[name], curves[name]
        x, y = (list(y), list(y.values())) if isinstance(y, Mapping) else (places, y)
        found.append(figures.Curve(role, x, y, label, look))
    return found


def named(
    looks: Looks,
    panels: Mapping[str, Curves],
    places: Sequence[int] = (),
    title: str = "{}",
    **axes: Any,
) -> "figures.Figure":
    """A panel of the curves that `looks` names, for each title."""
    drawn = {title.format(panel): chosen(looks, curves, places) for panel, curves in panels.items()}
    return figures.curves(drawn, **{"log": "xy", "ticks": True, "columns": 3, **axes})


def exponents(panels: Mapping[str, Curves]) -> "figures.Figure":
    """Mean squares times m^(2 alpha - 1): level where the exponent is 2 alpha - 1."""
    y = "mean square error × $m_h^{2\\alpha-1}$"
    return named(EXPONENTS, panels, title=ALPHA, x=HEAD, y=y, ticks=False, size=(4.0, 5.0))


def pair(ms: Sequence[int], panels: Mapping[str, Curves]) -> "figures.Figure":
    """Two encoded tokens, alpha = 3: (17) dives below what any coupling can do."""
    return named(PAIR, panels, ms, x=HEAD, y="mean error of $H_1$", columns=2, size=(5.0, 4.8))


def over_floor(
    ms: Sequence[int], panels: Mapping[str, Mapping[str, Sequence[float]]], most: float
) -> "figures.Figure":
    """By how much the cost of a row of logits exceeds the least possible, relatively."""
    shown = {}
    for title, curves in panels.items():
        every = {**curves, "most": [most] * len(ms)}
        shown[title] = {name: [value - 1 for value in curve] for name, curve in every.items()}
    figure = named(OVER_FLOOR, shown, ms, ALPHA, x="rank $m$", y="cost over floor, less 1")
    for axes in figure.axes:
        axes.set_ylim(2e-3, 12)
    return figure


def encoded(sizes: Sequence[int], panels: Mapping[str, Curves], x: str, y: str) -> "figures.Figure":
    """Encoded tokens: with the diagonal mended, and what it is compared with."""
    return named(ENCODED, panels, sizes, ALPHA, x=x, y=y, size=(4.0, 4.4))


def neurons(
    curves: Mapping[int, tuple[Sequence[int], Mapping[str, Sequence[float]]]],
    valley: tuple[int, Sequence[int], Curves],
) -> "figures.Figure":
    """Networks of m_FF neurons: against m_FF for some m_h, and against m_h for one m_FF."""
    drawn, (m_FF, ms, sides) = [], valley
    for (m, (budgets, errors)), marker in zip(curves.items(), "oDs^", strict=True):
        for role, side, label in (
            ("construction", "error", f"$m_h = {m}$"),
            ("bound", "repaired", ""),
        ):
            drawn.append(figures.Curve(role, budgets, errors[side], label, {"marker": marker}))
    panels = {"": drawn, f"$m_{{FF}} = {m_FF}$ neurons to share out": chosen(NEURONS, sides, ms)}
    x, y = "neurons $m_{FF}$", "$L^1$ error, summed over $t$"
    figure = figures.curves(panels, x=x, y=y, log="xy", size=(4.6, 4.6), columns=4)
    figure.axes[1].set_xlabel(HEAD)
    figure.axes[1].legend(loc="upper center")
    figure.axes[1].set_ylim(top=30 * max(sides["printed"]))
    return figure


def orderings(
    floors: Mapping[str, Sequence[tuple[int, float]]], printed: float
) -> "figures.Figure":
    """The least error of an RNN for many orders, and the printed one."""
    shown = {name: dict(curve) for name, curve in floors.items()}
    shown["printed"] = dict.fromkeys(shown["exchange"], printed)
    y, size = "least mean square error", (6.4, 4.2)
    return named(ORDERS, {"": shown}, x="k", y=y, log="", ticks=False, columns=2, size=size)


def rates(panels: Mapping[str, Mapping[str, Mapping[int, float]]]) -> "figures.Figure":
    """l1 error of a kernel against the number of units, one panel for each kernel."""
    shown = {
        title: {name: {m: e for m, e in curve.items() if e > 0} for name, curve in curves.items()}
        for title, curves in panels.items()
    }
    y = "l1 error of the kernel"
    return named(RATES, shown, x="units m", y=y, ticks=False, columns=5, size=(3.5, 4.2))
