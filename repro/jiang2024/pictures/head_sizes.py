"""Figure 3: errors and spectra against the size of the heads."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from repro import figures
from repro.numerics.plateau import Plateau

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Seeds = Mapping[int, Sequence[float]]


def errors(
    trained: Seeds, fit: Plateau, printed: Mapping[str, float], fixed: Seeds, cut: Seeds
) -> "Figure":
    """Training errors: of heads trained at a size, with values of their own, and of cut ones."""
    sizes: Any = np.array(list(trained), float)
    law = f"printed, ViT-B/16: $m_h^{{-{printed['b']}}} + {printed['c']}$"
    fitted = f"${fit.a:.2f}\\, m_h^{{-{fit.b:.2f}}} + {fit.c:.2f}$"
    open_marks = {"marker": "v", "markerfacecolor": "white"}
    drawn = [
        figures.Curve("bound", sizes.tolist(), fit(sizes).tolist(), fitted),
        figures.Curve("floor", sizes.tolist(), sizes ** -printed["b"] + printed["c"], law),
        _seeds("trained", trained, "trained, $d_v = m_h$"),
        _seeds("trained", fixed, "trained, values of one size", **open_marks),
        _seeds("construction", cut, "largest heads, cut to $m_h$ terms"),
    ]
    y, size = "training error (cross-entropy)", (6.4, 4.2)
    return figures.curves({"": drawn}, x="$m_h$", y=y, log="x", ticks=True, size=size)


def _seeds(role: str, found: Seeds, label: str, **look: Any) -> figures.Curve:
    """A dot for each seed."""
    places = [m for m, values in found.items() for _ in values]
    every = [value for values in found.values() for value in values]
    return figures.Curve(role, places, every, label, {"linestyle": "", **look})


def spectra(
    averaged: Mapping[int, Sequence[float]], steps: Mapping[int, float], seeds: float
) -> "Figure":
    """Averaged singular values for each m_h, and how far each is from the size before."""
    figure, (left, right) = figures.panels(2, width=4.8, height=3.9)
    shades = np.linspace(0.82, 0.0, len(averaged))
    for shade, (m, values) in zip(shades, averaged.items(), strict=True):
        look, places = {"color": str(shade), "markersize": 3}, range(1, len(values[:m]) + 1)
        figures.draw(left, "trained", places, values[:m], f"$m_h = {m}$", **look)
    figures.decades(left, "xy", xlabel="$k$", ylim=(1e-4, 1.5))
    left.set(ylabel="$\\sigma_k$, mean over inputs (sum of squares 1)")
    figures.draw(right, "trained", list(steps), list(steps.values()), "to the size before")
    figures.draw(right, "bound", [min(averaged), max(averaged)], [seeds] * 2, "between seeds")
    figures.decades(right, "x", xlabel="$m_h$", ylabel="distance of averaged spectra")
    right.set(ylim=(0, None))
    right.set_xticks(list(averaged), list(map(str, averaged)))
    for axes in (left, right):
        axes.legend()
    return figure
