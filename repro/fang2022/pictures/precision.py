"""Lemmas 3.1 and 3.3, and Theorem 3.5 in floating point: round-off and condition numbers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[float]]  # by the name of a type
BESIDE: dict[str, Any] = {"size": (7, 3.8), "legend": "outside right center", "columns": 1}


def _by_type(
    role: str, x: Iterable[float], errors: Curves, bounds: Curves, bound: str
) -> list[Curve]:
    """For each type its bound and what was measured; `bound` labels the bounds."""
    x, drawn = list(x), []
    for (dtype, found), marker in zip(errors.items(), "s^o", strict=False):
        drawn.append(Curve("bound", x, bounds[dtype], "" if drawn else bound))
        drawn.append(Curve(role, x, found, dtype, {"marker": marker}))
    return drawn


def roundoff(
    Ms: Sequence[float], errors: Curves, bounds: Curves, control: Sequence[float]
) -> "Figure":
    """Error of Lemma 3.1's product against M: one curve and one bound for each type of number."""
    drawn = [
        Curve("control", Ms, control, "control: softmax for the maximum"),
        *_by_type("construction", Ms, errors, bounds, "derived bounds 4uM²"),
    ]
    x, y = "M, the known bound on |x| and |y|", "largest error of the stored −xy"
    return figures.curves({"": drawn}, x=x, y=y, log="xy", **BESIDE)


FAMILIES = {
    "random": ("control", "random"),
    "lattice": ("trained", "simplex lattice"),
    "ours": ("construction", "ours, rational"),
    "equispaced": ("best in class", "equispaced angles"),
}


def conditions(degrees: Sequence[int], found: Curves, predicted: Sequence[float]) -> "Figure":
    """Condition number against the degree, for each family of directions in the plane."""
    drawn = [Curve(role, degrees, found[name], label) for name, (role, label) in FAMILIES.items()]
    drawn.append(Curve("bound", degrees, predicted, "predicted √C(q, q/2)"))
    x = "degree q (d = 2, q + 1 directions)"
    return figures.curves({"": drawn}, x=x, y="condition number", **BESIDE)


def digits(
    Bs: Sequence[float], found: Mapping[str, Curves], bounds: Mapping[str, Curves]
) -> "Figure":
    """Error of the stored power against B, by type: the printed lifts and the roomy ones."""
    panels = {
        title: _by_type(role, Bs, found[lifts], bounds[lifts], "derived bound")
        for lifts, role, title in (
            ("printed", "control", "printed, M = B^(i−1)"),
            ("roomy", "construction", "repaired, M² = 9/8 B^i"),
        )
    }
    x, y = "B, the radius of the ball", "error of the stored t⁵, over B⁵"
    figure = figures.curves(panels, x=x, y=y, log="xy", size=(4.8, 4), columns=4)
    for axes in figure.axes:
        axes.axvline(1, color="#bbbbbb", linewidth=0.8)
        axes.set(ylim=(1e-17, 1e3))
    return figure


def zero_error(
    degrees: Sequence[int],
    exact: Sequence[float],
    floating: Curves,
    bounds: Curves,
    fewer: Sequence[float],
) -> "Figure":
    """Error of Theorem 3.5's model against the degree: in rationals, by type, a block fewer."""
    drawn = [
        Curve("control", degrees, fewer, "control: one block fewer, its best β"),
        *_by_type("construction", degrees, floating, bounds, "derived bounds"),
        Curve("construction", degrees, exact, "in rationals: exactly 0"),
    ]
    x, y = "degree q, and number of blocks", "largest $|C(x) - x^q|$, over $B^q$"
    figure = figures.curves({"": drawn}, x=x, y=y, log="", **BESIDE)
    (axes,) = figure.axes
    axes.set_yscale("symlog", linthresh=1e-17, linscale=0.6)  # the only log axis that has a 0
    axes.set(ylim=(-4e-18, 10), yticks=[0, 1e-16, 1e-12, 1e-8, 1e-4, 1], xticks=degrees)
    return figure
