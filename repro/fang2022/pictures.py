"""The figures of fang2022's claims: they draw what they are given and measure nothing."""

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
PLAIN = {"marker": ""}


def stages(tables: Mapping[str, Any], rows: Sequence[str], output: str) -> "Figure":
    """Figure 1: what the tokens (columns) hold after each box; changed entries are framed."""
    figure, panels = figures.panels(len(tables), width=2.1, height=3.7)
    before = next(iter(tables.values()))
    for axes, (title, table) in zip(panels, tables.items(), strict=True):
        axes.imshow([[abs(v) ** 0.5 for v in row] for row in table], cmap="Blues", vmin=0, vmax=6)
        for i, row in enumerate(table):
            for j, value in enumerate(row):
                axes.text(j, i, f"{value:.3g}" if value else "·", ha="center", va="center", size=9)
                if before[i][j] != value:
                    corners = [j - 0.5, j + 0.5, j + 0.5, j - 0.5], [i - 0.5] * 2 + [i + 0.5] * 2
                    axes.fill(*corners, fill=False, edgecolor="#D55E00", linewidth=1.8)
        tokens = range(len(table[0]))
        axes.set_xticks(tokens, [f"z{j + 1}" for j in tokens])
        axes.set_yticks(range(len(rows)), rows if axes is panels[0] else [""] * len(rows))
        axes.set_title(title)
        axes.grid(False)
        before = table
    figure.suptitle(output, size=10)
    return figure


def surfaces(axis: Any, truth: Any, outputs: Mapping[str, Any]) -> "Figure":
    """Figure 2: a surface above the same square for each model, by name; f* as a wire frame."""
    import numpy as np

    figure, flat = figures.panels(len(outputs), width=3.9, height=4.1)
    x_1, x_2 = np.meshgrid(axis, axis, indexing="ij")
    shade: Any = {"cmap": "viridis", "vmin": 0, "vmax": truth.max(), "alpha": 0.85}
    for place, (title, surface) in enumerate(outputs.items(), start=1):
        flat[place - 1].remove()
        axes: Any = figure.add_subplot(1, len(outputs), place, projection="3d")
        axes.plot_surface(x_1, x_2, surface, linewidth=0, **shade)
        axes.plot_wireframe(x_1, x_2, truth, color="#666666", linewidth=0.4, rcount=12, ccount=12)
        axes.set(xlabel="$x_1$", ylabel="$x_2$", zlim=(0, truth.max()), title=title)
        axes.tick_params(labelsize=7, pad=0)
        axes.set_box_aspect(None, zoom=0.88)
    return figure


MODELS = {"ATTENTION": "construction", "NN_depth": "trained", "NN_width": "control"}


def learning_curves(curves: Mapping[str, Any], level: float) -> "Figure":
    """Figure 3: errors by epoch; for each model the first seed, the others thin."""
    train, test = [], []
    for model, role in MODELS.items():
        for number, seed in enumerate(curves[model]):
            label, look = (model, PLAIN) if number == 0 else ("", {**PLAIN, "linewidth": 0.5})
            epochs = range(1, len(seed["train"]) + 1)
            train.append(Curve(role, epochs, seed["train"], label, look))
            test.append(Curve(role, seed["test_epoch"], seed["test"], label, look))
    for role, height, label in ("bound", 1, "variance of the noise"), ("floor", level, "our level"):
        train.append(Curve(role, train[0].x, [height] * len(train[0].x), label))
    panels = {"training data, with noise": train, "test data, without noise": test}
    return figures.curves(panels, x="epoch", y="mean square error", size=(4.8, 3.9), columns=5)


def convergence_rule(curves: Mapping[int, Numbers], rules: Mapping[str, Any]) -> "Figure":
    """Train error by epoch for some seeds; the epoch of each at which two rules say it is over."""
    drawn = []
    for seed, curve in curves.items():
        look = {**PLAIN, "linewidth": 0.8, "alpha": 1 - 0.3 * seed}
        drawn.append(Curve("trained", range(1, len(curve) + 1), curve, f"seed {seed}", look))
    for role, (label, epochs) in zip(("control", "best in class"), rules.items(), strict=True):
        heights = [curves[seed][epoch - 1] for seed, epoch in epochs.items()]
        look = {"linestyle": "", "markersize": 9, "zorder": 5}
        drawn.append(Curve(role, [*epochs.values()], heights, label, look))
    return figures.curves({"": drawn}, x="epoch", y="train MSE", **BESIDE)


def _by_type(role: str, x: Numbers, errors: ByType, bounds: ByType) -> list[Curve]:
    """For each type of number its bound and what was measured."""
    drawn = []
    for (dtype, found), marker in zip(errors.items(), "s^o", strict=False):
        drawn.append(Curve("bound", x, bounds[dtype], "" if drawn else "derived bounds"))
        drawn.append(Curve(role, x, found, dtype, {"marker": marker}))
    return drawn


def digits(Bs: Numbers, found: Mapping[str, ByType], bounds: Mapping[str, ByType]) -> "Figure":
    """Error of the stored power against B, by type: the printed lifts and the roomy ones."""
    panels = {
        title: _by_type(role, Bs, found[lifts], bounds[lifts])
        for lifts, role, title in (
            ("printed", "control", "printed, M = B^(i−1)"),
            ("roomy", "construction", "repaired, M² = 9/8 B^i"),
        )
    }
    x, y = "B, the radius of the ball", "error of the stored t⁵, over B⁵"
    figure = figures.curves(panels, x=x, y=y, log="xy", columns=4)
    for axes in figure.axes:
        axes.set(ylim=(1e-17, 1e3))
    return figure


def zero_error(
    degrees: Sequence[int], exact: Numbers, floating: ByType, bounds: ByType, fewer: Numbers
) -> "Figure":
    """Error of Theorem 3.5's model against the degree: in rationals, by type, a block fewer."""
    drawn = [
        Curve("control", degrees, fewer, "control: one block fewer, its best β"),
        *_by_type("construction", degrees, floating, bounds),
        Curve("construction", degrees, exact, "in rationals: exactly 0"),
    ]
    x, y = "degree q, and number of blocks", "largest $|C(x) - x^q|$, over $B^q$"
    figure = figures.curves({"": drawn}, x=x, y=y, log="", **BESIDE)
    (axes,) = figure.axes
    axes.set_yscale("symlog", linthresh=1e-17, linscale=0.6)  # the only log axis that has a 0
    axes.set(ylim=(-4e-18, 10), yticks=[0, 1e-16, 1e-12, 1e-8, 1e-4, 1], xticks=degrees)
    return figure


def floor(
    least: Points, optimal: Mapping[str, Points], trained: Mapping[str, Points], attention: float
) -> "Figure":
    """Remark 3.6: the least error of k pieces, networks that have it, trained ones, attention."""
    pieces, errors = zip(*least, strict=True)
    drawn = [Curve("floor", pieces, errors, "least error of k pieces, 1/(2k²)")]
    hollow = {"linestyle": "", "markerfacecolor": "none", "markersize": 7}
    for role, found, markers in ("best in class", optimal, "sD"), ("trained", trained, "^v>"):
        for (label, points), marker in zip(found.items(), markers, strict=True):
            x, y = zip(*points, strict=True)
            drawn.append(Curve(role, x, y, label, {**hollow, "marker": marker}))
    label = "attention, float64\n(0 in rationals)"
    drawn.append(Curve("construction", pieces, [attention] * len(pieces), label, PLAIN))
    x, y = "linear pieces on [−1, 1]", "largest error against x²"
    return figures.curves({"": drawn}, x=x, y=y, log="xy", **BESIDE)


ERRORS: dict[str, tuple[str, str, dict[str, Any]]] = {  # role, label, changes; in drawing order
    "jackson": ("bound", "Jackson's bound", {}),
    "rationals": ("best in class", "in rationals: the least error", {"markersize": 9}),
    "float64 [0, 1]": ("construction", "in float64, on [0, 1]", {"marker": "D"}),
    "float64 [-1, 1]": ("construction", "in float64, on [−1, 1]", {"marker": "v"}),
}


def convergence(panels: Mapping[str, Mapping[str, Points]]) -> "Figure":
    """Corollary 3.7: the errors of a function by the names in ERRORS, for each panel's title."""
    drawn = {title: [] for title in panels}
    for title, curves in panels.items():
        for name, (role, label, changes) in ERRORS.items():
            if name in curves:
                x, y = zip(*curves[name], strict=True)
                drawn[title].append(Curve(role, x, y, label, changes))
    x, y = "degree $q$ = number of blocks", "largest error $|C^q - f|$"
    return figures.curves(drawn, x=x, y=y, size=(2.9, 4.2), columns=4)
