"""Sections 4.1 and 5.1: what is to be approximated. Nothing here knows how a network would do it.

Paper                          Here                  Meaning
y_t = f(x_t, x_{t-t_1}, ...)   Target                (5) and (8): f reads M + 1 tokens
t_i = T_i                      Target.fixed          fixed distances, (5)
t_i = g_i(x_t, x_{t-t_1}, ...) Memory, Target.K      distances that tokens choose, (8); g_i reads
                                                     x_t and the memories 1, ..., min(i - 1, K)
T_i                            Memory.T              the largest distance, g_i <= T_i
f, |f|_Lip                     Readout               with the Euclidean norm
|f|_B                          Readout.barron        at most the path norm of a network that is f
g_i, log g_i as networks       Memory.lin, .log      equal on the tokens that occur

A target is called with tokens (..., n, d) and gives y_t for t = reach, ..., n - 1, where `reach` is
the largest distance: from there on the window holds all that f reads.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from repro.numerics.barron import Network, barron_norm_of_norm, path_norm
from repro.numerics.exact import rational, rationals, vector
from repro.numerics.logarithms import Log

Function = Callable[[np.ndarray], np.ndarray]  # (..., size) -> (...)
SIGNS = np.array([[-1.0], [1.0]])
THREE = np.array([[-1.0], [0.0], [1.0]])


def neurons(*rows: tuple[Any, Sequence[Any], Any]) -> Network:
    """An exact network from rows (a, b, c) of neurons a relu(b.x + c)."""
    a, b, c = zip(*rows, strict=True)
    exact = [value if isinstance(value, Log) else rational(value) for value in a]
    return Network(vector(exact), rationals(list(b)), rationals(list(c)))


def shifted(network: Network, by: Any) -> Network:
    """The network plus a constant."""
    constant = neurons((by, [0] * network.b.shape[1], 1))
    return Network(*(np.concatenate(pair) for pair in zip(network, constant, strict=True)))


@dataclass(frozen=True)
class Readout:
    """f on R^size, `network` being f itself on |x|_inf <= 2 where f is a finite network."""

    name: str
    size: int
    function: Function
    lipschitz: float  # in the Euclidean norm
    network: Network | None = None

    @property
    def barron(self) -> float:
        """An upper bound of the Barron norm; without a network f is |x|_2."""
        return float(path_norm(self.network) if self.network else barron_norm_of_norm(self.size))


def parity(size: int, d: int = 1) -> Readout:
    """The product of signs, as a zigzag of their sum s: 1 at s = size, -1 at s = size - 2, ...

    For |x|_inf <= 2 the sum is at least -2 size, where the first neuron begins. All slopes are 1
    or -1, so the Lipschitz constant is that of s. With tokens +-e_1, ..., +-e_d of R^d the signs
    are the sums of their coordinates.
    """
    one, begin = [1] * (size * d), 2 * size * d
    lowest = 1 if size % 2 == 0 else -1  # at s = -size
    first = 1 if lowest < 0 else -1  # slope there
    constant = lowest - first * (begin - size)
    bends = [(2 * first * (-1) ** k, one, size - 2 * k) for k in range(1, size)]
    network = neurons((first, one, begin), *bends, (constant, [0] * (size * d), 1))

    function = functools.partial(zigzag, size)
    return Readout(f"parity of {size}", size * d, function, math.sqrt(size * d), network)


def zigzag(size: int, x: np.ndarray) -> np.ndarray:
    """For |x|_inf <= 1: 1, -1, 1, ... at the sums size, size - 2, ..., and straight between."""
    return np.abs((size - x.sum(-1)) % 4 - 2) - 1


def majority(size: int) -> Readout:
    """The sign of the sum of an odd number of signs: -1 up to s = -1, 1 from s = 1 on."""
    one = [1] * size
    network = neurons((1, one, 1), (-1, one, -1), (-1, [0] * size, 1))
    name, function = f"majority of {size}", lambda x: x.sum(-1).clip(-1, 1)
    return Readout(name, size, function, math.sqrt(size), network)


def coordinate(size: int, index: int) -> Readout:
    """f(x) = x_index = relu(x_index + 2) - 2, for |x| <= 2."""
    unit = [int(i == index) for i in range(size)]
    network = neurons((1, unit, 2), (-2, [0] * size, 1))
    return Readout(f"x_{index}", size, lambda x: x[..., index], 1.0, network)


def length(size: int) -> Readout:
    """f(x) = |x|_2, in R^2 or R^3: real-valued, and no finite network."""
    return Readout("|x|_2", size, lambda x: np.sqrt((x**2).sum(-1)), 1.0)


@dataclass(frozen=True)
class Memory:
    """g on some tokens, by its definition, and networks that equal g and log g on them."""

    T: int
    g: Function  # (..., reads d) -> integers in 1, ..., T
    lin: Network
    log: Network


def by_sign(reads: int = 1) -> Memory:
    """g(1) = 1, g(-1) = 2 of the last token read: (3 - x)/2; log g = log 2 relu((1 - x)/2)."""
    quarter, half = ([0] * (reads - 1) + [last] for last in ("-1/4", "-1/2"))
    return Memory(
        2,
        lambda x: np.where(x[..., -1] > 0, 1, 2),
        neurons((2, quarter, "3/4")),
        neurons((Log(2), half, "1/2")),
    )


def by_product() -> Memory:
    """1 if two signs agree, else 2: 1 + |u|/2 with u = x - x'.

    1 + |u|/2 = relu(1) + relu(u)/2 + relu(-u)/2; log g = log 2 (relu(u/2) + relu(-u/2)).
    """
    return Memory(
        2,
        lambda x: np.where(x[..., 0] * x[..., 1] > 0, 1, 2),
        neurons((1, [0, 0], 1), ("1/2", [1, -1], 0), ("1/2", [-1, 1], 0)),
        neurons((Log(2), ["1/2", "-1/2"], 0), (Log(2), ["-1/2", "1/2"], 0)),
    )


def by_value() -> Memory:
    """g(x) = x + 2 for x in {-1, 0, 1}: the pointer of Proposition 5.2, moved into class (10).

    log g is log 2 - log 2 relu(-x) + log(3/2) relu(x) at the three tokens.
    """
    return Memory(
        3,
        lambda x: np.rint(x[..., 0]).astype(int) + 2,
        neurons((3, ["1/3"], "2/3")),
        neurons((Log(2), [0], 1), (-Log(2), [-1], 0), (Log("3/2"), [1], 0)),
    )


def by_size(d: int = 1) -> Memory:
    """g(x) = 1 + |x_d| for x_d in {-1, 0, 1}."""
    up, down = ([0] * (d - 1) + [sign] for sign in (1, -1))
    return Memory(
        2,
        lambda x: np.rint(np.abs(x[..., d - 1])).astype(int) + 1,
        neurons((1, [0] * d, 1), (1, up, 0), (1, down, 0)),
        neurons((Log(2), up, 0), (Log(2), down, 0)),
    )


def constant(T: int, d: int = 1) -> Memory:
    """g = T whatever the token: a fixed memory."""
    lin, log = (neurons((value, [0] * d, 1)) for value in (T, Log(T)))
    return Memory(T, lambda x: np.full(x.shape[:-1], T), lin, log)


@dataclass(frozen=True)
class Target:
    """y_t = f(x_t, x_{t-t_1}, ..., x_{t-t_M}), of class (6), (10) or (11)."""

    name: str
    memories: tuple[Memory, ...]
    readout: Readout
    tokens: np.ndarray  # (count, d): all that occur
    K: int = 0

    def __post_init__(self) -> None:
        if not self.memories:
            raise ValueError("Section 5.1 needs M >= 1 memories, got M=0")
        if self.readout.size != (self.M + 1) * self.d:
            raise ValueError(f"f reads (M+1) d = {(self.M + 1) * self.d}, got {self.readout.size}")
        if not (np.linalg.norm(self.tokens, axis=-1) <= 1 + 1e-12).all():
            raise ValueError("Section 3.1 assumes |x_t|_2 <= 1 for every token")

    @classmethod
    def fixed(
        cls, name: str, distances: Sequence[int], readout: Readout, tokens: np.ndarray = SIGNS
    ) -> "Target":
        if list(distances) != sorted(set(distances)) or distances[0] < 1:
            raise ValueError(f"(5) needs distances 1 <= T_1 < ... < T_M, got {distances}")
        d = tokens.shape[1]
        return cls(name, tuple(constant(T, d) for T in distances), readout, tokens)

    @property
    def M(self) -> int:
        return len(self.memories)

    @property
    def d(self) -> int:
        return self.tokens.shape[1]

    @property
    def distances(self) -> list[int]:
        """T_1, ..., T_M."""
        return [memory.T for memory in self.memories]

    @property
    def reach(self) -> int:
        return max(self.distances)

    def reads(self, i: int) -> int:
        """How many tokens g_i reads, i = 1, ..., M: the present one and the memories before."""
        return 1 + min(i - 1, self.K)

    def fetched(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tokens (..., n, d) -> t_i (..., n - reach, M) and (x_t, x_{t-t_1}, ...) (..., (M+1) d).

        By the definition, one memory after the other.
        """
        n = x.shape[-2]
        if n <= self.reach:
            raise ValueError(f"memories reach {self.reach} back: n={n} tokens are too few")
        t = np.arange(self.reach, n)
        seen, steps = [x[..., self.reach :, :]], []
        for i, memory in enumerate(self.memories, start=1):
            step = memory.g(np.concatenate(seen[: 1 + self.K], axis=-1))
            if not ((step >= 1) & (step <= memory.T)).all():
                raise ValueError(f"g_{i} has to lie between 1 and {memory.T}, got {step}")
            steps.append(step)
            seen.append(np.take_along_axis(x, (t - step)[..., None], axis=-2))
        return np.stack(steps, axis=-1), np.concatenate(seen, axis=-1)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.readout.function(self.fetched(x)[1])

    def draw(self, count: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """Random windows (count, n, d)."""
        return self.tokens[rng.integers(len(self.tokens), size=(count, n))]

    def continued(self, recent: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Windows (count, r, d) with the pasts that are worst for a layer; (2 count, n, d).

        If the layer is off by the sum over s of gap(s) x_{t-s}, s < n, the older tokens are those
        of the signs of gap(s), or all of the other sign. `gaps` is (count, n), or (n,) for all.
        """
        older = np.where(gaps < 0, -1.0, 1.0)[..., : recent.shape[1] - 1 : -1]  # oldest first
        older = np.broadcast_to(older, (len(recent), older.shape[-1]))[..., None] * self.tokens[-1]
        return np.concatenate([np.concatenate([s * older, recent], axis=1) for s in (1, -1)])

    def windows(self, n: int) -> np.ndarray:
        """Every window of n tokens there is: (count^n, n, d)."""
        count = len(self.tokens)
        if count**n > 1 << 20:  # setting: too many to look at
            raise ValueError(f"{count}^{n} windows are too many to look at all")
        return self.tokens[np.indices((count,) * n).reshape(n, -1).T]


SPARSE_PARITY = Target.fixed("sparse parity", (1, 3), parity(3))
AXES = Target.fixed(
    "parity on axes", (1, 3), parity(3, 2), np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
)
TRIGRAM = Target.fixed("trigram majority", (1, 2), majority(3))
NEAR_AND_FAR = Target.fixed("length of two", (2,), length(2))
FOLLOW = Target("follow the pointer", (by_value(),), coordinate(2, 1), THREE)
TWO_POINTERS = Target("two pointers", (by_value(), by_size()), majority(3), THREE)
NESTED = Target("nested parity", (by_sign(), by_sign(2)), parity(3), SIGNS, K=1)
BRANCHED = Target("branched parity", (by_sign(), by_product(), by_sign(2)), parity(4), SIGNS, K=1)


def by_name() -> dict[str, Target]:
    """All targets of this module."""
    return {one.name: one for one in globals().values() if isinstance(one, Target)}
