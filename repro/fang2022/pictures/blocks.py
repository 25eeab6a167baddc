"""Findings of our own: how many blocks, how many digits, and what softmax leaves."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from repro import figures
from repro.fang2022.pictures.precision import BESIDE
from repro.figures import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[float]]


def counts(
    qs: Sequence[int], printed: Sequence[int], doubling: Sequence[int], tripling: Sequence[int]
) -> "Figure":
    """Blocks against the degree."""
    steps = {"drawstyle": "steps-mid", "markersize": 4}
    drawn = [
        Curve("control", qs, printed, "as printed: q", {"markersize": 4}),
        Curve("construction", qs, doubling, "doubling: ⌊log₂ q⌋", steps),
        Curve("best in class", qs, tripling, "tripling: ⌈log₃ q⌉", steps),
    ]
    figure = figures.curves({"": drawn}, x="degree q", y="transformer blocks", log="", **BESIDE)
    figure.axes[0].set(ylim=(-0.3, 12.3))
    return figure


KINDS = {
    "printed": ("control", "as printed, 2M² = 2B^(2q−2)", {}),
    "repaired": ("control", "repaired lift, 2M² = 2B^q", {"marker": "s", "linestyle": "-."}),
    "doubling": ("construction", "no cancellation, −c off the diagonal", {}),
}


def digits(
    q: int, Bs: Sequence[float], by_B: Curves, sizes: Sequence[float], by_size: Curves, bound: float
) -> "Figure":
    """Error of the stored t^q against B, and against |t| for B = 1."""
    panels = {}
    for title, x, found in ("over $B^q$", Bs, by_B), ("over $|t|^q$, for B = 1", sizes, by_size):
        panels[title] = [
            Curve(KINDS[kind][0], x, errors, *KINDS[kind][1:]) for kind, errors in found.items()
        ]
        ends = [min(x), max(x)]
        panels[title].append(Curve("bound", ends, [bound, bound], "bound (1+u)^(q−1) − 1"))
    y = f"largest error of t^{q}"
    figure = figures.curves(panels, x="B, the known bound on |t|", y=y, log="xy")
    figure.axes[1].set(xlabel="|t|")
    for axes in figure.axes:
        axes.set(ylim=(1e-17, 10))
    return figure


def gated(
    taus: Sequence[float], errors: Sequence[float], bounds: Sequence[float], plain: float
) -> "Figure":
    """Error of the product with a gated softmax against its inverse temperature."""
    drawn = [
        Curve("control", [taus[0], taus[-1]], [plain, plain], "softmax: constant 2M² − 1"),
        Curve("bound", taus, bounds, "bound (n − 1)/(eτ)"),
        Curve("construction", taus, errors, "gated softmax"),
    ]
    x, y = "inverse temperature τ", "largest error of the stored −xy"
    return figures.curves({"": drawn}, x=x, y=y, log="xy", **BESIDE)
