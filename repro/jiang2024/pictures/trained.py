"""Figures 1 to 3: trained networks against the size of the head; Figure 4: losses."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from repro import figures
from repro.jiang2024.pictures import rate
from repro.numerics.plateau import Plateau

Seeds = Mapping[int, Sequence[float]]  # by m_h
OPEN = {"linestyle": "", "markerfacecolor": "none"}
AFTER = {"marker": "v", "linestyle": "--", "color": "#CC79A7"}
LOOKS = {
    "construction": ("construction", "construction", {}),
    "best": ("floor", "best coupling of rank $m_h$ found, $F = f = $ id", {"linewidth": 2.4}),
    "from construction": ("trained", "construction, trained on", AFTER),
    "seed 0": ("trained", "trained from random", {}),
    "seed 1": ("trained", "", OPEN),
    "seed 2": ("trained", "", OPEN),
}
TWINS: Any = {"trained": ("trained", "low", -0.45), "untrained": ("control", "high", 0.0)}


def beside_references(
    panels: Mapping[str, tuple[Seeds, Mapping[str, Mapping[int, float]]]],
    error: str,
    nothing: float,
) -> "figures.Figure":
    """Figure 1, a panel for each rank: from both starts, the construction, the best coupling.

    Errors below `nothing`, which is round-off here, are drawn there.
    """
    shown = {}
    for title, (random, references) in panels.items():
        curves = dict(references)
        for k in range(3):
            curves[f"seed {k}"] = {m: e[k] for m, e in random.items() if k < len(e)}
        shown[title] = {
            name: {m: max(value, nothing) for m, value in curve.items()}
            for name, curve in curves.items()
        }
    figure = rate.named(LOOKS, shown, x=rate.HEAD, y=error, columns=2, size=(4.0, 4.4))
    top = max(axes.get_ylim()[1] for axes in figure.axes)
    for axes in figure.axes:
        axes.set_ylim(nothing / 2, top)
    return figure


def as_printed(panels: Mapping[str, tuple[float, Mapping[str, Seeds]]]) -> "figures.Figure":
    """Figure 1: a panel for each alpha, a curve for each rank, and m^-(2 alpha - 1)."""
    colours, shown = ("#0072B2", "#009E73", "#E69F00"), {}
    for title, (exponent, ranks) in panels.items():
        firsts = {label: {m: e[0] for m, e in seeds.items()} for label, seeds in ranks.items()}
        shown[title] = [
            figures.Curve("trained", list(curve), list(curve.values()), label, {"color": colour})
            for (label, curve), colour in zip(firsts.items(), colours, strict=True)
        ]
        ms, top = (1, 2, 3, 6, 8, 16), max(max(curve.values()) for curve in firsts.values())
        line = [top * m**-exponent for m in ms]
        shown[title].append(figures.Curve("floor", ms, line, "$m_h^{-(2\\alpha - 1)}$"))
    y = "mean square error, trained from random"
    return figures.curves(shown, x=rate.HEAD, y=y, log="xy", ticks=True, columns=4)


def losses(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], guess: float
) -> "figures.Figure":
    """Of several trainings (steps, values), and the error of a guess that all of them can make."""
    drawn = [
        figures.Curve("trained", *curve, name, {"marker": "", "linewidth": 1, "color": f"C{k}"})
        for k, (name, curve) in enumerate(curves.items())
    ]
    last = next(iter(curves.values()))[0][-1]
    drawn.append(figures.Curve("floor", [0, last], [guess] * 2, "best guess from u(t)"))
    return figures.curves({"": drawn}, x="step", y="mean square error of a batch", size=(7.2, 4.0))


def violins(values: Mapping[str, Any], head: str) -> "figures.Figure":
    """Figure 2: left halves are of the trained network, right halves of its twin.

    A violin: values (inputs, k), divided by tau, of the head that `head` names, with a bar at their
    mean, the estimate of the paper.
    """
    figure, (axes,) = figures.panels(1, width=7.2, height=4.4)
    for name, (role, half, start) in TWINS.items():
        found, colour = np.asarray(values[name]), figures.ROLES[role]["color"]
        ks = np.arange(1, found.shape[1] + 1)
        drawn = axes.violinplot(np.log10(found), ks, widths=0.9, showextrema=False, side=half)
        for body in drawn["bodies"]:  # type: ignore[union-attr]
            body.set(facecolor=colour, edgecolor=colour, alpha=0.55, linewidth=0.5)
        look = {"color": colour, "linewidth": 1.4, "label": name}
        axes.hlines(np.log10(found.mean(0)), ks + start, ks + start + 0.45, **look)
    axes.yaxis.set_major_formatter(lambda height, _: f"$10^{{{height:g}}}$")
    axes.set(title=head, xlabel="index $k$ of the singular value", ylabel="$\\sigma_k / \\tau$")
    figures.legend_below(figure, axes, 2)
    return figure


def errors(
    trained: Seeds, fit: Plateau, printed: Mapping[str, float], fixed: Seeds, cut: Seeds
) -> "figures.Figure":
    """Figure 3 (b): errors of heads of a size, with values of their own or not, and of cut ones."""
    sizes: Any = np.array(list(trained), float)
    law = f"printed, ViT-B/16: $m_h^{{-{printed['b']}}} + {printed['c']}$"
    fitted = f"${fit.a:.2f}\\, m_h^{{-{fit.b:.2f}}} + {fit.c:.2f}$"
    drawn = [
        figures.Curve("bound", sizes, fit(sizes), fitted),
        figures.Curve("floor", sizes, sizes ** -printed["b"] + printed["c"], law),
    ]
    for role, found, label, look in (
        ("trained", trained, "trained, $d_v = m_h$", {"linestyle": ""}),
        ("trained", fixed, "trained, values of one size", {**OPEN, "marker": "v"}),
        ("construction", cut, "largest heads, cut to $m_h$ terms", {"linestyle": ""}),
    ):
        places, every = zip(*((m, e) for m, seeds in found.items() for e in seeds), strict=True)
        drawn.append(figures.Curve(role, places, every, label, look))
    y, size = "training error (cross-entropy)", (6.4, 4.2)
    return figures.curves({"": drawn}, x="$m_h$", y=y, log="x", ticks=True, size=size)


def spectra(averaged: Mapping[int, Sequence[float]]) -> "figures.Figure":
    """Figure 3 (a): averaged singular values for each m_h."""
    drawn, shades = [], np.linspace(0.82, 0.0, len(averaged))
    for shade, (m, values) in zip(shades, averaged.items(), strict=True):
        look, ks = {"color": str(shade), "markersize": 3}, range(1, len(values[:m]) + 1)
        drawn.append(figures.Curve("trained", ks, values[:m], f"$m_h = {m}$", look))
    y = "$\\sigma_k$, mean over inputs (sum of squares 1)"
    figure = figures.curves({"": drawn}, x="$k$", y=y, log="xy", size=(6.4, 4.2), columns=4)
    figure.axes[0].set_ylim(1e-4, 1.5)
    return figure
