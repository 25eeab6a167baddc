"""Section 3 and our findings: errors against the degree, the bound on the input, or the pieces."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures
from repro.figures import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = Sequence[float]
ByType = Mapping[str, Numbers]  # by the name of a type
Points = Sequence[tuple[int, float]]  # degree or pieces, and an error
BESIDE: dict[str, Any] = {"size": (7, 3.8), "legend": "outside right center", "columns": 1}
MARKERS = {"float64": "s", "float32": "^", "bfloat16": "o"}


def _by_type(role: str, x: Numbers, errors: ByType, bounds: ByType, bound: str) -> list[Curve]:
    """For each type its bound and what was measured; `bound` labels the bounds."""
    drawn = []
    for dtype, found in errors.items():
        drawn.append(Curve("bound", x, bounds[dtype], "" if drawn else bound))
        drawn.append(Curve(role, x, found, dtype, {"marker": MARKERS[dtype]}))
    return drawn


def _typed(panels: Mapping[str, Sequence[Curve]], **settings: Any) -> "Figure":
    """The panels, with the name of its type beside every curve that has one."""
    figure = figures.curves(panels, **settings)
    for axes, drawn in zip(figure.axes, panels.values(), strict=True):
        for one in drawn:
            if one.label in MARKERS:
                place = 3 * len(one.x) // 4
                below = {"xytext": (5, -12), "textcoords": "offset points", "size": 8}
                axes.annotate(one.label, (one.x[place], one.y[place]), **below)
    return figure


def roundoff(Ms: Numbers, errors: ByType, bounds: ByType, control: Numbers) -> "Figure":
    """Error of Lemma 3.1's product against M: one curve and one bound for each type of number."""
    drawn = [
        Curve("control", Ms, control, "control: softmax for the maximum"),
        *_by_type("construction", Ms, errors, bounds, "derived bounds 4uM²"),
    ]
    x, y = "M, the known bound on |x| and |y|", "largest error of the stored −xy"
    return _typed({"": drawn}, x=x, y=y, log="xy", **BESIDE)


FAMILIES = {
    "random": ("control", "random"),
    "lattice": ("trained", "simplex lattice"),
    "ours": ("construction", "ours, rational"),
    "equispaced": ("best in class", "equispaced angles"),
}


def conditions(degrees: Sequence[int], found: ByType, predicted: Numbers) -> "Figure":
    """Condition number against the degree, for each family of directions in the plane."""
    drawn = [Curve(role, degrees, found[name], label) for name, (role, label) in FAMILIES.items()]
    drawn.append(Curve("bound", degrees, predicted, "predicted √C(q, q/2)"))
    x = "degree q (d = 2, q + 1 directions)"
    return figures.curves({"": drawn}, x=x, y="condition number", **BESIDE)


def digits(Bs: Numbers, found: Mapping[str, ByType], bounds: Mapping[str, ByType]) -> "Figure":
    """Error of the stored power against B, by type: the printed lifts and the roomy ones."""
    panels = {
        title: _by_type(role, Bs, found[lifts], bounds[lifts], "derived bound")
        for lifts, role, title in (
            ("printed", "control", "printed, M = B^(i−1)"),
            ("roomy", "construction", "repaired, M² = 9/8 B^i"),
        )
    }
    x, y = "B, the radius of the ball", "error of the stored t⁵, over B⁵"
    figure = _typed(panels, x=x, y=y, log="xy", size=(4.8, 4), columns=4)
    for axes in figure.axes:
        axes.axvline(1, color="#bbbbbb", linewidth=0.8)
        axes.set(ylim=(1e-17, 1e3))
    return figure


def zero_error(
    degrees: Sequence[int], exact: Numbers, floating: ByType, bounds: ByType, fewer: Numbers
) -> "Figure":
    """Error of Theorem 3.5's model against the degree: in rationals, by type, a block fewer."""
    drawn = [
        Curve("control", degrees, fewer, "control: one block fewer, its best β"),
        *_by_type("construction", degrees, floating, bounds, "derived bounds"),
        Curve("construction", degrees, exact, "in rationals: exactly 0"),
    ]
    x, y = "degree q, and number of blocks", "largest $|C(x) - x^q|$, over $B^q$"
    figure = _typed({"": drawn}, x=x, y=y, log="", **BESIDE)
    (axes,) = figure.axes
    axes.set_yscale("symlog", linthresh=1e-17, linscale=0.6)  # the only log axis that has a 0
    axes.set(ylim=(-4e-18, 10), yticks=[0, 1e-16, 1e-12, 1e-8, 1e-4, 1], xticks=degrees)
    return figure


def _through(role: str, points: Points, label: str, look: Mapping[str, Any]) -> Curve:
    x, y = zip(*points, strict=True)
    return Curve(role, x, y, label, look)


def floor(
    least: Points, optimal: Mapping[str, Points], trained: Mapping[str, Points], attention: float
) -> "Figure":
    """Remark 3.6: the least error of k pieces, networks that have it, trained ones, attention."""
    drawn = [_through("floor", least, "least error of k pieces, 1/(2k²)", {})]
    hollow = {"linestyle": "", "markerfacecolor": "none", "markersize": 7}
    pale = {"linestyle": "", "markersize": 6, "alpha": 0.8}
    networks = ("best in class", optimal, "sD", hollow), ("trained", trained, "^v>", pale)
    for role, found, markers, look in networks:
        for (label, points), marker in zip(found.items(), markers, strict=True):
            drawn.append(_through(role, points, label, {**look, "marker": marker}))
    level, label = [(k, attention) for k, _ in least], "attention, float64\n(0 in rationals)"
    drawn.append(_through("construction", level, label, {"marker": ""}))
    x, y = "linear pieces on [−1, 1]", "largest error against x²"
    return figures.curves({"": drawn}, x=x, y=y, log="xy", **BESIDE)


PALE = {"alpha": 0.75, "linewidth": 1.2, "markersize": 4, "markerfacecolor": "white"}
HOLLOW = {"markersize": 7, "markerfacecolor": "none", "linewidth": 1}
UNIT, BOTH = "float64 [0, 1]", "float64 [-1, 1]"
LOOKS: dict[str, tuple[str, str, dict[str, Any]]] = {  # role, label, changes; in drawing order
    "jackson": ("bound", "Jackson's bound", {}),
    "best": ("best in class", "best polynomial, certified", HOLLOW),
    "rationals": ("construction", "the model, in rationals", {"markersize": 3.5}),
    UNIT: ("construction", "in float64, on [0, 1]", {**PALE, "linestyle": "--", "marker": "D"}),
    BOTH: ("construction", "in float64, on [−1, 1]", {**PALE, "linestyle": "-.", "marker": "v"}),
    "floor [0, 1]": ("floor", "round-off predicted, u Σ|c|", {}),
    "floor [-1, 1]": ("floor", "", {}),
    "fixed": ("control", "control: only 8 blocks", {"marker": "", "linestyle": (0, (1, 1))}),
    "jump": ("control", "control: f has a jump", {"linewidth": 1.2}),
}


def convergence(panels: Mapping[str, Mapping[str, Points]]) -> "Figure":
    """Corollary 3.7: the errors of a function by the names in LOOKS, for each panel's title."""
    drawn = {
        title: [
            _through(role, curves[name], label, changes)
            for name, (role, label, changes) in LOOKS.items()
            if name in curves
        ]
        for title, curves in panels.items()
    }
    x, y = "degree $q$ = number of blocks", "largest error $|C^q - f|$"
    figure = figures.curves(drawn, x=x, y=y, size=(2.9, 4.2), columns=4)
    for axes, curves in zip(figure.axes, panels.values(), strict=True):
        axes.set(ylim=(min(error for _, error in curves["best"]) / 4, 30))
    return figure


def counts(qs: Numbers, printed: Numbers, doubling: Numbers, tripling: Numbers) -> "Figure":
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


def cancellation(
    q: int, Bs: Numbers, by_B: ByType, sizes: Numbers, by_size: ByType, bound: float
) -> "Figure":
    """Error of the stored t^q against B, and against |t| for B = 1, by the names in KINDS."""
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


def gated(taus: Numbers, errors: Numbers, bounds: Numbers, plain: float) -> "Figure":
    """Error of the product with a gated softmax against its inverse temperature."""
    drawn = [
        Curve("control", [taus[0], taus[-1]], [plain, plain], "softmax: constant 2M² − 1"),
        Curve("bound", taus, bounds, "bound (n − 1)/(eτ)"),
        Curve("construction", taus, errors, "gated softmax"),
    ]
    x, y = "inverse temperature τ", "largest error of the stored −xy"
    return figures.curves({"": drawn}, x=x, y=y, log="xy", **BESIDE)
