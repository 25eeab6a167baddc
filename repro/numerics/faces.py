"""The largest distance of a ReLU network without biases from |y|_2 over a box around 0.

The network sum_k a_k relu(b_k.y) and |y|_2 are homogeneous of degree 1. So is the error: its
supremum is attained on the boundary, in proportion to the box. What is bounded here is |error| on
the faces of [-1, 1]^d or of [0, 1]^d, in floating point, without its rounding.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from repro.numerics.barron import Network

ROUNDOFF = 2.0**-53
CHUNK = 2_000_000  # products b.x held at once
FIRST = 8  # cells along an edge of the box, to begin with


class Face(NamedTuple):
    """Where x[axis] = sign and the other coordinates are in [low, 1]."""

    axis: int
    sign: int
    low: float

    def centres(self, d: int, h: float) -> np.ndarray:
        line = np.arange(self.low + h, 1, 2 * h)
        rest = np.stack(np.meshgrid(*[line] * (d - 1), indexing="ij"), axis=-1).reshape(-1, d - 1)
        return np.insert(rest, self.axis, self.sign, axis=1)

    def divided(self, x: np.ndarray, h: float) -> np.ndarray:
        """The centres of the halves, in each of the face's directions, of cells around x."""
        for j in range(x.shape[1]):
            if j != self.axis:
                step = h * np.eye(x.shape[1])[j]
                x = np.concatenate([x - step, x + step])
        return x


def faces(d: int, positive: bool) -> list[Face]:
    """Those of [-1, 1]^d; of [0, 1]^d the ones away from 0, which suffice by homogeneity."""
    signs, low = ((1,), 0.0) if positive else ((1, -1), -1.0)
    return [Face(axis, sign, low) for axis in range(d) for sign in signs]


def on_edges(network: "Network", *, positive: bool = False) -> float:
    """sup of the error over the square, from closed forms on its edges.

    On the edge (1, t) the error sqrt(1 + t^2) - f_m is convex between two kinks of f_m: its
    extremes are at kinks and corners, and where t / sqrt(1 + t^2) is the slope of f_m there.
    """
    return max(_on_edge(network, edge) for edge in faces(2, positive))


def _on_edge(network: "Network", edge: Face) -> float:
    a, b, _ = network
    across, along = edge.sign * b[:, edge.axis], b[:, 1 - edge.axis]
    moving = along != 0
    kinks = np.full(len(a), edge.low)
    kinks[moving] = -across[moving] / along[moving]
    inner = np.flatnonzero(moving & (kinks > edge.low) & (kinks < 1))
    inner = inner[np.argsort(kinks[inner])]
    knots = np.concatenate([[edge.low], kinks[inner], [1.0]])
    before = np.where(kinks > edge.low, edge.low, 1)  # on the first piece's side of the kink
    first = across + along * before > 0  # the neurons active on it
    switched = (a * np.sign(along))[inner]  # on, where the slope is positive, or off
    levels = np.cumsum([(a * across) @ first, *(switched * across[inner])])
    slopes = np.cumsum([(a * along) @ first, *(switched * along[inner])])
    flat = slopes / np.sqrt(np.maximum(1 - slopes**2, ROUNDOFF))
    places = knots[:-1], knots[1:], np.clip(flat, knots[:-1], knots[1:])
    return max(np.abs(np.sqrt(1 + t**2) - levels - slopes * t).max() for t in places)


def on_cells(
    network: "Network", *, positive: bool = False, close: float = 0.05, work: float = 4e8
) -> tuple[float, float]:
    """sup of the error over [-1, 1]^d or [0, 1]^d, from below and above; about `work` products.

    Let a cell have centre x, half-width h, and let u = x / |x|. For v on the cell,
    |v| - |x| - u.(v - x) is between 0 and (d - 1) h^2 / 2, since |x| >= 1. On it z = b.x moves by
    at most t = h |b|_1, where |.|_1 leaves out the coordinate that the face fixes. If |z| >= t, the
    neuron is linear; if not, the slope (1 + z/t) / 2 is off by at most (t - |z|) / 2. So
        |error at v| <= |error at x| + h |u - s|_1 + sum_k |a_k| relu(t_k - |z_k|) / 2 + (d-1) h^2/2
    with s the sum of the neurons' slopes. Cells are divided until that is `close` to the largest
    error found.
    """
    d, m = network.b.shape[1], len(network.a)
    h, lower, upper = 1 / FIRST, 0.0, 0.0
    cells = [(face, face.centres(d, h)) for face in faces(d, positive)]
    while True:
        found = [(face, x, *on_face(network, face, x, h)) for face, x in cells]
        lower = max(lower, *(errors.max() for *_, errors, _ in found))
        work -= m * sum(len(x) for _, x in cells)
        far = [(face, x, bounds, bounds > (1 + close) * lower) for face, x, _, bounds in found]
        upper = max(upper, *(bounds[~more].max(initial=0) for *_, bounds, more in far))
        left = m * 2 ** (d - 1) * sum(more.sum() for *_, more in far)
        if not 0 < left <= work:
            upper = max(upper, *(bounds[more].max(initial=0) for *_, bounds, more in far))
            return lower, upper
        h /= 2
        cells = [(face, face.divided(x[more], h)) for face, x, _, more in far if more.any()]


def on_face(
    network: "Network", face: Face, x: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray]:
    """|error| at the centres of the cells, and its bound on them; both (N,)."""
    rows = max(1, CHUNK // len(network.a))  # setting: how much at a time
    parts = [_on_chunk(network, face, x[i : i + rows], h) for i in range(0, len(x), rows)]
    errors, bounds = (np.concatenate(part) for part in zip(*parts, strict=True))
    return errors, bounds


def _on_chunk(
    network: "Network", face: Face, x: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray]:
    a, b, _ = network
    own = [j for j in range(x.shape[1]) if j != face.axis]
    t = h * np.abs(b[:, own]).sum(-1) + ROUNDOFF
    z, length = x @ b.T, np.linalg.norm(x, axis=1)
    errors = np.abs(length - np.maximum(z, 0) @ a)
    slopes = x[:, own] / length[:, None] - (np.clip((1 + z / t) / 2, 0, 1) * a) @ b[:, own]
    kinks = np.maximum(t - np.abs(z), 0) @ np.abs(a) / 2
    return errors, errors + h * np.abs(slopes).sum(-1) + kinks + len(own) * h**2 / 2
