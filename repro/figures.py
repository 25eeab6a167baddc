"""One look for all figures: a role has the same colour, line and marker in every claim.

Colours are those of Okabe and Ito, which colour-blind readers tell apart; line and marker differ
as well. matplotlib is imported when the first figure is made.
"""

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


def saved(figure: "Figure") -> dict[str, bytes]:
    """The figure as SVG and as PNG, laid out once and drawn twice; savefig would do both again."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
    figure.set_layout_engine("none")
    canvases = {
        "svg": lambda file: FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None}),
        "png": lambda file: FigureCanvasAgg(figure).print_png(file),
    }
    drawn = {suffix: io.BytesIO() for suffix in canvases}
    for suffix, write in canvases.items():
        figure.set_dpi(STYLE["savefig.dpi"])  # print_svg leaves another one
        write(drawn[suffix])
    return {suffix: file.getvalue() for suffix, file in drawn.items()}
