"""One look for all figures: a role has the same colour, line and marker in every claim.

Colours are those of Okabe and Ito, which colour-blind readers tell apart; line and marker differ
as well. matplotlib is imported when the first figure is made.

`curves` draws panels of curves; `panels`, `draw` and `decades` are for other figures.
"""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROLES: dict[str, dict[str, Any]] = {
    "construction": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "best in class": {"color": "#009E73", "marker": "s", "linestyle": "-"},
    "trained": {"color": "#E69F00", "marker": "^", "linestyle": "-"},
    "control": {"color": "#D55E00", "marker": "x", "linestyle": "-"},
    "bound": {"color": "#000000", "marker": "", "linestyle": "--"},
    "floor": {"color": "#666666", "marker": "", "linestyle": ":"},
}
STYLE: dict[Any, Any] = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "svg.hashsalt": "attention-claims",  # the same figure gives the same bytes
    "svg.fonttype": "path",
}


def panels(count: int, *, width: float = 4.6, height: float = 3.6) -> "tuple[Figure, list[Axes]]":
    """A figure with `count` panels side by side."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update(STYLE)
    figure = Figure(figsize=(width * count, height))
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def draw(axes: "Axes", role: str, x: Any, y: Any, label: str, **changes: Any) -> None:
    """A curve in the look of its role."""
    axes.plot(x, y, label=label, **{**ROLES[role], **changes})


def legend_below(figure: "Figure", axes: "Axes", columns: int) -> None:
    """What stands in these axes, told under all panels."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


@dataclass(frozen=True)
class Curve:
    """Points, the role that gives them their look, and what differs from that look."""

    role: str
    x: "Sequence[float] | np.ndarray"
    y: "Sequence[float] | np.ndarray"
    label: str
    look: Mapping[str, Any] = field(default_factory=dict)


def curves(
    drawn: Mapping[str, Sequence[Curve]],
    *,
    x: str,
    y: str,
    log: str = "y",
    ticks: bool = False,
    size: tuple[float, float] = (4.6, 3.9),
    legend: Any = "outside lower center",
    columns: int = 2,
) -> "Figure":
    """A panel of curves for each title, all with the same axes and one legend.

    `log` names the logarithmic axes ("", "x", "y", "xy"); with `ticks` every x has a tick of its
    own. `legend` is a place of matplotlib's: "outside ..." for the figure, else in the first panel.
    """
    figure, all_axes = panels(len(drawn), width=size[0], height=size[1])
    for axes, (title, some) in zip(all_axes, drawn.items(), strict=True):
        for one in some:
            draw(axes, one.role, one.x, one.y, one.label, **one.look)
        axes.set(xlabel=x, title=title)
        decades(axes, log)
        if ticks:
            places = sorted({place for one in some for place in one.x})
            axes.set_xticks(places, [f"{place:g}" for place in places], minor=False)
    all_axes[0].set_ylabel(y)
    handles = all_axes[0].get_legend_handles_labels()
    if legend.startswith("outside"):
        figure.legend(*handles, loc=legend, ncols=columns)
    else:
        all_axes[0].legend(*handles, loc=legend)
    return figure


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decades(axes: "Axes", of: str = "y", **others: Any) -> None:
    """Make the axes "y", "x" or both, "xy", logarithmic, with ticks at powers of ten only.

    Ticks between them, and exponents set as formulas, take half of the time of a figure.
    """
    axes.set(**{f"{one}scale": "log" for one in of}, **others)
    if of:
        axes.minorticks_off()
    for axis in (getattr(axes, f"{one}axis") for one in of):
        axis.set_major_formatter(power_of_ten)


def power_of_ten(value: float, _: int | None = None) -> str:
    """10⁻³ for 0.001; other numbers as they are."""
    exponent = round(math.log10(value))
    exact = math.isclose(value, 10.0**exponent)
    return f"10{str(exponent).translate(SUPERSCRIPTS)}" if exact else f"{value:g}"


def described(figure: "Figure") -> str:
    """Every panel by its title and axes, every curve that has a label by its two ends.

    Empty for a figure without such curves: what a picture of another kind shows, its author says.
    """
    told = []
    for axes in figure.axes:
        found = [_ends(line) for line in axes.get_lines() if str(line.get_label())[:1] != "_"]
        found = [words for words in found if words]
        if found:
            what = f"{axes.get_ylabel() or figure.axes[0].get_ylabel()} against {axes.get_xlabel()}"
            title = f"{axes.get_title()}: " if axes.get_title() else ""
            told.append(f"{title}{what}. {'; '.join(found)}.")
    return " ".join(told).replace("$", "")


def _ends(line: Any) -> str:
    """Both ends of a curve; of several numbers at one place their range."""
    x, y = (list(map(float, values)) for values in line.get_data())
    if not x or not line.get_label():
        return ""
    if len(set(x)) == 1:
        values = f"{min(y):.2g}" if len(y) == 1 else f"{min(y):.2g} to {max(y):.2g}"
        return f"{line.get_label()}: {values} at {x[0]:g}"
    return f"{line.get_label()}: from {y[0]:.2g} at {x[0]:g} to {y[-1]:.2g} at {x[-1]:g}"


def saved(figure: "Figure") -> dict[str, bytes]:
    """The figure as SVG and as PNG, laid out once for both."""
    if layout := figure.get_layout_engine():
        layout.execute(figure)
    figure.set_layout_engine("none")
    figure.savefig(svg := io.BytesIO(), format="svg", metadata={"Date": None})
    figure.savefig(png := io.BytesIO(), format="png")
    return {"svg": svg.getvalue(), "png": png.getvalue()}
