"""Theorems 4.1 and 6.1 end to end, their two layers apart, and the curse of memory."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from repro import figures
from repro.figures import Curve
from repro.wang2024.pictures.curves import Look, named, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from repro.wang2024.width import Curves

LOOKS: dict[str, Look] = {
    "bound": ("bound", "proved bound, without rounding", {}),
    "apart": ("construction", "heads apart, as printed", {"marker": "v", "linestyle": ":"}),
    "shared": ("construction", "heads shared by all memories", {}),
    "best": ("best in class", "no layer with these exponents errs less", {}),
    "trained": ("trained", "trained, heads shared", {}),
    "trained from the construction": ("trained", "trained from the construction", {"marker": "D"}),
    "trained from a random start": ("trained", "trained from a random start", {"linestyle": ""}),
}
MEMORY: dict[str, Look] = {
    "log": ("best in class", "log heads, best weights", {}),
    "lin": ("best in class", "lin heads = diagonal RNN, best weights", {"marker": "D"}),
    "shift": ("construction", "RNN that shifts", {}),
    "least": ("bound", "no heads of either type", {}),
}


def heads(panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> "Figure":
    """For each title, errors of the layer against the number of heads, as (H, error)."""
    split = {
        title: named(LOOKS, {name: [*zip(*some, strict=True)] for name, some in found.items()})
        for title, found in panels.items()
    }
    size = (4.6, 4.4) if len(panels) > 1 else (5.6, 4.4)
    return figures.curves(split, x="number of heads $H$", y="largest error found", size=size)


def width(found: "Curves", attention_error: float, *, heads: int, target: str) -> "Figure":
    """Error of the layer against the width of its readout."""
    widths, drawn = found.widths, []
    for kind, label, marker, proved in (
        ("drawn", "neurons drawn at random (mean)", "o", "proved bounds"),
        ("spread", "neurons spread evenly", "s", ""),
    ):
        errors, bounds = found.means(kind)
        drawn += [
            Curve("construction", widths, errors, label, {"marker": marker}),
            Curve("bound", widths, bounds, proved),
        ]
    label = f"attention error, {heads} heads"
    drawn.append(Curve("floor", widths, [attention_error] * len(widths), label))
    y = f"largest error found, {target}"
    x = "width $m$ of the readout"
    return figures.curves({"": drawn}, x=x, y=y, log="xy", ticks=True, size=(5.6, 4.4))


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
    around = {"linestyle": "--", "markersize": 9, "markerfacecolor": "none"}
    of_H = [Curve("best in class", Hs, fetched, "the readout replaced by $f$", around)]
    of_m = [Curve("best in class", ms, read, "the attention replaced by memories", around)]
    for index, look in (0, {"marker": "v", "linestyle": ":"}), (-1, {"marker": "o"}):
        of_H.append(
            Curve("construction", Hs, whole[:, index], f"the layer, $m$ = {ms[index]}", look)
        )
        of_m.append(Curve("construction", ms, whole[index], f"the layer, $H$ = {Hs[index]}", look))
    title = "heads: the attention's error"
    panel(middle, *of_H, legend="", ticks=Hs, xlabel="number of heads $H$", title=title)
    title = "width: the readout's error"
    panel(right, *of_m, log="xy", legend="", ticks=ms, xlabel="width $m$", title=title)
    for axes in (middle, right):
        axes.set_ylim(min(fetched) / 3, 3)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18))
    return figure


def memory(
    Ns: Sequence[int],
    rough: Mapping[str, Sequence[float]],
    mixed: Sequence[float],
    caps: Sequence[float],
    floors: Sequence[float],
    capped: Sequence[float],
) -> "Figure":
    """Heads and linear recurrences: a rough kernel, a smooth one, and bounded weights."""
    figure, (left, middle, right) = figures.panels(3, width=4.3, height=4.2)
    both = named(MEMORY, {name: (Ns, errors) for name, errors in rough.items()})
    title = "(−1)$^t$ $t^{-4}$: both like $N^{-3}$"
    panel(left, *both, log="xy", ticks=Ns, xlabel="heads or units N", title=title)
    left.set_ylabel("l1 error")
    one = Curve("construction", Ns, mixed, "RNN, weights > 0 of sum 1")
    panel(middle, one, ticks=Ns, xlabel="units N", title="$(1+t)^{-4}$: root-exponential")
    bounded = (
        Curve("floor", caps, floors, "proved floor, any number of units"),
        Curve("best in class", caps, capped, "40 units, best weights"),
    )
    title = "$(1+t)^{-4}$: exponents at least 1"
    panel(right, *bounded, log="xy", xlabel="bound A on the sum of |weights|", title=title)
    return figure
