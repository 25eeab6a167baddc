"""Theorems 4.1 and 6.1: how the error falls with the width m of the readout |y|_2, y in R^2.

Networks of two kinds: m neurons drawn as in the proof of Lemma F.6, whose error falls like m^-1/2,
and m neurons spread evenly, whose error falls like m^-2.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from repro.numerics import barron


def networks(
    widths: Sequence[int], draws: int, rng: np.random.Generator
) -> Iterator[tuple[str, int, barron.Network]]:
    """For each width so many drawn networks, and the one whose neurons are spread evenly."""
    for m in widths:
        for _ in range(draws):
            yield "drawn", m, barron.norm_network(2, m, rng)
        yield "spread", m, barron.norm_network(2, m)


class Curves:
    """Errors and proved bounds of both kinds of networks, in the order of `networks`."""

    def __init__(self, widths: Sequence[int]) -> None:
        self.widths = widths
        self.errors: dict[str, list[float]] = {"drawn": [], "spread": []}
        self.bounds: dict[str, list[float]] = {"drawn": [], "spread": []}

    def add(self, kind: str, error: float, bound: float) -> None:
        self.errors[kind].append(error)
        self.bounds[kind].append(bound)

    def exponent(self) -> tuple[float, float]:
        """Of m for drawn networks, between the ends; and 3 standard errors of it."""
        errors = np.reshape(self.errors["drawn"], (len(self.widths), -1))
        means, octaves = errors.mean(1), np.log(self.widths[-1] / self.widths[0])
        relative = errors.std(1, ddof=1) / means / math.sqrt(errors.shape[1])
        error = 3 * math.hypot(relative[0], relative[-1]) / octaves
        return float(np.log(means[-1] / means[0]) / octaves), float(error)

    def means(self, kind: str) -> list[np.ndarray]:
        """Errors and bounds at each width."""
        both = self.errors[kind], self.bounds[kind]
        return [np.reshape(one, (len(self.widths), -1)).mean(1) for one in both]


def square(points: int) -> np.ndarray:
    """So many points on each side of [-1, 1]^2; (4 points, 2)."""
    side = np.linspace(-1, 1, points, endpoint=False)
    one = np.ones_like(side)
    sides = (side, one), (one, -side), (-side, -one), (-one, side)
    return np.concatenate([np.stack(pair, axis=1) for pair in sides])


def edge_windows(n: int, rng: np.random.Generator) -> np.ndarray:
    """Windows with (x_t, x_{t-2}) on the boundary of the square and random signs elsewhere."""
    windows = rng.choice([-1.0, 1.0], (256, n, 1))
    windows[:, -1, 0], windows[:, -3, 0] = square(64).T
    return windows
