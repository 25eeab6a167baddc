"""Barron functions: averages of ReLU neurons, their norms, their networks, and how far those are.

A measure rho has finitely many atoms (a, b, c) with probabilities; its function and its norms are
    f(x) = E_rho[a relu(b.x + c)],     B_p = (E_rho[s^p])^(1/p),   s = |a| (|b|_1 + |c|),
with B_inf the largest s of positive probability. The Barron norm of f is the infimum of B_p over
all rho that represent f; it does not depend on p (`Measure.rebalanced`).
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import flint
import numpy as np

from repro.numerics.exact import rationals, to_float, vector
from repro.numerics.faces import ROUNDOFF, faces, on_cells, on_edges
from repro.numerics.minimax import best_on_points

GOLDEN = (1 + math.sqrt(5)) / 2


class Network(NamedTuple):
    """f_m(x) = sum_k a_k relu(b_k.x + c_k), m neurons."""

    a: np.ndarray  # (m,)
    b: np.ndarray  # (m, d)
    c: np.ndarray  # (m,)


class Enclosure(NamedTuple):
    """lower <= supremum <= upper; `lower` is attained."""

    lower: float
    upper: float


def value(network: Network, x: np.ndarray) -> np.ndarray:
    """f_m at points x (..., d); floats or exact numbers."""
    a, b, c = network
    return np.maximum(x @ b.T + c, 0) @ a


def path_norm(network: Network) -> Any:
    """sum_k |a_k| (|b_k|_1 + |c_k|): bounds Barron norm and Lipschitz constant in the sup norm."""
    a, b, c = network
    return (abs(a) * (abs(b).sum(-1) + abs(c))).sum()


# --- measures ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """Finitely many neurons (a, b, c) with probabilities, in exact rationals.

    >>> rho = Measure.of((("1/2", 2, [1], 0), ("1/2", -3, [1], "1/2")))
    >>> rho([1]), rho.moment(1)  # relu(1) - 3/2 relu(3/2), and E |a| (|b| + |c|)
    (-5/4, 13/4)
    """

    probabilities: np.ndarray  # (K,)
    a: np.ndarray  # (K,)
    b: np.ndarray  # (K, d)
    c: np.ndarray  # (K,)

    def __post_init__(self) -> None:
        if any(p < 0 for p in self.probabilities) or sum(self.probabilities) != 1:
            found = ", ".join(map(str, self.probabilities))
            raise ValueError(f"a measure needs probabilities that sum to 1, got {found}")

    @classmethod
    def of(cls, atoms: Any) -> "Measure":
        """From atoms (probability, a, b, c)."""
        return cls(*(rationals(list(column)) for column in zip(*atoms, strict=True)))

    def __call__(self, x: Any) -> Any:
        """f at a point x (d,), exactly."""
        return value(self.network(), rationals(x))

    def network(self) -> Network:
        """All atoms as the neurons of a network, each with its probability in a_k."""
        return Network(self.probabilities * self.a, self.b, self.c)

    def sizes(self) -> np.ndarray:
        """s = |a| (|b|_1 + |c|) of each atom."""
        return abs(self.a) * (abs(self.b).sum(-1) + abs(self.c))

    def moment(self, p: int) -> flint.fmpq:
        """E s^p = (B_p)^p for an integer p: exact, as the root would not be."""
        return (self.probabilities * self.sizes() ** p).sum()

    def largest(self) -> flint.fmpq:
        """B_inf, the essential supremum: atoms of probability 0 do not count."""
        return max(self.sizes()[self.probabilities > 0])

    def norm(self, p: float) -> float:
        """B_p in floating point."""
        return float(self.largest()) if p == math.inf else float(self.moment(int(p))) ** (1 / p)

    def rebalanced(self) -> "Measure":
        """The same function with all sizes equal to S = B_1.

        relu(t z) = t relu(z) for t > 0. Replace each atom by
            (S sign(a), b / (|b|_1 + |c|), c / (|b|_1 + |c|)),    probability p s / S.
        The new probability times the new neuron is the old product, so f is the same; every s is
        S, so B_p = S for all p. With Jensen's B_1 <= B_p <= B_inf, the infima of all B_p agree.
        """
        S = self.moment(1)
        if S == 0:
            return Measure.of([(1, 0, [0] * self.b.shape[1], 0)])
        kept = self.sizes() * self.probabilities > 0
        p, a, b, c = (part[kept] for part in (self.probabilities, self.a, self.b, self.c))
        t = abs(b).sum(-1) + abs(c)
        return Measure(p * abs(a) * t / S, S * a / abs(a), b / t[:, None], c / t)

    def sample(self, m: int, rng: np.random.Generator) -> Network:
        """The average of m atoms drawn independently: Maurey's network."""
        k = rng.choice(len(self.a), size=m, p=to_float(self.probabilities))
        return Network(self.a[k] / m, self.b[k], self.c[k])


def sampling_bound(second_moment: float, d: int, m: int, half_width: float) -> float:
    """At least E sup |f - f_m| on |x|_inf <= r; `second_moment` is E a^2 (|b|_2^2 + c^2).

    m neurons drawn from rho, averaged, have f as their mean (Maurey). On |x|_inf <= r,
        E sup |f - f_m| <= 2 E sup |1/m sum_k e_k a_k relu(w_k.(x, 1))|            symmetrisation
                        <= 4 E sup |1/m sum_k e_k a_k w_k.(x, 1)|                  contraction
                        <= 4 max(1, r) / m  E |sum_k e_k a_k w_k|_1                duality
                        <= 4 max(1, r) sqrt((d + 1) / m) sqrt(E a^2 |w|_2^2)       Cauchy, Jensen
    with w = (b, c) and independent signs e_k; the last root is at most B_2, and rebalanced atoms
    have B_2 = B_1. Some draw does as well as the mean.
    """
    return 4 * max(1.0, half_width) * math.sqrt((d + 1) / m) * math.sqrt(second_moment)


# --- the Euclidean norm --------------------------------------------------------------------------


def norm_network(dimension: int, m: int, rng: np.random.Generator | None = None) -> Network:
    """m neurons for |y|_2 in R^2 or R^3: drawn from the uniform measure, or well spread.

    Well spread are equispaced angles in the plane and Fibonacci's points on the sphere.
    """
    c_d = norm_constant(dimension)
    if rng is None:
        b = _spread(dimension, m)
    else:
        b = rng.standard_normal((m, dimension))
        b /= np.linalg.norm(b, axis=1, keepdims=True)
    return Network(np.full(m, c_d / m), b, np.zeros(m))


def norm_constant(dimension: int) -> float:
    """c_d with |y|_2 = c_d E relu(b.y) for b uniform on the sphere: c_2 = pi, c_3 = 4."""
    return {2: math.pi, 3: 4.0}[dimension]


def barron_norm_of_norm(dimension: int) -> int:
    """c_d E|b|_1 = 2d, an upper bound for the Barron norm of |y|_2 on any box around 0.

    E|b_1| = 2 / c_d, since relu(b_1) is |b_1| half of the time; and E|b|_1 = d E|b_1|.
    """
    return 2 * dimension


def _spread(dimension: int, m: int) -> np.ndarray:
    k = np.arange(m)
    if dimension == 2:
        angles = 2 * math.pi * k / m
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    height, angles = 1 - (2 * k + 1) / m, 2 * math.pi * k / GOLDEN
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(angles), radius * np.sin(angles), height], axis=1)


def best_plane_network(m: int) -> Network:
    """No network of m neurons without biases is nearer to |y|_2 on the unit disc; m >= 3 is odd.

    m neurons bend on m lines through 0; these cut the unit circle into arcs, one of which has a
    half-angle of at least h = pi / (2m). There f_m is linear, s.y, and the error e = 1 - s.y at its
    angles -h, 0, h satisfies e(-h) + e(h) - 2 cos(h) e(0) = 2 - 2 cos h. So sup |e| is at least
    (1 - cos h) / (1 + cos h) = tan^2(h/2). Equispaced angles t_k have just that: their sum of
    relu(cos(t - t_k)) is cos(u) / (2 sin h), |u| <= h.
    """
    h = math.pi / (2 * m)
    a = 4 * math.sin(h) / (1 + math.cos(h))
    return Network(np.full(m, a), _spread(2, m), np.zeros(m))


def best_plane_error(m: int) -> float:
    """tan^2(pi / (4m)): the error of `best_plane_network`."""
    return math.tan(math.pi / (4 * m)) ** 2


def with_best_weights(network: Network, x: np.ndarray) -> Network:
    """The same directions with the outer weights that are best for |x|_2 at these points (N, d)."""
    columns = np.maximum(x @ network.b.T + network.c, 0)
    found = best_on_points(columns, np.linalg.norm(x, axis=1))
    return network._replace(a=found.coefficients)


def sup_error(network: Network, half_width: float, *, positive: bool = False) -> Enclosure:
    """sup of | |y|_2 - f_m(y) | over [-r, r]^d, or over [0, r]^d, r = half_width; biases are 0.

    Exact up to round-off in the plane. In R^3 cells are divided until the enclosure is 5 % wide, or
    it is too much work; either way it is proved.
    """
    a, b, c = network
    if np.any(c):
        raise ValueError("the error is homogeneous only without biases, got some c_k != 0")
    d = b.shape[1]
    if d == 2:
        lower = upper = on_edges(network, positive=positive)
    else:
        lower, upper = on_cells(network, positive=positive)
    # of b.x, of the sum over m neurons and of |x|, on a box with r = 1
    room = 2 * (len(a) + 3 * d + 8) * ROUNDOFF * (path_norm(network) + d)
    return Enclosure(half_width * max(float(lower - room), 0.0), half_width * float(upper + room))


def surface(d: int, h: float) -> np.ndarray:
    """The centres of the cells of half-width h on all faces of [-1, 1]^d."""
    return np.concatenate([face.centres(d, h) for face in faces(d, positive=False)])


# --- what no network sees ------------------------------------------------------------------------


def blind_vertex(b: np.ndarray) -> np.ndarray:
    """A point x of the unit cube with b.x = b.(1/2, ..., 1/2), in rationals; b: (m, d), d > m.

    At least d - m of its coordinates are 0 or 1: from the centre on we walk, within the plane and
    within the face reached so far, until another coordinate is. To m neurons both points look
    alike, so |f - f_m| >= (d - m) / (2d) somewhere for f = 1/d sum_j |2 x_j - 1|, of Barron norm at
    most 6, whatever f_m is: the factor sqrt(d + 1) of `sampling_bound` is needed.
    """
    m, d = b.shape
    x, free = rationals([1] * d) / 2, np.arange(d)
    while len(free) > m:
        rows = rationals(b[:, free]).ravel().tolist()
        integers, _ = flint.fmpq_mat(m, len(free), rows).numer_denom()
        kernel, _ = integers.nullspace()
        y = vector([flint.fmpq(kernel[i, 0]) for i in range(len(free))])
        moving = y != 0
        steps = ((y[moving] > 0).astype(int) - x[free][moving]) / y[moving]
        x[free] += min(steps) * y
        free = np.array([j for j in free if 0 < x[j] < 1], dtype=int)
    return x
