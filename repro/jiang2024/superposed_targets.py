"""Theorem A.3: targets whose superposition (22) is known, with 2 tau d + 1 terms each.

Every target comes as the superposition and as the function that it is, for tokens z in [0, 1]^d.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from repro.jiang2024.model import Function
from repro.jiang2024.representation import Superposition
from repro.numerics.exact import rational


def ridges(directions: Sequence[Any], outer: Function) -> Superposition:
    """(22) with psi_qs(z) = the part of (D_q . z) that belongs to s, moved into [0, 1].

    D: (Q, tau, d) with entries -1, 0, 1; z counts as 1 - z where D = -1, and d divides. So the sums
    over s are (D_q . z + N_q)/d with N_q entries -1 in D_q; `outer` gets all D_q . z.
    """
    D, d = np.array(directions), np.shape(directions)[-1]

    def inner(s: int, z: np.ndarray) -> np.ndarray:
        up, down = D[:, s] == 1, D[:, s] == -1  # (Q, d)
        parts = (z[..., [j]] * up[:, j] + (1 - z[..., [j]]) * down[:, j] for j in range(d))
        return np.add.reduce(list(parts)) / rational(d)

    tokens, negative = range(D.shape[1]), (D == -1).sum((1, 2))
    inners = [functools.partial(inner, s) for s in tokens]
    return Superposition(inners, lambda v: outer(v * d - negative), len(D))


def two_tokens() -> tuple[Superposition, Function]:
    """z_1 z_2 and |z_1 - z_2|."""
    D = [[[1], [1]], [[1], [0]], [[0], [1]], [[1], [-1]], [[0], [0]]]

    def outer(v: np.ndarray) -> np.ndarray:
        product = (v[..., 0] ** 2 - v[..., 1] ** 2 - v[..., 2] ** 2) / 2
        return np.stack([product, abs(v[..., 3])], axis=-1)

    def stated(z: np.ndarray) -> np.ndarray:
        return np.stack([z[..., 0, 0] * z[..., 1, 0], abs(z[..., 0, 0] - z[..., 1, 0])], axis=-1)

    return ridges(D, outer), stated


def three_tokens() -> tuple[Superposition, Function]:
    """z_1 z_2 + z_2 z_3, max(z_1, z_3) and (z_1 + z_2 + z_3)^3."""
    D = [[[1], [1], [0]], [[0], [1], [1]], [[1], [0], [0]], [[0], [1], [0]], [[0], [0], [1]],
         [[1], [0], [-1]], [[1], [1], [1]]]  # fmt: skip

    def outer(v: np.ndarray) -> np.ndarray:
        squares = v**2
        pairs = squares[..., 0] + squares[..., 1] - squares[..., 2] - 2 * squares[..., 3]
        largest = (v[..., 2] + v[..., 4] + abs(v[..., 5])) / 2
        return np.stack([(pairs - squares[..., 4]) / 2, largest, v[..., 6] ** 3], axis=-1)

    def stated(z: np.ndarray) -> np.ndarray:
        a, b, c = (z[..., s, 0] for s in range(3))
        return np.stack([a * b + b * c, np.maximum(a, c), (a + b + c) ** 3], axis=-1)

    return ridges(D, outer), stated


def two_points_of_the_plane() -> tuple[Superposition, Function]:
    """The inner product of two tokens, and their distance in the largest coordinate."""
    one, two = [1, 0], [0, 1]
    D = [[one, one], [two, two], [one, [0, 0]], [two, [0, 0]], [[0, 0], one], [[0, 0], two],
         [[1, 1], [-1, -1]], [[1, -1], [-1, 1]], [[0, 0], [0, 0]]]  # fmt: skip

    def outer(v: np.ndarray) -> np.ndarray:
        squares = v**2
        inner = (squares[..., 0] + squares[..., 1] - squares[..., 2:6].sum(-1)) / 2
        return np.stack([inner, (abs(v[..., 6]) + abs(v[..., 7])) / 2], axis=-1)

    def stated(z: np.ndarray) -> np.ndarray:
        x, y = z[..., 0, :], z[..., 1, :]
        return np.stack([(x * y).sum(-1), abs(x - y).max(-1)], axis=-1)

    return ridges(D, outer), stated


TARGETS: dict[tuple[int, int], Callable[[], tuple[Superposition, Function]]] = {
    (2, 1): two_tokens,
    (3, 1): three_tokens,
    (2, 2): two_points_of_the_plane,
}  # by tau and d
