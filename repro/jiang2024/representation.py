"""Theorem A.3 and around it: every continuous target on encoded inputs has form (8), exactly.

Paper               Here           Meaning
I_s                 Encoding       the room of token s; a token is read as (s, z), z in [0, 1]^d
H~_t(x)             H              z (..., tau, d) -> (..., tau), any continuous target
sigma[rho(...)]     w (tau, tau)   attention by position: rho = log w_ts for u in I_t, v in I_s
u_t                 averages       sum_s w_ts f(x(s)), what F reads
psi_qs, g_q^(t)     inner, outer   of (22), for every t

All numbers are rationals, in numpy arrays of objects: an error of 0 is 0.

**n = tau d is enough.** Let the rows of w be positive, of sum 1 and pairwise different, and

    f(x) = e_s (x) (a + b z) for x in I_s:    block s of u_t is w_ts (a + b z_s).

Divided by row t of w, u_t gives back all z. Divided by another row t', block s becomes r (a + b
z_s) with r = w_ts / w_t's, and is read as a place outside [0, 1], by at least

    a (r - 1)/b - 1  if r > 1,        a (1 - r)/b - r  if r < 1.

Let delta be the least over t != t' of the largest of these over s (`gap`). If delta > 0, which a
small b ensures, the images of u_1, ..., u_tau are disjoint, and with z^t(u) = (u/w_t - a)/b

    F(u) = sum_t max(0, 1 - dist(z^t(u), [0, 1]^n) / delta) H_t(clip z^t(u))

is continuous on R^n, with F(u_t(x)) = H_t(x). In sup norms its Lipschitz constant is at most
tau (sup|H| / delta + Lip(H)) / (b min w). For the weights of (25), 2 and 1 over tau + 1, every
b < a will do; for the rank-one coupling rho = eps t s, b must be of order eps.

**n < tau d is not.** For all continuous f and rho, u_t is continuous. On the boundary of the cube
of all z, a sphere with the antipodes z and 1 - z, Borsuk and Ulam find a z with u_t(z) = u_t(1 - z)
if n < tau d. One of its coordinates is 0 or 1, hence 1 or 0 in the antipode, but F has one value
for both. So for the target H_t that is this coordinate every F is off by at least 1/2, which the
constant 1/2 attains: one pair (f, rho) serves all targets only if n >= tau d.

**The printed n = tau (2 tau d + 1) + 1.** F_1 of (28) subtracts psi_qt(x_t), which u does not show.
Repaired: a coordinate for each pair (q, t'), with c_t' = min_s w_t's,

    f(x)_(q,t') = psi_qs(z) c_t' / w_t's,    f(x)_n = s / tau,    for x in I_s.

Then u_t holds c_t sum_s psi_qs(z_s) at (q, t), and its last entry tells t if sum_s w_ts s differs
from row to row. F reads block t and subtracts nothing. For (25), psi is halved where s = t'.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from repro.jiang2024 import encodings
from repro.jiang2024.model import Coupling, Function, Target, Transformer
from repro.numerics.arrays import each
from repro.numerics.exact import rational, rationals
from repro.numerics.logarithms import Log


@dataclass(frozen=True)
class Encoding:
    """Puts token s into I_s, and reads the room s = 1, ..., tau and the place z off a token."""

    encode: Function
    read: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _shifted(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s = rationals(encodings.rooms(x))
    return s, x - 2 * s[..., None]


SHIFTED = Encoding(encodings.shifted, _shifted)
APPENDED = Encoding(encodings.appended, lambda x: (x[..., -1], x[..., :-1]))


def doubled_diagonal(tau: int) -> np.ndarray:
    """(25): the weight 2/(tau + 1) for s = t, and 1/(tau + 1) for the others."""
    return (rationals(np.eye(tau, dtype=int)) + 1) / (tau + 1)


def rank_one(tau: int, growth: Any) -> np.ndarray:
    """The softmax of rho = eps t s, where growth = e^eps."""
    times = range(1, tau + 1)
    powers = rationals([[rational(growth) ** (t * s) for s in times] for t in times])
    return powers / powers.sum(-1, keepdims=True)


def by_position(w: np.ndarray, encoding: Encoding = SHIFTED) -> Coupling:
    """rho(u, v) = log w_ts for u in I_t and v in I_s; the rows of w have the sum 1."""
    return by_rooms(each(Log, w), encoding)


def by_rooms(logits: np.ndarray, encoding: Encoding = SHIFTED) -> Coupling:
    """rho(u, v) = logits[t, s] for u in I_t and v in I_s."""

    def rho(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        t, s = (encoding.read(x)[0].astype(int) - 1 for x in (u, v))
        return logits[t[..., :, None], s[..., None, :]]

    return rho


def _in_room(s: np.ndarray, tau: int) -> np.ndarray:
    """(...,) -> (..., tau): 1 at the token's room."""
    return rationals((s[..., None] == np.arange(1, tau + 1)).astype(int))


LEAST, SPREAD = rational("3/5"), rational("1/5")
ZERO, ONE = rationals([[0], [1]])


def gap(w: np.ndarray, a: Any, b: Any) -> flint.fmpq:
    """delta: how far outside [0, 1] the images of other u_t are read, at least."""
    return min(
        max(a * (r - 1) / b - 1 if r > 1 else a * (1 - r) / b - r for r in row / other)
        for row, other in itertools.permutations(w, 2)
    )


def spread(w: np.ndarray, a: Any) -> flint.fmpq:
    """The b for which delta = 1, positive if the rows of w differ."""
    return a * min(
        max((r - 1) / 2 if r > 1 else (1 - r) / (1 + r) for r in row / other)
        for row, other in itertools.permutations(w, 2)
    )


@dataclass(frozen=True)
class Representation:
    """H in form (8) with n = tau d: one F, one f and one rho for all t."""

    H: Function
    w: np.ndarray  # (tau, tau)
    d: int = 1
    a: Any = LEAST
    b: Any = SPREAD
    encoding: Encoding = SHIFTED

    def __post_init__(self) -> None:
        if not gap(self.w, self.a, self.b) > 0:
            enough = f"b = {spread(self.w, self.a)} has delta = 1"
            raise ValueError(f"n = tau d needs delta > 0, which b = {self.b} has not; {enough}")

    @property
    def n(self) -> int:
        return len(self.w) * self.d

    def f(self, x: np.ndarray) -> np.ndarray:  # (..., n)
        s, z = self.encoding.read(x)
        blocks = _in_room(s, len(self.w))[..., None] * (self.a + self.b * z)[..., None, :]
        return blocks.reshape(*s.shape, self.n)

    def F(self, u: np.ndarray) -> np.ndarray:
        """On all of R^n, (..., n) -> (...)."""
        blocks = u.reshape(*u.shape[:-1], len(self.w), self.d)
        delta, total = gap(self.w, self.a, self.b), 0 * u[..., 0]
        for t, row in enumerate(self.w):
            z = (blocks / row[:, None] - self.a) / self.b
            inside = np.clip(z, ZERO, ONE)
            share = 1 - abs(z - inside).max((-2, -1)) / delta
            total = total + np.maximum(share, ZERO) * self.H(inside)[..., t]
        return total

    def target(self) -> Target:
        return Target(self.F, self.f, by_position(self.w, self.encoding))

    def lipschitz_bound(self, sup: Any, lipschitz: Any) -> flint.fmpq:
        """For F on R^n in sup norms, from sup|H| and the Lipschitz constant of H."""
        delta = gap(self.w, self.a, self.b)
        return len(self.w) * (sup / delta + lipschitz) / (self.b * self.w.min())


def one_dimensional_head(form: Representation, growth: Any) -> Transformer:
    """(5) with m_h = 1: f^ = (f, t, s) carries the two factors of rho = eps t s; growth = e^eps."""
    n = form.n

    def f(x: np.ndarray) -> np.ndarray:
        s = form.encoding.read(x)[0][..., None]
        return np.concatenate([form.f(x), s, s], axis=-1)

    W_Q, W_K = rationals(np.zeros((2, 1, n + 2), dtype=int))
    W_Q[0, n], W_K[0, n + 1] = Log(growth), rational(1)
    return Transformer(f, W_Q, W_K, rationals(np.eye(n, n + 2, dtype=int)), form.F)


def antipodes(linear: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """z and 1 - z on the boundary of [0, 1]^N that a linear map into R^n, n < N, confuses."""
    reduced, rank = flint.fmpq_mat(linear.tolist()).rref()
    N = linear.shape[1]
    pivots = [next(j for j in range(N) if reduced[i, j] != 0) for i in range(rank)]
    free = next(j for j in range(N) if j not in pivots)
    kernel = rationals([int(j == free) for j in range(N)])
    for i, j in enumerate(pivots):
        kernel[j] = -reduced[i, free]
    z = (1 + kernel / abs(kernel).max()) / 2
    return z, 1 - z


@dataclass(frozen=True)
class Superposition:
    """(22) for every t at once: H_t(z) = sum_q g_q^(t)(sum_s psi_qs(z_s)).

    inner[s]: (..., d) -> (..., Q) holds psi_0s, psi_1s, ... with values in [0, 1];
    outer: (..., Q) -> (..., tau) holds sum_q g_q^(t) for every t.
    """

    inner: Sequence[Function]
    outer: Function
    Q: int

    def __call__(self, z: np.ndarray) -> np.ndarray:  # (..., tau, d) -> (..., tau)
        return self.outer(sum(psi(z[..., s, :]) for s, psi in enumerate(self.inner)))


@dataclass(frozen=True)
class Superposed:
    """A superposition in form (8) with n = tau Q + 1, which is tau (2 tau d + 1) + 1 for all Q."""

    H: Superposition
    w: np.ndarray  # (tau, tau)
    encoding: Encoding = SHIFTED

    def __post_init__(self) -> None:
        if self.apart == 0:
            raise ValueError(f"Theorem A.3: the last coordinate must tell t, it is {self.codes}")

    @property
    def n(self) -> int:
        return len(self.w) * self.H.Q + 1

    @property
    def codes(self) -> np.ndarray:
        """The last entry of u_t, for every t."""
        tau = len(self.w)
        return (self.w * rationals(np.arange(1, tau + 1))).sum(-1) / tau

    @property
    def apart(self) -> flint.fmpq:
        return min(abs(x - y) for x, y in itertools.combinations(self.codes, 2))

    def f(self, x: np.ndarray) -> np.ndarray:  # (..., n)
        s, z = self.encoding.read(x)
        tau, least = len(self.w), self.w.min(-1)
        psi = np.stack([psi_s(z) for psi_s in self.H.inner], axis=-2)  # (..., s, Q)
        share = (least[:, None] / self.w)[:, :, None]  # (t', s, 1)
        here = _in_room(s, tau)[..., None, :, None]
        blocks = (here * share * psi[..., None, :, :]).sum(-2)  # (..., t', Q)
        flat = blocks.reshape(*s.shape, self.n - 1)
        return np.concatenate([flat, s[..., None] / tau], axis=-1)

    def F(self, u: np.ndarray) -> np.ndarray:
        """On all of R^n, (..., n) -> (...)."""
        blocks = u[..., :-1].reshape(*u.shape[:-1], len(self.w), self.H.Q)
        total, least = 0 * u[..., 0], self.w.min(-1)
        for t, code in enumerate(self.codes):
            share = np.maximum(1 - abs(u[..., -1] - code) / self.apart, ZERO)
            total = total + share * self.H.outer(blocks[..., t, :] / least[t])[..., t]
        return total

    def target(self) -> Target:
        return Target(self.F, self.f, by_position(self.w, self.encoding))


def on_a_grid(values: np.ndarray, w: np.ndarray) -> np.ndarray:
    """u_t for all t and all sequences from a grid of k places; values[s]: (k, n) is f on I_s.

    Returns (tau k^tau, n), in floating point.
    """
    tau, k, _ = values.shape
    places = np.indices((k,) * tau).reshape(tau, -1)  # of token s in every sequence
    parts = [f[at] for f, at in zip(values, places, strict=True)]
    return np.concatenate([sum(map(np.multiply, row, parts)) for row in w.astype(float)])


def separation(points: np.ndarray) -> float:
    """The least distance between two of these points."""
    from scipy.spatial import KDTree

    return float(KDTree(points).query(points, k=2)[0][:, 1].min())
