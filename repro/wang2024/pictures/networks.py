"""Sections 4 to 6: errors against heads and width, what attends to what, the walk of 5.4."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve
from repro.wang2024 import circle
from repro.wang2024.pictures.curves import STAR, Look, Some, named, points, side_by_side

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from repro.wang2024.width import Curves

# --- Theorems 4.1, 5.1, 5.4, 6.1: errors against heads, and against width -------------------------

HEADS: dict[str, Look] = {
    "less": ("control", "control: one layer less", {}),
    "bound": ("bound", "proved bound, without rounding", {}),
    "best": (
        "best in class",
        "no weights do better with these exponents",
        {"linewidth": 6, "alpha": 0.4, "marker": ""},
    ),
    "apart": ("construction", "heads apart, as printed", {"marker": "v", "linestyle": ":"}),
    "shared": ("construction", "heads shared by all memories", {}),
    "network": ("construction", "network, largest error found", {}),
    "two pointers": ("construction", "two pointers, majority", {"marker": "D"}),
    "follow": ("construction", "the fetched token", {}),
    "compass": ("construction", "tokens in the plane", {"marker": "v", "linestyle": ":"}),
    "trained": ("trained", "trained, heads shared", {}),
    "trained from construction": ("trained", "trained from the disturbed construction", STAR),
    "trained from random": ("trained", "trained from a random start", {"linestyle": ""}),
}


def heads(panels: Mapping[str, Mapping[str, Iterable[tuple[int, float]]]]) -> "Figure":
    """The largest error found against the number of heads, as (H, error), for each title."""
    drawn = {
        title: named(HEADS, {name: [*zip(*some, strict=True)] for name, some in found.items()})
        for title, found in panels.items()
    }
    x, y = "number of heads $H$", "largest error found"
    return figures.curves(drawn, x=x, y=y, ticks=True, size=(4.8, 4.4))


def width(found: "Curves", attention_error: float, target: str) -> "Figure":
    """Error of the layer against the width of its readout."""
    ms, label = found.widths, "neurons drawn at random (mean)"
    (drawn, of_drawn), (spread, of_spread) = found.means("drawn"), found.means("spread")
    curves = (
        Curve("construction", ms, drawn, label),
        Curve("construction", ms, spread, "neurons spread evenly", {"marker": "s"}),
        Curve("bound", ms, of_drawn, "proved bounds"),
        Curve("bound", ms, of_spread, ""),
        Curve("floor", ms, [attention_error] * len(ms), "attention error"),
    )
    x, y = "width $m$ of the readout", f"largest error found, {target}"
    return figures.curves({"": curves}, x=x, y=y, log="xy", ticks=True, size=(5.6, 4.4))


def remedies(
    Hs: Sequence[int],
    ms: Sequence[int],
    whole: "np.ndarray",  # (H, m)
    fetched: "np.ndarray",  # (H,): the exact f after the layer's attention
    read: "np.ndarray",  # (m,): the layer's network after exact memories
) -> "Figure":
    """Errors against heads for two widths, and against width for two numbers of heads."""
    around = {"linestyle": "--", "markersize": 9, "markerfacecolor": "none"}
    of_H = [Curve("best in class", Hs, fetched, "the readout replaced by $f$", around)]
    of_m = [Curve("best in class", ms, read, "the attention replaced by memories", around)]
    for end, look in (0, {"marker": "v", "linestyle": ":"}), (-1, {"marker": "o"}):
        of_H.append(Curve("construction", Hs, whole[:, end], f"the layer, $m$ = {ms[end]}", look))
        of_m.append(Curve("construction", ms, whole[end], f"the layer, $H$ = {Hs[end]}", look))
    same = {"ylim": (min(fetched) / 3, 3)}
    return side_by_side(
        (of_H, {"ticks": Hs, "xlabel": "heads $H$", "ylabel": "largest error"} | same),
        (of_m, {"ticks": ms, "xlabel": "width $m$", "log": "xy"} | same),
    )


def roles(tables: Mapping[str, Mapping[tuple[int, int], float]]) -> "Figure":
    """Errors by (L, H), and by (m, H), against H; each table has a title."""
    drawn: dict[str, list[Curve]] = {}
    for title, errors in tables.items():
        Hs, first = sorted({H for _, H in errors}), sorted({one for one, _ in errors})
        drawn[title] = [
            Curve("construction", Hs, [errors[one, H] for H in Hs], str(one), {"marker": marker})
            for one, marker in zip(first, "os^D", strict=False)
        ]
    figure = figures.curves(drawn, x="heads H for each memory", y="largest error", ticks=True)
    figure.legends.clear()
    for axes, title in zip(figure.axes, tables, strict=True):
        axes.legend(title=title.split()[0])
    return figure


def widths(found: Mapping[tuple[str, int], circle.Half]) -> "Figure":
    """Share of right networks against the width over its law, lin and log."""
    drawn: dict[str, list[Curve]] = {}
    for (rpe, T), half in found.items():
        ms, right = half.curve
        x, look = [m / circle.law(rpe, half.S, T) for m in ms], {"marker": "os^"[T // 4]}
        drawn.setdefault(f"{rpe}-RPE", []).append(Curve("construction", x, right, f"T = {T}", look))
    for rpe, rate in circle.HOEFFDING.items():
        x = [rate * math.log(16) * 2 ** (k / 20) for k in range(1, 60)]
        y = [1 - 16 * math.exp(-u / rate) for u in x]
        drawn[f"{rpe}-RPE"].append(Curve("bound", x, y, "proved"))
    y = "share of drawn networks, right at all tokens"
    return figures.curves(drawn, x="$m / S^2$ (log: over $T^2$)", y=y, log="x", columns=4)


# --- Proposition 5.2, and the nested parity in one layer ------------------------------------------


def followed(layers: Some, best: Some, any_g: Some) -> "Figure":
    """Error of one layer against heads, with dot product and without."""
    around = {"linestyle": "", "markerfacecolor": "none", "markersize": 10}
    drawn = (
        points("bound", dict.fromkeys([3, 30], 1.0), "no layer without dot product is below"),
        points("construction", any_g, "log, g = 1, 2, 3", marker="D"),
        points("construction", layers, "lin, g = 0, 1, 2"),
        points("best in class", best, "the same, best coefficients", **around),
    )
    x, y = "number of heads H", "largest error over all windows"
    return figures.curves({"": drawn}, x=x, y=y, log="xy", ticks=True, size=(6.4, 4.2))


def rows(tokens: Sequence[int], weights: "Mapping[str, np.ndarray]") -> "Figure":
    """How much x_{t-s} counts for each present token, (tokens, distances) for each layer."""
    drawn = {
        title: [
            Curve("construction", range(len(row)), row, f"$x_t$ = {token}", {"marker": marker})
            for token, row, marker in zip(tokens, table, "osv", strict=True)
        ]
        for title, table in weights.items()
    }
    return figures.curves(drawn, x="distance s", y="weight of $x_{t-s}$", log="", columns=3)


def one_layer(values: Mapping[int, int]) -> "Figure":
    """The nested parity as a function of u."""
    drawn = [Curve("construction", list(values), list(values.values()), "y_t")]
    x, y = "u = $x_t + 2x_{t-1} + 4x_{t-2}$", "$y_t$"
    return figures.curves({"": drawn}, x=x, y=y, log="", ticks=True)


MEMORY: dict[str, Look] = {
    "log": ("best in class", "log heads, best weights", {}),
    "lin": ("best in class", "lin heads = diagonal RNN, best weights", {"marker": "D"}),
    "shift": ("construction", "RNN that shifts", {}),
    "least": ("bound", "no heads of either type", {}),
}


def memory(
    Ns: Sequence[int],
    rough: Mapping[str, Sequence[float]],
    mixed: Sequence[float],
    caps: Sequence[float],
    floors: Sequence[float],
    capped: Sequence[float],
) -> "Figure":
    """Heads and linear recurrences: a rough kernel, a smooth one, and bounded weights."""
    both = named(MEMORY, {name: (Ns, errors) for name, errors in rough.items()})
    one = Curve("construction", Ns, mixed, "RNN, weights > 0 of sum 1")
    bounded = (
        Curve("floor", caps, floors, "proved floor, any number of units"),
        Curve("best in class", caps, capped, "40 units, best weights"),
    )
    axes, bound = {"ticks": Ns, "xlabel": "heads or units N"}, "bound A on the sum of |weights|"
    title = {"title": "(−1)$^t$ $t^{-4}$: both like $N^{-3}$", "ylabel": "l1 error"}
    return side_by_side(
        (both, axes | title | {"log": "xy"}),
        ([one], axes | {"title": "$(1+t)^{-4}$: root-exponential"}),
        (bounded, {"log": "xy", "xlabel": bound, "title": "$(1+t)^{-4}$: exponents at least 1"}),
    )


# --- what attends to what -------------------------------------------------------------------------

PLUS, MINUS = "#56B4E9", "#E69F00"
TEXTS = {1: "+1", -1: "−1"}
BY_ROW = "one head", "dot product alone"  # maps of which each row is shown over its maximum


def attention_maps(
    maps: "Mapping[str, np.ndarray]", tokens: Sequence[float], wanted: Sequence[tuple[int, int]]
) -> "Figure":
    """For one head, all heads, and both halves of the logit; a query without keys stays 0."""
    shown = {}
    for part, table in maps.items():
        largest = table.max(1, keepdims=True) if part in BY_ROW else 1
        title = f"{part}, over the row's maximum" if part in BY_ROW else part
        shown[title] = table / (largest + (largest == 0))
    labels = [f"{token:+.0f}" if token else "0" for token in tokens]
    return maps_of_weights(shown, labels, [wanted] * len(maps))


def nested_maps(
    tokens: Sequence[int], weights: Sequence[Any], places: Sequence[Sequence[int]]
) -> "Figure":
    """All heads of each layer; `places` has t - t_l for each t, or -1 where there is none."""
    names = [f"layer {l}: t − t{'₁₂'[l - 2]}" for l in range(2, len(weights) + 1)]
    wanted = [[(t, goal) for t, goal in enumerate(of) if goal >= 0] for of in places]
    shown = dict(zip(["layer 1: idle", *names], weights, strict=True))
    return maps_of_weights(shown, [TEXTS[token][0] for token in tokens], wanted)


def maps_of_weights(
    maps: "Mapping[str, np.ndarray]",
    labels: Sequence[str],
    wanted: Sequence[Sequence[tuple[int, int]]],
) -> "Figure":
    """Query against key; of each map the (query, key) that a token asks for are circled."""
    figure, panels = figures.panels(len(maps), width=3.7, height=4.3)
    look = {"s": 90, "facecolors": "none", "edgecolors": "#D55E00", "linewidths": 1.5}
    for axes, (title, table), circled in zip(panels, maps.items(), wanted, strict=True):
        image = axes.imshow(table, cmap="RdBu", vmin=-1, vmax=1)
        axes.scatter([key for _, key in circled], [query for query, _ in circled], **look)
        axes.set(title=title, xlabel="token attended to")
        axes.set_xticks(range(len(labels)), labels, fontsize=7)
        axes.set_yticks(range(len(labels)), labels if axes is panels[0] else [], fontsize=7)
        axes.grid(visible=False)
    panels[0].set(ylabel="token that attends")
    figure.colorbar(image, ax=panels, shrink=0.7, pad=0.01, label="weight (clipped)")
    return figure


def walk(tokens: Sequence[int], steps: Sequence[int], output: float) -> "Figure":
    """What is fetched in which layer for the last of the tokens; `steps` are t_1 and t_2."""
    from matplotlib.patches import Rectangle

    figure, (axes,) = figures.panels(1, width=6.2, height=5.4)
    last = len(tokens) - 1
    centre: dict[str, Any] = {"ha": "center", "va": "center"}
    first, second = (TEXTS[tokens[last - step]] for step in steps)
    told = [
        f"layer 1:  $x_t$ = {TEXTS[tokens[-1]]}, so $t_1$ = {steps[0]}",
        f"layer 2:  fetch $x_{{t-{steps[0]}}}$ = {first}, so $t_2$ = {steps[1]}",
        f"layer 3:  fetch $x_{{t-{steps[1]}}}$ = {second}, output {output:.4f}",
    ]
    for row, text in enumerate(told):
        height, known = 4.6 - 2.3 * row, {last, *(last - step for step in steps[:row])}
        for place, token in enumerate(tokens):
            shade = {"linewidth": 1.6} if place in known else {"linewidth": 0.0, "alpha": 0.3}
            colour, corner = PLUS if token > 0 else MINUS, (place - 0.42, height - 0.42)
            look = {"facecolor": colour, "edgecolor": "black", **shade}
            axes.add_patch(Rectangle(corner, 0.84, 0.84, **look))
            axes.text(place, height, TEXTS[token], **centre, alpha=1 if place in known else 0.5)
        axes.text(-0.42, height + 0.72, text)
        for step in steps[row - 1 : row]:  # down from x_t and back up to the token that is fetched
            ends = (last - step, height - 0.46), (last, height - 0.46)
            bend = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={-0.4 - 0.15 * (step < 2)}"}
            axes.annotate("", *ends, arrowprops=bend)
    for place in range(len(tokens)):
        axes.text(place, -1.15, "t" if place == last else f"t−{last - place}", **centre)
    axes.set(xlim=(-0.8, last + 0.8), ylim=(-1.6, 6.1))
    axes.set_aspect("equal")
    axes.axis("off")
    return figure
