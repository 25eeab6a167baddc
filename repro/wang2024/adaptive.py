"""Theorems 5.1, 5.4 and Propositions 5.3, 5.5 (proofs: B.1, B.3, C.1, C.2): pointers and fetching.

Paper                       Here                  Meaning
D = (M+1)(d+1)              Layout.D              M + 1 blocks of d, then M pointers, then a 1
P^(k)                       Layout.block(k)       block k: memory k, block 0 being x_t
e_{D-M+k-1}, e_D            .pointer(k), .last    where t_k (log: log t_k) and 1 (log 2) are kept
g_k, log g_k                memory_networks       two-layer networks, rounded as (15) says
phi_k(s; B)                 moving (Moving)       heads that follow the pointer, moving.py
f_(2)^2NN                   readout               the last feed-forward network
-                           stages                which memories are fetched in which layer

One construction serves all. In stage j = 1, ..., L - 1 a set of memories is handled, whose
functions g_k read only tokens that are already there:
    Theorem 5.1     {1, ..., M}                                                 L = 2
    Theorem 5.4     {1}, {2}, ..., {K}, and {K+1, ..., M} if M > K              L = K+1+1{M >= K+1}
    Proposition 5.5 {1}, {2}, ..., {M}                                          L = M + 1

Proof, in the order of C.1 (of B.1 if there is one stage).
1. W_E puts x_t into block 0. The first attention is idle, W_O = 0.
2. FFN^(j) writes t_k = [network for g_k] into pointer k, for the memories of stage j, rounded. The
   first one also writes 1 (log: log 2, since (15) would turn 1 into log 3) into the last place.
   If the network is within 1/2 of g_k (log: within 1/(4 T_k) of log g_k) at what block 0, 1, ...
   hold, then t_k is exact. For g_k(x_t) Lemma F.6 on |x|_inf <= 1 (barron.sampling_bound) has such
   a network with any m_k > 64 (d+1) |g_k|_B^2 neurons (log: 256 (d+1) T_k^2 |log g_k|_B^2). For
   blocks with an error e this follows from |network - g_k| < 1/4 and
   Lip(g_k) e <= 1/4 (log: 1/(8 T_k) twice).
3. Attention j + 1, head h of memory k: W_Q x_t = beta_h t_k, W_K x_{t-s} = 1, p = beta_h, so that
       logit = beta_h t_k - beta_h s  (lin),    beta_h log t_k - beta_h log s  (log),
   and W_V = alpha_h from block 0 to block k: it adds sum_s psi_k(s; t_k) x_{t-s} there, which is
   within sup_B |I{. = B} - psi_k(.; B)|_1 of x_{t-t_k}, as |x_t|_2 <= 1.
4. The last FFN reads the M + 1 blocks: error at most E_FFN + |f|_Lip E_Attn with
   E_Attn^2 = sum_k (error of memory k)^2, the blocks being orthogonal.

Head counts for every n and H: budgets.py.

Departures from the proofs; those of C.1 stand in printed_weights.py.
- W_Q and W_K are rows in R^{1 x D}; printed are D x D matrices, and D x (D/H).
- beta_h stands in W_Q and 1 in W_K (log: 1/log 2); printed is sqrt(beta_h) in both. The dot product
  is the same number, with less rounding.
- Errors are measured against (x_t, x_{t-t_1}, ...), not against x_t^(0) as in (E3).
- TMX, log (B.3): the pointer holds g_k itself, rounded plainly. Printed is log g_k, of which
  phi_log would be taken once more: -inf for g_k = 1, 2.
- A layer may have fewer than H heads: the others have W_V = 0. The idle layer has one.
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np
import torch

from repro.numerics.barron import Network, path_norm
from repro.numerics.exact import rational, rational_zeros, rationals
from repro.numerics.logarithms import Log
from repro.wang2024.fixed import errors, scalar_readout
from repro.wang2024.heads import EPS, exact
from repro.wang2024.model import Attention, FeedForward, Head, Layer, Transformer
from repro.wang2024.moving import Moving
from repro.wang2024.targets import Target

BITS = 256


@dataclass(frozen=True)
class Layout:
    """Where the coordinates of a token are; indices count from 0."""

    M: int
    d: int

    @property
    def D(self) -> int:
        return (self.M + 1) * (self.d + 1)

    def block(self, k: int) -> slice:
        return slice(k * self.d, (k + 1) * self.d)

    def pointer(self, k: int) -> int:
        """Of memory k = 1, ..., M."""
        return (self.M + 1) * self.d + k - 1

    @property
    def pointers(self) -> slice:
        return slice(self.pointer(1), self.pointer(1) + self.M)

    @property
    def last(self) -> int:
        return self.D - 1

    def row(self, index: int, value: Any) -> np.ndarray:
        """value times e_index, as a row; (1, D)."""
        out = rational_zeros(1, self.D)
        out[0, index] = value
        return out


def two_layers(target: Target) -> list[list[int]]:
    """Theorem 5.1: all memories at once."""
    return [list(range(1, target.M + 1))]


def nested(target: Target) -> list[list[int]]:
    """Theorem 5.4: the first K one by one, the others together."""
    rest = list(range(target.K + 1, target.M + 1))
    return [[k] for k in range(1, target.K + 1)] + ([rest] if rest else [])


def one_by_one(target: Target) -> list[list[int]]:
    """Proposition 5.5."""
    return [[k] for k in range(1, target.M + 1)]


def transformer(
    target: Target,
    moving: Sequence[Moving],
    stages: Sequence[Sequence[int]],
    *,
    tmx: bool = False,
    memory_networks: Sequence[Network] | None = None,
    readout: Network | None = None,
) -> Transformer:
    """The network of the proof, with one set of heads for each memory, in their arithmetic.

    `memory_networks` and `readout` stand for the networks that equal g_k (log: log g_k) and f.
    """
    rpe, layout = moving[0].rpe, Layout(target.M, target.d)
    _check_stages(target, moving, stages)
    stored = "lin" if tmx else rpe  # what the pointers hold: t_k, or log t_k
    g = memory_networks or [getattr(memory, stored) for memory in target.memories]
    f = readout or target.readout.network
    if f is None:
        raise ValueError(f"{target.readout.name} is no finite network: give one as readout")
    attentions = [_idle(layout, rpe)]
    attentions += [_fetch(layout, rpe, {k: moving[k - 1] for k in ks}, tmx) for ks in stages]
    ffns = [_point(layout, {k: g[k - 1] for k in ks}, stored, ks is stages[0]) for ks in stages]
    reads = scalar_readout(f)
    b = np.stack([_padded(row, layout) for row in reads.b])
    pairs = zip(attentions, [*ffns, FeedForward(reads.a, b, reads.c)], strict=True)
    W_E = rationals(np.eye(layout.D, target.d, dtype=int))
    return Transformer(W_E, W_E[:, 0] * 0, tuple(Layer(*pair) for pair in pairs))


def _check_stages(
    target: Target, moving: Sequence[Moving], stages: Sequence[Sequence[int]]
) -> None:
    """Heads reach as far as their memories, and no g_k reads what is not fetched yet."""
    for k, (memory, one) in enumerate(zip(target.memories, moving, strict=True), start=1):
        if one.T < memory.T:
            raise ValueError(f"memory {k} reaches T={memory.T}, got heads for T={one.T}")
    for number, stage in enumerate(stages):
        before = set(itertools.chain(*stages[:number]))
        for k in stage:
            if missing := sorted(set(range(1, target.reads(k))) - before):
                raise ValueError(f"g_{k} reads the memories {missing}, not fetched before")


def _idle(layout: Layout, rpe: str) -> Attention:
    """Its slope would do for a softmax over an infinite past as well."""
    nothing = rational_zeros(layout.D, layout.D)
    slope = Log(2) if rpe == "lin" else rational(2)
    return Attention((Head(nothing, slope),), nothing, rpe, normalised=False)


def _point(layout: Layout, networks: dict[int, Network], stored: str, first: bool) -> FeedForward:
    """FFN^(j): g_k of the blocks into pointer k, and the constant the first time."""
    a, b, c = [], [], []
    for k, network in networks.items():
        for weight, direction, bias in zip(*network, strict=True):
            a.append(layout.row(layout.pointer(k), weight)[0])
            b.append(_padded(direction, layout))
            c.append(bias)
    if first:
        a.append(layout.row(layout.last, 1 if stored == "lin" else Log(2))[0])
        b.append(_padded([], layout))
        c.append(rational(1))
    return FeedForward(np.stack(a, axis=-1), np.stack(b), np.array(c, dtype=object), stored)


def _padded(direction: Any, layout: Layout) -> np.ndarray:
    """b-bar = (b, 0) in R^D."""
    row = rational_zeros(layout.D)
    row[: len(direction)] = direction
    return row


def _fetch(layout: Layout, rpe: str, moving: dict[int, Moving], tmx: bool) -> Attention:
    """Attention j + 1: the memories that the pointers name, into their blocks."""
    with flint.ctx.workprec(BITS):
        one = rational(1) if rpe == "lin" else 1 / flint.arb(2).log()
    W_K, w, heads = layout.row(layout.last, one), rational(1), []
    for k, psi in moving.items():
        place = layout.pointer(k)
        for alpha, beta in zip(psi.alphas, psi.exponents, strict=True):
            W_V = rational_zeros(layout.D, layout.D)
            np.fill_diagonal(W_V[layout.block(k), layout.block(0)], exact(alpha))
            pair = {"W_Q": layout.row(place, beta), "W_K": W_K}
            heads.append(Head(W_V, beta, **({"w": layout.row(place, w)[0]} if tmx else pair)))
    identity = rationals(np.eye(layout.D, dtype=int))
    return Attention(tuple(heads), identity, rpe, normalised=False)


def pointed(network: Transformer, tokens: Any) -> Any:
    """x^(1): the tokens with the pointers of the first stage."""
    return next(itertools.islice(network.states(tokens), 2, None))


def attention_error(moving: Sequence[Moving]) -> float:
    """E_Attn: the root of the sum of squares, since the blocks are orthogonal."""
    errors = [float(flint.arb(one.error).upper()) for one in moving]
    return float(np.sqrt(sum(error**2 for error in errors)))


def rounding(target: Target, moving: Sequence[Moving], n: int) -> float:
    """How far float64 may move the output for n tokens: |f|_Lip times the blocks' part, and the sum
    of m neurons of a readout whose arguments are at most 2 in size. Pointers are whole: exact."""
    f = target.readout.network
    assert f is not None
    blocks = float(np.linalg.norm([psi.rounding(n) for psi in moving]))
    read = (len(f.a) + 20) * EPS * 2 * float(path_norm(f))
    return target.readout.lipschitz * blocks + read


def float_error(
    network: Transformer, target: Target, tokens: np.ndarray, device: torch.device | str = "cpu"
) -> float:
    """The largest error in float64."""
    return largest_error(network.to(torch.float64, device), target, [tokens])


def tried(
    target: Target, moving: Sequence[Moving], near: int, far: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """All windows of `near` tokens; of `far` tokens 64 at random, and the worst ones.

    These end in every way that has |x| = 1 before x_t, and their older tokens add up all errors of
    the heads: beyond every pointer these are psi itself.
    """
    short = target.windows(target.reach + 1)
    short = short[(np.linalg.norm(short[:, :-1], axis=-1) > 1 - 1e-12).all(1)]
    gaps = [
        sum(psi.kernel(int(B), far) for psi, B in zip(moving, steps, strict=True))
        for steps in target.fetched(short)[0][:, -1]
    ]
    worst = target.continued(short, np.array(gaps))
    return [target.windows(near), target.draw(64, far, rng), worst]


def largest(errors: np.ndarray) -> Any:
    """The largest absolute value of an array of rationals, or of balls."""
    values = abs(errors).ravel().tolist()
    balls = any(isinstance(value, flint.arb) for value in values)
    return functools.reduce(flint.arb.max, values, flint.arb(0)) if balls else max(values)


def largest_error(network: Transformer, target: Target, windows: Sequence[np.ndarray]) -> float:
    return max(float(errors(network, target, some).max()) for some in windows)


def cut(network: Transformer, L: int) -> Transformer:
    """The first L layers; the last of them has the readout, to which missing blocks are 0."""
    *kept, last = network.layers[:L]
    last = replace(last, feed_forward=network.layers[-1].feed_forward)
    return replace(network, layers=(*kept, last))


def unrounded(network: Transformer) -> Transformer:
    """The same network without (15)."""
    layers = [
        replace(layer, feed_forward=replace(layer.feed_forward, rounding=None))
        for layer in network.layers
    ]
    return replace(network, layers=layers)
