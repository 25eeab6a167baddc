"""Theorem 4.1: which exponent is right, what is possible at all, and what networks cost."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = Sequence[float]


def exponents(panels: Mapping[str, Mapping[str, tuple[Sequence[int], Curve]]]) -> "Figure":
    """Mean squares times m^(2 alpha - 1): level where the exponent is 2 alpha - 1."""
    figure, all_axes = figures.panels(len(panels), width=4.2, height=5.4)
    thick, points = {"marker": "", "linewidth": 2.4}, {"linestyle": "", "markersize": 6}
    looks = {
        "bound": ("bound", "repaired bound", {}),
        "plain": ("control", "plain truncation: logits (exact)", thick),
        "ridge": ("construction", "ridge correction: logits (exact)", thick),
        "floor": ("floor", "floor for every coupling of rank $m_h$", {"color": "#ffffff"}),
        "plain, outputs": ("control", "plain truncation: 8 × MSE of outputs", points),
        "ridge, outputs": ("construction", "ridge correction: 8 × MSE of outputs", points),
    }
    for axes, (alpha, curves) in zip(all_axes, panels.items(), strict=True):
        for name, (role, label, changes) in looks.items():
            figures.draw(axes, role, *curves[name], label, **changes)
        _guides(axes, curves)
        axes.set(xscale="log", yscale="log", xlabel="size of the head $m_h$")
        axes.set_title(f"$\\sigma_i = i^{{-{alpha}}}$")
        _ticks(axes, curves["bound"][0][::2])
    all_axes[0].set_ylabel("mean square × $m_h^{\\,2\\alpha-1}$")
    handles, labels = all_axes[0].get_legend_handles_labels()
    handles[3] = _dotted(handles[3])
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _dotted(line: Any) -> Any:
    """The white dots of the floor, as the legend must show them: on the blue of the ridge."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color="#666666", linestyle=line.get_linestyle(), linewidth=1.6)


def _guides(axes: "Axes", curves: Mapping[str, tuple[Sequence[int], Curve]]) -> None:
    """The two predicted slopes, from the outputs on: level, and rising with m."""
    last = curves["bound"][0][-1]
    grey = {"color": "#666666", "linewidth": 1.0, "linestyle": (0, (4, 3))}
    note = {"textcoords": "offset points", "color": "#444444", "fontsize": 9}
    for name, rise, words in (
        ("ridge, outputs", 0, "level: $2\\alpha-1$"),
        ("plain, outputs", 1, "slope 1: $2\\alpha-2$"),
    ):
        ms, values = curves[name]
        start, value, middle = ms[-3], values[-3], 256
        heights = [value * (m / start) ** rise for m in (middle, last)]
        axes.plot([start, last], [value, heights[-1]], **grey)
        offset = (0, 4) if rise == 0 else (6, -6)
        axes.annotate(
            words, (middle, heights[0]), offset, va="bottom" if rise == 0 else "top", **note
        )


def _ticks(axes: "Axes", values: Sequence[int]) -> None:
    axes.set_xticks(values, [str(value) for value in values])
    axes.set_xticks([], minor=True)


def pair(ms: Sequence[int], curves: Mapping[str, Curve]) -> "Figure":
    """Two encoded tokens: proved floors and bounds, and the right side of (17)."""
    figure, (left, right) = figures.panels(2, width=4.8, height=4.4)
    figures.draw(left, "bound", ms, curves["square bound"], "proved bound, truncation")
    figures.draw(left, "construction", ms, curves["square"], "truncation, measured", linestyle="")
    figures.draw(
        left, "floor", ms, curves["square floor"], "proved: no coupling of rank $m_h$ is below"
    )
    left.set(ylabel="mean square error of $H_1$", title="mean square: $m_h^{-5}$, from both sides")
    figures.draw(right, "bound", ms, curves["mean bound"], "proved bound, truncation")
    figures.draw(right, "construction", ms, curves["mean"], "truncation, measured", linestyle="")
    figures.draw(
        right, "floor", ms, curves["mean floor"], "proved: no coupling of rank $m_h$ is below"
    )
    figures.draw(
        right, "control", ms, curves["printed"], "right side of (17) as printed", marker=""
    )
    right.set(
        ylabel="mean absolute error of $H_1$", title="$L^1$: (17) sinks below what is possible"
    )
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel="size of the head $m_h$")
        _ticks(axes, ms)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return figure


def over_floor(
    ms: Sequence[int], panels: Mapping[str, Mapping[str, Curve]], most: float
) -> "Figure":
    """By how much the cost of a row of logits exceeds the least possible, relatively."""
    figure, all_axes = figures.panels(len(panels), width=4.0, height=4.4)
    looks = {
        "trace": ("control", "trace kept", {"marker": "+", "linestyle": ":"}),
        "plain": ("control", "plain truncation", {}),
        "ridge": ("construction", "ridge correction", {}),
        "best": ("best in class", "best found by least squares", {}),
    }
    for axes, (alpha, curves) in zip(all_axes, panels.items(), strict=True):
        for name, (role, label, changes) in looks.items():
            figures.draw(axes, role, ms, [value - 1 for value in curves[name]], label, **changes)
        label = "proved for the ridge: $1/(2\\tau-2)$"
        figures.draw(axes, "bound", ms, [most - 1] * len(ms), label)
        axes.set(xscale="log", yscale="log", xlabel="rank $m$", ylim=(2e-3, 12))
        axes.set_title(f"$\\sigma_i = i^{{-{alpha}}}$")
        axes.set_yticks([0.01, 0.1, 1, 10], ["1 %", "10 %", "100 %", "1000 %"])
        axes.set_yticks([], minor=True)
        _ticks(axes, ms)
    all_axes[0].set_ylabel("cost of a row of logits above the floor")
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def encoded(rs: Sequence[int], panels: Mapping[str, Mapping[str, Curve]], tau: int) -> "Figure":
    """Encoded tokens: with the diagonal mended, without, and the bound."""
    figure, all_axes = figures.panels(len(panels), width=4.0, height=4.2)
    for axes, (alpha, curves) in zip(all_axes, panels.items(), strict=True):
        figures.draw(axes, "bound", rs, curves["bound"], "proved bound")
        figures.draw(axes, "control", rs, curves["plain"], "truncated after r terms")
        figures.draw(
            axes, "construction", rs, curves["mended"], f"diagonal mended, $m_h = r + {tau}$"
        )
        axes.set(
            xscale="log", yscale="log", xlabel="terms $r$", title=f"$\\sigma_i = i^{{-{alpha}}}$"
        )
        _ticks(axes, rs)
    all_axes[0].set_ylabel("mean square error, summed over $t$")
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def budget(ms: Sequence[int], curves: Mapping[int, Curve], exact: Curve) -> "Figure":
    """A fixed number of neurons, shared out among the waves: the error falls and rises again."""
    figure, (axes,) = figures.panels(1, width=7.2, height=4.0)
    markers = ["o", "s", "D", "^"]
    for (m_FF, errors), marker in zip(curves.items(), markers, strict=False):
        figures.draw(axes, "construction", ms, errors, f"$m_{{FF}} = {m_FF}$ in all", marker=marker)
    figures.draw(axes, "floor", ms, exact, "exact basis functions")
    axes.set(
        xscale="log", yscale="log", xlabel="size of the head $m_h$", ylabel="mean square error"
    )
    _ticks(axes, ms)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def spectrum(
    taus: Sequence[int], errors: Curve, bounds: Curve, sigma: Curve, seen: Mapping[int, Curve]
) -> "Figure":
    """Singular values of sampled score matrices, divided by tau, against those of the kernel."""
    figure, (left, right) = figures.panels(2, width=4.8, height=4.0)
    ks = range(1, len(sigma) + 1)
    figures.draw(left, "floor", ks, sigma, "of the kernel", marker="s", linestyle="-")
    for (tau, values), marker in zip(seen.items(), ("^", "o"), strict=False):
        figures.draw(
            left,
            "construction",
            ks,
            values,
            f"of a sample, τ = {tau}",
            marker=marker,
            linestyle=":",
        )
    left.set(yscale="log", xlabel="k", ylabel="singular value / τ")
    left.set_xticks(ks)
    left.set_yticks(sigma, [f"{value:g}" for value in sigma])
    left.set_yticks([], minor=True)
    figures.draw(right, "bound", taus, bounds, "bound from the samples' Gram matrices")
    figures.draw(right, "construction", taus, errors, "largest relative error, mean")
    right.set(xscale="log", yscale="log", xlabel="length τ", ylabel="relative error")
    _ticks(right, taus)
    right.set_yticks([0.03, 0.1, 0.3], ["3 %", "10 %", "30 %"])
    right.set_yticks([], minor=True)
    for axes in (left, right):
        axes.legend(loc="best")
    return figure
