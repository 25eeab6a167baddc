"""Theorem 4.1: which exponent is right, what is possible at all, and what networks cost."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repro import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = Sequence[float]
Panel = Mapping[str, tuple[Sequence[int], Mapping[str, Curve]]]
HEAD = "size of the head $m_h$"
GREY = {"color": "#666666", "linewidth": 1.0, "linestyle": (0, (4, 3))}
NOTE: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9}


def exponents(panels: Mapping[str, Panel]) -> "Figure":
    """Mean squares times m^(2 alpha - 1): level where the exponent is 2 alpha - 1."""
    figure, (whole,) = figures.panels(1, width=10.2, height=7.4)
    whole.remove()
    grid = figure.subplots(2, len(panels), sharex=True)
    for (high, low), (alpha, panel) in zip(grid.T, panels.items(), strict=True):
        power = 2 * float(alpha) - 1
        _logits(high, *panel["logits"])
        _outputs(low, *panel["outputs"], power)
        far, logits = panel["logits"]
        figures.draw(low, "bound", far, [value / 8 for value in logits["bound"]], "")
        high.set_title(f"$\\sigma_i = i^{{-{alpha}}}$: errors times $m_h^{{{power:g}}}$")
        low.set_xlabel(HEAD)
        for axes in (high, low):
            _logarithmic(axes, far[::3])
    grid[0, 0].set_ylabel("a row of logits, exact")
    grid[1, 0].set_ylabel("an output, measured")
    figure.suptitle(
        "mean square error × $m_h^{\\,2\\alpha-1}$:   level where the error falls like "
        "$m_h^{-(2\\alpha-1)}$,   rising where it falls like $m_h^{-(2\\alpha-2)}$",
        fontsize=11,
    )
    figures.legend_below(figure, grid[0, 0], 4)
    return figure


def _logits(axes: "Axes", ms: Sequence[int], curves: Mapping[str, Curve]) -> None:
    """Closed forms, and below them what no coupling can reach."""
    thick, floor = {"marker": "", "linewidth": 2.4}, curves["sin, floor"]
    lowest = min(floor) / 2
    axes.fill_between(ms, [lowest] * len(ms), floor, color="#dddddd", linewidth=0,
                      label="proved: no coupling of rank $m_h$ is here")  # fmt: skip
    figures.draw(axes, "control", ms, curves["sin, plain"], "truncation of the proof", **thick)
    figures.draw(axes, "construction", ms, curves["sin, ridge"], "ridge correction", **thick)
    figures.draw(axes, "bound", ms, curves["bound"], "proved bound, ridge correction")
    axes.set_ylim(bottom=lowest)


def _outputs(axes: "Axes", ms: Sequence[int], curves: Mapping[str, Curve], power: float) -> None:
    """What was measured, and the two predicted slopes from the last point on."""
    look, last = {"linewidth": 1.2, "markersize": 5}, 8 * ms[-1]
    for name, role, rise, offset in (
        ("plain", "control", 1, (-12, -8)),
        ("ridge", "construction", 0, (0, 5)),
    ):
        values = curves[name]
        figures.draw(axes, role, ms, values, "", **look)
        end = values[-1] * 8**rise
        axes.plot([ms[-1], last], [values[-1], end], **GREY)
        words = f"$\\propto m_h^{{-{power - rise:g}}}$"
        axes.annotate(words, (last, end), offset, ha="right", color="#444444", **NOTE)


def _logarithmic(axes: "Axes", ticks: Sequence[int], **others: Any) -> None:
    """Both axes; labels at other ticks than powers of two would run into those."""
    axes.set(xscale="log", yscale="log", **others)
    doubled = {value for value in ticks if value.bit_count() == 1} or {*ticks}
    axes.set_xticks(ticks, [str(value) if value in doubled else "" for value in ticks])
    axes.set_xticks([], minor=True)


def _out_of_reach(
    axes: "Axes",
    ms: Sequence[int],
    floor: Curve,
    bottom: float,
    at: tuple[float, float],
    words: str,
) -> None:
    """Shaded: what no coupling can do."""
    axes.fill_between(ms, [bottom] * len(ms), floor, color="#e8e8e8", linewidth=0)
    axes.text(*at, words, ha="center", va="center", fontsize=9, color="#444444")
    figures.draw(axes, "floor", ms, floor, "every coupling of rank $m_h$, at least")


def pair(ms: Sequence[int], curves: Mapping[str, Curve]) -> "Figure":
    """Two encoded tokens, alpha = 3: what no coupling can do is shaded; (17) dives into it."""
    figure, (left, right) = figures.panels(2, width=5.0, height=4.8)
    promised = {"mean": curves["printed"]}
    for axes, kind in ((left, "square"), (right, "mean")):
        bound, floor = curves[f"{kind} bound"], curves[f"{kind} floor"]
        lines = [*bound, *floor, *promised.get(kind, [])]
        bottom, middle = min(lines) / 4, len(ms) // 2 - 1
        figures.draw(axes, "bound", ms, bound, "truncation after $m_h$ terms, at most")
        points = {"linestyle": "", "markersize": 6}
        figures.draw(axes, "construction", ms, curves[kind], "truncation, measured", **points)
        place = (ms[1], (bottom * floor[middle]) ** 0.5)
        _out_of_reach(axes, ms, floor, bottom, place, "no coupling of\nrank $m_h$ gets here")
        _logarithmic(axes, ms, xlabel=HEAD, ylim=(bottom, 2 * max(lines)))
    figures.draw(right, "control", ms, promised["mean"], "(17) as printed promises", marker="")
    left.set(ylabel="mean square error of $H_1$", title="mean square: exponent 2α − 1 = 5 is right")
    right.set(ylabel="mean absolute error of $H_1$", title="$L^1$, as in (17): exponent 5 is false")
    figures.legend_below(figure, right, 2)
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
        axes.set_title(f"$\\sigma_i = i^{{-{alpha}}}$")
        _logarithmic(axes, ms, xlabel="rank $m$", ylim=(2e-3, 12))
        axes.set_yticks([0.01, 0.1, 1, 10], ["1 %", "10 %", "100 %", "1000 %"])
        axes.set_yticks([], minor=True)
    all_axes[0].set_ylabel("cost of a row of logits above the floor")
    figures.legend_below(figure, all_axes[0], 3)
    return figure


def encoded(rs: Sequence[int], panels: Mapping[str, Mapping[str, Curve]], tau: int) -> "Figure":
    """Encoded tokens: with the diagonal mended, without, and the bound."""
    figure, all_axes = figures.panels(len(panels), width=4.0, height=4.2)
    for axes, (alpha, curves) in zip(all_axes, panels.items(), strict=True):
        figures.draw(axes, "bound", rs, curves["bound"], "proved bound")
        figures.draw(axes, "control", rs, curves["plain"], "truncated after r terms")
        label = f"diagonal mended, $m_h = r + {tau}$"
        figures.draw(axes, "construction", rs, curves["mended"], label)
        _logarithmic(axes, rs, xlabel="terms $r$", title=f"$\\sigma_i = i^{{-{alpha}}}$")
    all_axes[0].set_ylabel("mean square error, summed over $t$")
    figures.legend_below(figure, all_axes[0], 3)
    return figure


def encoded_logits(
    ms: Sequence[int], panels: Mapping[str, Mapping[str, Curve]], tau: int
) -> "Figure":
    """Costs times m^(2 alpha - 1): networks, and what no coupling can reach, which is shaded."""
    figure, all_axes = figures.panels(len(panels), width=4.0, height=4.4)
    for axes, (alpha, curves) in zip(all_axes, panels.items(), strict=True):
        power, floor = 2 * float(alpha) - 1, curves["floor"]
        lowest = min(floor) / 2
        figures.draw(axes, "bound", ms, curves["bound"], "proved bound")
        label = f"diagonal mended, $m_h = r + {tau}$"
        figures.draw(axes, "construction", ms, curves["cost"], label)
        place = ((ms[0] * ms[-1]) ** 0.5, 1.4 * lowest)
        _out_of_reach(axes, ms, floor, lowest, place, "no coupling of rank $m_h$ gets here")
        start, last = 1.3 * curves["bound"][2], ms[-1]
        end = start * last / ms[2]
        axes.plot([ms[2], last], [start, end], **GREY)
        words = f"$\\propto m_h^{{-{power - 1:g}}}$"
        axes.annotate(words, (last, end), (-24, -4), ha="right", color="#444444", **NOTE)
        axes.set_title(f"$\\sigma_i = i^{{-{alpha}}}$: cost times $m_h^{{{power:g}}}$")
        _logarithmic(axes, ms, xlabel=HEAD)
        axes.set_ylim(bottom=lowest)
        axes.set_yticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
        axes.set_yticks([], minor=True)
    all_axes[0].set_ylabel("errors of all logits, $s \\neq t$")
    figures.legend_below(figure, all_axes[0], 3)
    return figure


def neurons(
    curves: Mapping[int, tuple[Sequence[int], Mapping[str, Curve]]],
    valley: tuple[int, Sequence[int], Mapping[str, Curve]],
) -> "Figure":
    """Networks of m_FF neurons: against m_FF for some m_h, and against m_h for one m_FF."""
    figure, (left, middle, right) = figures.panels(3, width=3.9, height=4.6)
    for (m, (budgets, sides)), marker in zip(curves.items(), "oDs^", strict=True):
        for axes, error, bound in ((left, "error", "repaired"), (middle, "moved", "most")):
            look = {"marker": marker, "linewidth": 1.2}
            figures.draw(axes, "construction", budgets, sides[error], f"$m_h = {m}$", **look)
            label = "proved bound, same mark"
            figures.draw(axes, "bound", budgets, sides[bound], label, markersize=3, **look)
    budgets, sides = next(iter(curves.values()))
    start = sides["moved"][1] / 3
    ends = (budgets[1], budgets[-1])
    middle.plot(ends, [start, start * (ends[0] / ends[1]) ** 2], **GREY)
    place = (ends[0] * 2, start / 4)
    middle.annotate("slope −2", place, (-6, -4), ha="right", va="top", color="#444444", **NOTE)
    left.set(title="error, all in all", ylabel="$L^1$ error, summed over $t$")
    middle.set(title="what the networks add to exact waves")
    m_FF, ms, sides = valley
    figures.draw(right, "control", ms, sides["printed"], "right side of (17) as printed")
    figures.draw(right, "bound", ms, sides["repaired"], "the same, repaired")
    figures.draw(right, "construction", ms, sides["error"], "error of the network")
    right.set(xlabel=HEAD, title=f"$m_{{FF}} = {m_FF}$ neurons to share out")
    right.legend(loc="upper center")
    for axes in (left, middle):
        axes.set(xscale="log", yscale="log", xlabel="neurons $m_{FF}$")
    _logarithmic(right, ms)
    right.set_ylim(top=30 * max(sides["printed"]))
    handles, labels = left.get_legend_handles_labels()
    order = [*range(0, len(handles), 2), 1]
    figure.legend([handles[k] for k in order], [labels[k] for k in order],
                  loc="outside lower center", ncols=5)  # fmt: skip
    return figure


def spectrum(
    taus: Sequence[int], errors: Curve, bounds: Curve, sigma: Curve, seen: Mapping[int, Curve]
) -> "Figure":
    """Singular values of sampled score matrices, divided by tau, against those of the kernel."""
    figure, (left, right) = figures.panels(2, width=4.8, height=4.0)
    ks = range(1, len(sigma) + 1)
    figures.draw(left, "bound", ks, sigma, "of the kernel", marker="s", linestyle="-")
    for (tau, values), marker in zip(seen.items(), ("^", "o"), strict=False):
        label, look = f"of a sample, τ = {tau}", {"marker": marker, "linestyle": ":"}
        figures.draw(left, "construction", ks, values, label, **look)
    left.set(yscale="log", xlabel="k", ylabel="singular value / τ")
    left.set_xticks(ks)
    left.set_yticks(sigma, [f"{value:g}" for value in sigma])
    left.set_yticks([], minor=True)
    figures.draw(right, "bound", taus, bounds, "bound from the samples' Gram matrices")
    figures.draw(right, "construction", taus, errors, "largest relative error, mean")
    _logarithmic(right, taus, xlabel="length τ", ylabel="relative error")
    right.set_yticks([0.03, 0.1, 0.3], ["3 %", "10 %", "30 %"])
    right.set_yticks([], minor=True)
    for axes in (left, right):
        axes.legend(loc="best")
    return figure
