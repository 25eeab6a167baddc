"""Figure 3: errors and spectra against the size of the heads."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from repro import figures
from repro.numerics.plateau import Plateau

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Seeds = Mapping[int, Sequence[float]]


def errors(
    trained: Seeds, fit: Plateau, printed: Mapping[str, float], fixed: Seeds, cut: Seeds
) -> "Figure":
    """Training errors: of heads trained at a size, with values of their own, and of cut ones."""
    figure, [axes] = figures.panels(1, width=6.4, height=4.2)
    sizes = np.geomspace(min(trained), max(trained), 100)
    law = f"${fit.a:.2f}\\, m_h^{{-{fit.b:.2f}}} + {fit.c:.2f}$"
    figures.draw(axes, "bound", sizes, fit(sizes), law)
    law = f"printed, ViT-B/16: $m_h^{{-{printed['b']}}} + {printed['c']}$"
    figures.draw(axes, "floor", sizes, sizes ** -printed["b"] + printed["c"], law)
    _seeds(axes, "trained", trained, "trained, $d_v = m_h$")
    look = {"marker": "v", "markerfacecolor": "white"}
    _seeds(axes, "trained", fixed, "trained, values of one size", **look)
    _seeds(axes, "construction", cut, "largest heads, cut to $m_h$ terms")
    axes.set(xscale="log", xlabel="$m_h$", ylabel="training error (cross-entropy)")
    _sizes(axes, trained)
    axes.legend()
    return figure


def spectra(
    averaged: Mapping[int, Sequence[float]], steps: Mapping[int, float], seeds: float
) -> "Figure":
    """Averaged singular values for each m_h, and how far each is from the size before."""
    figure, (left, right) = figures.panels(2, width=4.8, height=3.9)
    shades = np.linspace(0.82, 0.0, len(averaged))
    for shade, (m, values) in zip(shades, averaged.items(), strict=True):
        shown = np.asarray(values)[: min(m, len(values))]
        places = np.arange(1, len(shown) + 1)
        look = {"color": str(shade), "markersize": 3}
        figures.draw(left, "trained", places, shown, f"$m_h = {m}$", **look)
    left.set(xscale="log", yscale="log", xlabel="$k$", ylim=(1e-4, 1.5))
    left.set(ylabel="$\\sigma_k$, mean over inputs (sum of squares 1)")
    left.legend()
    figures.draw(right, "trained", list(steps), list(steps.values()), "to the size before")
    figures.draw(right, "bound", [min(averaged), max(averaged)], [seeds] * 2, "between seeds")
    right.set(xscale="log", xlabel="$m_h$", ylabel="distance of averaged spectra", ylim=(0, None))
    right.legend()
    _sizes(right, averaged)
    return figure


def _seeds(axes: "Axes", role: str, found: Seeds, label: str, **look: object) -> None:
    """A dot for each seed."""
    at = [m for m, values in found.items() for _ in values]
    every = [value for values in found.values() for value in values]
    figures.draw(axes, role, at, every, label, linestyle="", **look)


def _sizes(axes: "Axes", sizes: Mapping[int, object]) -> None:
    axes.set_xticks(list(sizes), [str(m) for m in sizes])
    axes.minorticks_off()
