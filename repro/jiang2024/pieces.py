"""Section D.2: functions given in pieces on disjoint intervals, and their Hoelder constants.

(91) reads |f(x) - f(y)| <= C |x - y|^alpha. Let alpha = 1/p with an integer p >= 1, and let f be
linear on each of several disjoint intervals. For x and y in two of them, or in one,
|f(x) - f(y)|^p / |x - y| is quasi-convex in (x, y): |f(x) - f(y)|^p <= c |x - y| is a convex set,
as f(x) - f(y) and |x - y| are linear there. So its largest values are taken at the ends:

    C^p = max |f(x) - f(y)|^p / |x - y|  over ends x != y,        a rational number (`hoelder`).

A permutation of pieces of one length keeps the sup norm and the slopes. Points of different pieces
are at a distance of at least the smallest gap g and at most the diameter D of the whole, so

    C~ <= C (D/g)^alpha.

Every extension of f to the convex hull has at least the constant C; McShane's, min over y of
f(y) + C |x - y|^alpha, has no larger one. The extension in the proof of Tietze's theorem for metric
spaces (Dieudonne, Foundations of Modern Analysis, (4.5.1)),

    inf_y f(y) |x - y| / inf_y |x - y|,   f scaled to [1, 2],

has the constant 9 for the values 0, 1 on [2, 3], [4, 5], where C = 1: between 7/2 and 11/3 it is
(x - 3)/(4 - x), scaled, with the derivative 1/(4 - x)^2.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import flint


@dataclass(frozen=True)
class Pieces:
    """f linear on each of these disjoint intervals, in increasing order."""

    intervals: Sequence[tuple[flint.fmpq, flint.fmpq]]
    values: Sequence[tuple[flint.fmpq, flint.fmpq]]  # at the two ends

    @property
    def ends(self) -> list[tuple[flint.fmpq, flint.fmpq]]:
        """(x, f(x)) at all ends."""
        return [pair for xs, ys in self._both() for pair in zip(xs, ys, strict=True)]

    def _both(self) -> Iterator[tuple[Any, Any]]:
        return zip(self.intervals, self.values, strict=True)

    def on_a_grid(self, count: int) -> list[tuple[flint.fmpq, flint.fmpq]]:
        """(x, f(x)) at `count` + 1 equidistant places of every piece."""
        shares, both = [flint.fmpq(k, count) for k in range(count + 1)], self._both()
        return [(x + (y - x) * k, fx + (fy - fx) * k) for (x, y), (fx, fy) in both for k in shares]

    def slopes(self) -> list[flint.fmpq]:
        """Of all pieces, in increasing order."""
        return sorted((b - a) / (high - low) for (low, high), (a, b) in self._both())

    def permuted(self, p: Sequence[int]) -> "Pieces":
        """Piece t shows what piece p[t] showed."""
        return Pieces(self.intervals, [self.values[t] for t in p])

    def hoelder(self, p: int = 1) -> flint.fmpq:
        """C^p for the least C of (91) with alpha = 1/p."""
        pairs = itertools.combinations(self.ends, 2)
        return max(abs(fx - fy) ** p / abs(x - y) for (x, fx), (y, fy) in pairs if x != y)

    def sup(self) -> flint.fmpq:
        return max(abs(value) for _, value in self.ends)

    def reach(self) -> flint.fmpq:
        """D/g: diameter over smallest gap."""
        gaps = (after[0] - before[1] for before, after in itertools.pairwise(self.intervals))
        return (self.intervals[-1][1] - self.intervals[0][0]) / min(gaps)

    def mcshane(self, x: flint.fmpq) -> flint.fmpq:
        """The extension with the same Lipschitz constant and, clipped, with the same sup norm."""
        for (low, high), (at_low, at_high) in self._both():
            if low <= x <= high:
                return at_low + (at_high - at_low) * (x - low) / (high - low) if x > low else at_low
        C, sup = self.hoelder(), self.sup()
        return min(sup, min(value + C * abs(x - end) for end, value in self.ends))

    def tietze(self, x: flint.fmpq) -> flint.fmpq:
        """The extension of Tietze's theorem; for constants, where the nearest ends decide."""
        for (low, high), (value, _) in self._both():
            if low <= x <= high:
                return value
        lowest = min(value for _, value in self.ends)
        height = max(value for _, value in self.ends) - lowest or flint.fmpq(1)
        scaled = min((1 + (value - lowest) / height) * abs(x - end) for end, value in self.ends)
        return lowest + height * (scaled / min(abs(x - end) for end, _ in self.ends) - 1)


def staircase(values: Sequence[int]) -> Pieces:
    """These constants on [2t, 2t + 1], t = 1, 2, ...: the rooms of the shifted encoding."""
    times = range(1, len(values) + 1)
    intervals = [(flint.fmpq(2 * t), flint.fmpq(2 * t + 1)) for t in times]
    return Pieces(intervals, [(flint.fmpq(v), flint.fmpq(v)) for v in values])
