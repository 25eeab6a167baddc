"""Theorem 4.1 end to end: heads, width, and what each of the two layers is responsible for."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from repro import figures
from repro.figures import decades
from repro.wang2024.pictures import curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS: dict[str, curves.Look] = {
    "bound": ("bound", "proved bound, heads shared, exact arithmetic", {}),
    "apart": ("construction", "heads apart, as printed", {"marker": "v", "linestyle": ":"}),
    "shared": ("construction", "heads shared by the memories, $x_t = \\pm 1$", {}),
    "best": ("best in class", "no layer with these exponents errs less, $|x_t| \\leq 1$", {}),
    "trained from the construction": ("trained", "trained from the construction", {"marker": "D"}),
    "trained from a random start": ("trained", "trained from a random start", {"linestyle": ""}),
}


def heads(panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> "Figure":
    """For each RPE, errors of the layer against the number of heads."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = figures.panels(len(panels), width=4.6, height=4.4)
    labels = {}
    for place, (rpe, found) in zip(axes, panels.items(), strict=True):
        split = {name: tuple(zip(*points, strict=True)) for name, points in found.items()}
        curves.named(place, LOOKS, split)
        decades(place, xlabel="number of heads $H$", title=f"{rpe}-RPE")
        place.set_ylim(3e-8, 8)
        place.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        handles, names = place.get_legend_handles_labels()
        labels |= dict(zip(names, handles, strict=True))
    axes[0].set_ylabel("largest error found, parity of $x_t, x_{t-1}, x_{t-3}$")
    figure.legend(labels.values(), labels.keys(), loc="outside lower center", ncols=2)
    return figure


def roles(
    Hs: Sequence[int],
    ms: Sequence[int],
    whole: np.ndarray,  # (H, m)
    fetched: np.ndarray,  # (H,): the exact f after the layer's attention
    read: np.ndarray,  # (m,): the layer's network after exact memories
) -> "Figure":
    """Errors over heads and width: all of them, and along two columns and two rows."""
    figure, (left, middle, right) = figures.panels(3, width=4.2, height=4.3)
    left.imshow(np.log10(whole), cmap="cividis", origin="lower", aspect="auto")
    left.grid(visible=False)
    left.set_xticks(range(len(ms)), [str(m) for m in ms])
    left.set_yticks(range(len(Hs)), [str(H) for H in Hs])
    left.set(xlabel="width $m$", ylabel="number of heads $H$", title="largest error of the layer")
    middling = np.log10(whole).mean()
    for (i, j), error in np.ndenumerate(whole):
        look = {"color": "black" if np.log10(error) > middling else "white", "fontsize": 7}
        left.text(j, i, f"{error:.0e}".replace("e-0", "e-"), ha="center", va="center", **look)
    for index, look in (0, {"marker": "v", "linestyle": ":"}), (-1, {"marker": "o"}):
        of_m, of_H = f"the layer, $m$ = {ms[index]}", f"the layer, $H$ = {Hs[index]}"
        figures.draw(middle, "construction", Hs, whole[:, index], of_m, **look)
        figures.draw(right, "construction", ms, whole[index], of_H, **look)
    around = {"linestyle": "--", "markersize": 9, "markerfacecolor": "none"}
    figures.draw(middle, "best in class", Hs, fetched, "the readout replaced by $f$", **around)
    figures.draw(right, "best in class", ms, read, "the attention replaced by memories", **around)
    decades(middle, xlabel="number of heads $H$", title="heads: the attention's error")
    decades(right, "xy", xlabel="width $m$", title="width: the readout's error")
    for axes, places in (middle, Hs), (right, ms):
        curves.ticks(axes, places)
        axes.set_ylim(min(fetched) / 3, 3)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18))
    return figure
