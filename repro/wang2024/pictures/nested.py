"""Nested memories: the walk of Theorem 5.4, its attention, and what layers, heads and width do."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve, decades
from repro.wang2024.pictures import adaptive

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from repro.wang2024.following import Point

Points = tuple[Sequence[float], Sequence[float]]
PLUS, MINUS, GREY = "#56B4E9", "#E69F00", "#666666"
NUMBERS = "#0072B2"
TEXTS = {1: "+1", -1: "−1"}
CENTRE: dict[str, Any] = {"ha": "center", "va": "center"}


def walk(
    tokens: Sequence[int], steps: Sequence[int], stream: Sequence[Sequence[float]], output: float
) -> "Figure":
    """One position of the nested example: what is fetched in which layer, and all its numbers.

    `tokens` end with x_t; `steps` are t_1 and t_2; `stream` has x^(0), x^(1/2), ..., x^(5/2).
    """
    figure, (left, right) = figures.panels(2, width=6.2, height=5.4)
    right.set_anchor("W")
    _fetches(left, tokens, steps, output)
    _stream(right, stream)
    return figure


def _fetches(axes: "Axes", tokens: Sequence[int], steps: Sequence[int], output: float) -> None:
    from matplotlib.patches import Rectangle

    x, last = tokens[-1], len(tokens) - 1
    first, second = (tokens[last - step] for step in steps)
    told = [
        f"layer 1:  $x_t$ = {TEXTS[x]}, so $t_1$ = {steps[0]}",
        f"layer 2:  fetch $x_{{t-{steps[0]}}}$ = {TEXTS[first]}, so $t_2$ = {steps[1]}",
        f"layer 3:  fetch $x_{{t-{steps[1]}}}$ = {TEXTS[second]}, output {_shown(output)}",
    ]
    for row, (text, step) in enumerate(zip(told, [None, *steps], strict=True)):
        height = 4.6 - 2.3 * row
        known = {last} | {last - s for s in steps[:row]}
        for place, token in enumerate(tokens):
            look: dict[str, Any] = {"linewidth": 1.6}
            if place not in known:
                look = {"linewidth": 0.0, "alpha": 0.3}
            colour, corner = PLUS if token > 0 else MINUS, (place - 0.42, height - 0.42)
            square = Rectangle(corner, 0.84, 0.84, facecolor=colour, edgecolor="black", **look)
            axes.add_patch(square)
            axes.text(place, height, TEXTS[token], **CENTRE, alpha=1 if place in known else 0.5)
        axes.text(-0.42, height + 0.72, text)
        if step is not None:  # down from the present token and back up to the one that is fetched
            bend = f"arc3,rad=-{0.55 if step == 1 else 0.4}"
            style = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.4, "shrinkA": 0}
            arrow = style | {"connectionstyle": bend, "shrinkB": 0}
            ends = (last - step, height - 0.46), (last, height - 0.46)
            axes.annotate("", *ends, arrowprops=arrow)
    for place in range(len(tokens)):
        name = "t" if place == last else f"t−{last - place}"
        axes.text(place, -1.15, name, ha="center", va="top", color=GREY)
    axes.set(xlim=(-0.8, last + 0.8), ylim=(-1.6, 6.1), title="the memory is fetched")
    axes.set_aspect("equal")
    axes.axis("off")


def _stream(axes: "Axes", stream: Sequence[Sequence[float]]) -> None:
    """A table of numbers; what a half-layer wrote is coloured, what is there is black."""
    from matplotlib.patches import Rectangle

    rows = ["block 0", "block 1", "block 2", "pointer 1", "pointer 2", "constant"]
    names = ["embedding", "attention 1", "FFN 1", "attention 2", "FFN 2", "attention 3"]
    times = ["$x^{(0)}$", "$x^{(1/2)}$", "$x^{(1)}$", "$x^{(3/2)}$", "$x^{(2)}$", "$x^{(5/2)}$"]
    for column, numbers in enumerate(stream):
        before = stream[column - 1] if column else [0.0] * len(numbers)
        for row, (number, old) in enumerate(zip(numbers, before, strict=True)):
            place, new = (column - 0.46, -row - 0.42), abs(number - old) > 1e-9
            sign = PLUS if number > 0 else MINUS
            colour = (NUMBERS if row > 2 else sign) if new else "#f4f4f4"
            axes.add_patch(Rectangle(place, 0.92, 0.84, facecolor=colour, edgecolor="none"))
            shade = "white" if new and row > 2 else ("black" if number else "#bbbbbb")
            axes.text(column, -row, _shown(number), **CENTRE, fontsize=8.5, color=shade)
        axes.text(column, 1.25, times[column], **CENTRE)
        axes.text(column, 0.78, names[column], **CENTRE, fontsize=7.5, color=GREY)
    for row, name in enumerate(rows):
        axes.text(-0.6, -row, name, ha="right", va="center")
    axes.set(xlim=(-2.3, len(stream) - 0.4), ylim=(-len(rows), 1.7))
    axes.set_title("the numbers of token t; coloured: just written")
    axes.axis("off")


def _shown(number: float) -> str:
    if abs(number) < 1e-9:
        return "0"
    whole = abs(number - round(number)) < 1e-9
    return (f"{number:.0f}" if whole else f"{number:.4f}").replace("-", "−")


def maps(
    tokens: Sequence[int], weights: Sequence[Any], places: Sequence[Sequence[int]]
) -> "Figure":
    """Sum of the heads of each layer: how much of x_key is added to the block of memory l at t.

    `places` has t - t_l for each t, or -1 where there is none; all are -1 in the idle layer.
    """
    names = [
        "layer 1: idle",
        *(f"layer {l + 1}: t − t{'₁₂'[l - 1]}" for l in range(1, len(weights))),
    ]
    wanted = [[(t, goal) for t, goal in enumerate(of) if goal >= 0] for of in places]
    told = "sign of the token attended to", "sign of the token that attends"
    shown, labels = dict(zip(names, weights, strict=True)), [TEXTS[token][0] for token in tokens]
    return adaptive.maps_of_weights(shown, labels, wanted, told)


LOOKS: dict[str, tuple[str, str, Mapping[str, Any]]] = {
    "less": ("control", "control: one layer less", {}),
    "bound": ("bound", "proved bound |f|_Lip E_Attn", {}),
    "network": ("construction", "network, largest error found", {}),
    "floor": ("best in class", "one block: no coefficients do better", {}),
}


def heads(found: Mapping[str, Mapping[int, Mapping[str, float]]]) -> "Figure":
    """Errors against the number of heads, for lin and log: RPE -> H -> what was measured."""
    panels = {
        rpe: {name: (list(of_H), [one[name] for one in of_H.values()]) for name in LOOKS}
        for rpe, of_H in found.items()
    }
    return adaptive.heads(panels, LOOKS)


def steepness(curves: Mapping[int, Points], errors: Mapping[int, float]) -> "Figure":
    """Largest error against |g_2|_Lip for some numbers of heads."""
    drawn = [
        Curve("construction", *curve, f"H = {H}, e = {errors[H]:.1e}", {"marker": marker})
        for (H, curve), marker in zip(curves.items(), "os^D", strict=False)
    ]
    x, y = "|g₂|_Lip = 1/(2δ)", "largest error"
    figure = figures.curves({"": drawn}, x=x, y=y, log="xy", size=(7.2, 3.9), columns=4)
    (axes,) = figure.axes
    axes.set_ylim(1e-8, 5)
    beside = {"textcoords": "offset points", "fontsize": 8, "va": "bottom", "rotation": 90}
    for H, e in errors.items():
        axes.axvline(1 / (4 * e), color=GREY, linewidth=0.8, linestyle=":")
        axes.annotate(f"1/(4e), H = {H}", (1 / (4 * e), 1.5e-6), (3, 0), color=GREY, **beside)
    return figure


def one_layer(values: Mapping[int, int], curves: Mapping[str, Mapping[str, Points]]) -> "Figure":
    """The nested parity as a function of u, and one layer without dot product that computes it."""
    figure, (left, right) = figures.panels(2, width=5.0, height=4.0)
    u, y = list(values), list(values.values())
    figures.draw(left, "construction", u, y, "readout", marker="")
    for sign, colour in ((1, PLUS), (-1, MINUS)):
        some = [one for one in u if values[one] == sign]
        left.plot(some, [sign] * len(some), "o", color=colour, markersize=9, zorder=3)
    left.set(xlabel="u = $x_t + 2x_{t-1} + 4x_{t-2}$", ylabel="$y_t$", ylim=(-1.4, 1.4))
    left.set_xticks(u)
    left.set_title("8 triples of signs, 7 hinges and a constant")
    markers = {"lin": "o", "log": "D"}
    for rpe, of_rpe in curves.items():
        look = {"marker": markers[rpe], "linestyle": "-" if rpe == "lin" else "--"}
        figures.draw(right, "construction", *of_rpe["network"], f"one layer, {rpe}", **look)
        figures.draw(right, "control", *of_rpe["blind"], f"control: no $x_{{t-2}}$, {rpe}", **look)
    decades(right, xlabel="heads H", ylabel="largest error", title="no dot product")
    right.set_xticks(sorted({H for of_rpe in curves.values() for H in of_rpe["network"][0]}))
    right.legend(loc="lower left")
    return figure


def roles(
    layers: Mapping[tuple[int, int], float], widths: Mapping[tuple[int, int], float]
) -> "Figure":
    """Errors over (L, H) and over (m, H) as two tables with colours."""
    figure, (left, right) = figures.panels(2, width=4.9, height=3.6)
    _table(left, layers, "layers L")
    image = _table(right, widths, "width m of the readout")
    figure.colorbar(image, ax=[left, right], label="largest error")
    return figure


def _table(axes: "Axes", errors: Mapping[tuple[int, int], float], name: str) -> Any:
    from matplotlib.colors import LogNorm

    rows, columns = (sorted({pair[i] for pair in errors}) for i in (0, 1))
    numbers = [[errors[row, column] for column in columns] for row in rows]
    image = axes.imshow(numbers, norm=LogNorm(1e-6, 2.0), cmap="YlGnBu_r", aspect="auto")
    for i, row in enumerate(numbers):
        for j, number in enumerate(row):
            dark = number < 3e-3
            text = f"{number:.2g}" if number >= 1e-3 else f"{number:.0e}"
            axes.text(j, i, text, **CENTRE, color="white" if dark else "black")
    axes.set_xticks(range(len(columns)), [str(column) for column in columns])
    axes.set_yticks(range(len(rows)), [str(row) for row in rows])
    axes.grid(False)
    axes.set(xlabel="heads H for each memory", ylabel=name)
    return image


def depth(found: "Mapping[str, Mapping[int, tuple[Point, Point]]]") -> "Figure":
    """Two layers against one for each memory, with the same heads in each layer."""
    ways = ("2 layers, heads split", "--", "o"), ("3 layers, one memory each", "-", "D")
    drawn = {f"{rpe}-RPE": [] for rpe in found}
    for rpe, of_H in found.items():
        for (label, line, marker), points in zip(
            ways, zip(*of_H.values(), strict=True), strict=True
        ):
            errors, look = [one.error for one in points], {"linestyle": line, "marker": marker}
            drawn[f"{rpe}-RPE"].append(Curve("construction", list(of_H), errors, label, look))
    return figures.curves(drawn, x="heads in each layer", y="largest error", ticks=True)
