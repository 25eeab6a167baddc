"""Findings of our own: how many blocks, how many digits, and what softmax leaves."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[float]]


def counts(
    qs: Sequence[int], printed: Sequence[int], doubling: Sequence[int], tripling: Sequence[int]
) -> "Figure":
    """Blocks against the degree."""
    figure, (axes,) = figures.panels(1, width=7, height=3.8)
    steps = {"drawstyle": "steps-mid", "markersize": 4}
    figures.draw(axes, "control", qs, printed, "as printed: q", markersize=4)
    figures.draw(axes, "construction", qs, doubling, "doubling: ⌊log₂ q⌋", **steps)
    figures.draw(axes, "best in class", qs, tripling, "tripling: ⌈log₃ q⌉", **steps)
    axes.set(xlabel="degree q", ylabel="transformer blocks", ylim=(-0.3, 12.3))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


KINDS = {
    "printed": ("control", "as printed, 2M² = 2B^(2q−2)", {}),
    "repaired": ("control", "repaired lift, 2M² = 2B^q", {"marker": "s", "linestyle": "-."}),
    "doubling": ("construction", "no cancellation, −c off the diagonal", {}),
}


def digits(
    q: int,
    Bs: Sequence[float],
    by_B: Curves,
    sizes: Sequence[float],
    by_size: Curves,
    bound: float,
) -> "Figure":
    """Error of the stored t^q against B, and against |t| for B = 1."""
    figure, (left, right) = figures.panels(2, height=4.2)
    for kind, (role, label, changes) in KINDS.items():
        figures.draw(left, role, Bs, by_B[kind], label, **changes)
        if kind in by_size:
            figures.draw(right, role, sizes, by_size[kind], "", **changes)
    for axes, x in ((left, Bs), (right, sizes)):
        figures.draw(axes, "bound", [min(x), max(x)], [bound, bound], "bound (1+u)^(q−1) − 1")
        axes.set(xscale="log", yscale="log", ylim=(1e-17, 10))
    left.set(xlabel="B, the known bound on |t|", ylabel=f"largest error of t^{q}, over B^{q}")
    right.set(xlabel="|t|, for B = 1", ylabel=f"largest error of t^{q}, over |t|^{q}")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def gated(
    taus: Sequence[float], errors: Sequence[float], bounds: Sequence[float], plain: float
) -> "Figure":
    """Error of the product with a gated softmax against its inverse temperature."""
    figure, (axes,) = figures.panels(1, width=7, height=3.8)
    ends = [taus[0], taus[-1]]
    figures.draw(axes, "control", ends, [plain, plain], "softmax: constant 2M² − 1")
    figures.draw(axes, "bound", taus, bounds, "bound (n − 1)/(eτ)")
    figures.draw(axes, "construction", taus, errors, "gated softmax")
    axes.set(xscale="log", yscale="log", xlabel="inverse temperature τ")
    axes.set(ylabel="largest error of the stored −xy")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
