"""Section A.1, the softmax, Task one and the gauge: what the shape (8) does and does not fix."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def equivariance(
    shuffled: Sequence[tuple[int, float, float]], encoded: Sequence[tuple[int, float]]
) -> "Figure":
    """(tau, difference, bound) without encoding, (tau, difference) with."""
    figure, (axes,) = figures.panels(1, width=7.4)
    taus, off, bounds = zip(*shuffled, strict=True)
    lengths, moved = zip(*encoded, strict=True)
    figures.draw(axes, "control", lengths, moved, "positions encoded")
    figures.draw(axes, "bound", taus, bounds, "derived round-off")
    figures.draw(axes, "construction", taus, off, "no encoding")
    axes.set(xscale="log", yscale="log", xlabel="number of tokens τ")
    axes.set(ylabel="|H(x∘p) − H(x)∘p|, largest")
    axes.set_xticks(taus, [str(tau) for tau in taus], minor=False)
    axes.set_xticks([], minor=True)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


Curve = tuple[Sequence[float], Sequence[float]]


def softmax_moves(tried: Curve, extremal: Curve) -> "Figure":
    """Oscillations and moves, over the diameter: random averages, and the two-token example."""
    figure, (axes,) = figures.panels(1, width=7.4)
    figures.draw(
        axes, "control", *tried, "random logits and values",
        linestyle="", marker=".", markersize=2, color="#888888",
    )  # fmt: skip
    figures.draw(axes, "construction", *extremal, "two tokens: diam tanh(osc / 4)", markersize=4)
    omega = [10**-2.5, 10**1.3]
    figures.draw(axes, "bound", omega, [w / 4 for w in omega], "diam osc / 4")
    axes.axhline(1, **{**figures.ROLES["floor"], "marker": None}, label="diam")
    axes.set(xscale="log", yscale="log", ylim=(1e-5, 4))
    axes.set(xlabel="oscillation of the change of the logits", ylabel="move of the average / diam")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def temperatures(errors: Mapping[float, Curve], bounds: Mapping[float, Curve]) -> "Figure":
    """Against the sharpness, for each gap of distances."""
    figure, (axes,) = figures.panels(1, width=7.4)
    for (gap, curve), marker in zip(errors.items(), "osD^v", strict=False):
        figures.draw(axes, "construction", *curve, f"gap {gap:g}", marker=marker)
        figures.draw(axes, "bound", *bounds[gap], "", linewidth=1)
    axes.plot([], [], **figures.ROLES["bound"], label="proved bound")
    axes.set(xscale="log", yscale="log", ylim=(1e-12, 30))
    axes.set(xlabel="sharpness β of the softmax", ylabel="error against the nearest point")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def two_attentions(weights: Mapping[str, Any], largest: Mapping[str, Sequence[int]]) -> "Figure":
    """Attention matrices of one target in two representations; the largest weights framed."""
    from matplotlib.patches import Rectangle

    figure, panels = figures.panels(len(weights), width=4.3, height=3.8)
    for axes, (title, matrix) in zip(panels, weights.items(), strict=True):
        axes.imshow(matrix, vmin=0, vmax=1, cmap="Blues")
        for t, s in enumerate(largest[title]):
            framed = {"fill": False, "edgecolor": "#D55E00", "linewidth": 2}
            axes.add_patch(Rectangle((s - 0.5, t - 0.5), 1, 1, **framed))
        axes.grid(False)
        axes.set(xlabel="key v(s)", ylabel="query u(t)")
        axes.set_title(title, pad=8)
        names = [str(s + 1) for s in range(len(matrix))]
        axes.set_xticks(range(len(names)), names)
        axes.set_yticks(range(len(names)), names)
    image = panels[0].get_images()[0]
    figure.colorbar(image, ax=panels, label="attention weight", shrink=0.8)
    return figure
