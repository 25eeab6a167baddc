"""Theorem 5.1 and what is around it: maps of attention, heads, widths and the rounding."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve, decades
from repro.wang2024 import circle

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

TITLES = {
    "one head": "one head, $e^{\\mathrm{logit}}$ over the row's maximum",
    "all heads": "all heads, $\\sum_h \\alpha_h e^{\\mathrm{logit}}$",
    "RPE alone": "RPE alone: it does not move",
    "dot product alone": "one head, dot product alone: no distance",
}
BY_ROW = "one head", "dot product alone"  # of which each row is shown over its maximum


def attention_maps(
    maps: "Mapping[str, np.ndarray]", tokens: Sequence[float], wanted: Sequence[tuple[int, int]]
) -> "Figure":
    """For one head, all heads, and both halves of the logit; a query without keys stays 0."""
    shown = {}
    for part, table in maps.items():
        largest = table.max(1, keepdims=True) if part in BY_ROW else 1
        shown[TITLES[part]] = table / (largest + (largest == 0))
    labels = [f"{token:+.0f}" if token else "0" for token in tokens]
    told = "key: token $x_{t-s}$", "query: token $x_t$, asks for $x_t + 2$ back (circle)"
    return maps_of_weights(shown, labels, [wanted] * len(maps), told)


def maps_of_weights(
    maps: "Mapping[str, np.ndarray]",
    labels: Sequence[str],
    wanted: Sequence[Sequence[tuple[int, int]]],
    told: tuple[str, str],
) -> "Figure":
    """Query against key; of each map the (query, key) that a token asks for are circled."""
    figure, panels = figures.panels(len(maps), width=3.7, height=4.3)
    images, places = [], range(len(labels))
    for axes, (title, table), circled in zip(panels, maps.items(), wanted, strict=True):
        images.append(axes.imshow(table, cmap="RdBu", vmin=-1, vmax=1))
        look = {"s": 90, "facecolors": "none", "edgecolors": "#D55E00", "linewidths": 1.5}
        axes.scatter([key for _, key in circled], [query for query, _ in circled], **look)
        axes.set(title=title, xlabel=told[0])
        axes.set_xticks(places, labels, fontsize=7)
        axes.set_yticks(places, labels if axes is panels[0] else [], fontsize=7)
        axes.grid(visible=False)
    panels[0].set(ylabel=told[1])
    figure.colorbar(images[-1], ax=panels, shrink=0.7, pad=0.01, label="weight (clipped)")
    return figure


def rounding(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], asked: float, needed: float
) -> "Figure":
    """Largest error of the output against an error of the network for g or log g."""
    points = {"linestyle": "", "markersize": 4}
    drawn = [
        Curve("construction", *curves["lin"], "lin: $g$ off by $d$", points),
        Curve(
            "construction", *curves["log"], "log: $\\log g$ off by $d$", points | {"marker": "x"}
        ),
    ]
    y = "largest error of the output"
    figure = figures.curves({"": drawn}, x="$d$", y=y, size=(7.2, 3.6))
    places = {
        "asked for: $1/(4T)$": asked,
        "needed: $\\log(1 + 1/(2T))$": needed,
        "needed: 1/2": 0.5,
    }
    for label, place in places.items():
        figure.axes[0].axvline(place, **figures.ROLES["bound"] | {"linewidth": 0.9})
        beside = {"textcoords": "offset points", "ha": "right", "fontsize": 8, "rotation": 90}
        figure.axes[0].annotate(label, (place, 0.02), (-3, 0), **beside)
    return figure


LINE, CLOUD = {"linewidth": 6, "alpha": 0.4, "marker": ""}, {"linestyle": ""}
LOOKS: dict[str, tuple[str, str, Mapping[str, Any]]] = {
    "best": ("best in class", "the fetched token: no weights do better", LINE),
    "bound": ("bound", "proved bound, two pointers", {}),
    "two pointers": ("construction", "two pointers, majority", {"marker": "D"}),
    "follow": ("construction", "the fetched token", {}),
    "compass": ("construction", "tokens in the plane", {"marker": "v", "linestyle": ":"}),
    "trained, random": ("trained", "trained from a random start", CLOUD),
    "trained, construction": (
        "trained",
        "trained from the disturbed construction",
        {"marker": "*", "markersize": 9, **CLOUD},
    ),
}


def heads(
    panels: Mapping[str, Mapping[str, tuple[Sequence[int], Sequence[float]]]],
    looks: Mapping[str, tuple[str, str, Mapping[str, Any]]] = LOOKS,
) -> "Figure":
    """Largest error against heads for each memory, lin and log."""
    drawn = {
        f"{rpe}-RPE": [
            Curve(role, *of[name], label, look) for name, (role, label, look) in looks.items()
        ]
        for rpe, of in panels.items()
    }
    x, y = "heads for each memory", "largest error found"
    return figures.curves(drawn, x=x, y=y, ticks=True, size=(4.6, 4.3), columns=3)


def widths(found: "Mapping[tuple[str, int], circle.Half]") -> "Figure":
    """Share of right networks against the width over its law, lin and log."""
    figure, panels = figures.panels(2, width=4.8, height=4)
    laws = {"lin": "$m / S^2$", "log": "$m / (S^2 T^2)$"}
    for axes, (rpe, law) in zip(panels, laws.items(), strict=True):
        Ts = [T for kind, T in found if kind == rpe]
        for T, marker in zip(Ts, "os^", strict=True):
            S, (ms, right) = found[rpe, T].S, found[rpe, T].curve
            x, label = [m / circle.law(rpe, S, T) for m in ms], f"$T$ = {T}, $S$ = {S:.1f}"
            figures.draw(axes, "construction", x, right, label, marker=marker, markersize=4)
        rate = circle.HOEFFDING[rpe]
        x = [rate * math.log(16) * 2 ** (k / 20) for k in range(1, 60)]
        figures.draw(axes, "bound", x, [1 - 16 * math.exp(-u / rate) for u in x], "proved")
        decades(axes, "x", xlabel=law, title=f"{rpe}-RPE", ylim=(-0.03, 1.03))
        axes.set(xlim=(1e-3 if rpe == "log" else 1e-2, 1e3))
        axes.legend(loc="upper left")
    panels[0].set(ylabel="share of drawn networks, right at all tokens")
    return figure
