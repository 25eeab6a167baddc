"""Section 5.3, after Theorem 5.4: what depth, heads and width are for; measured, not judged.

Layers are cut from the construction; heads and width of the readout are varied for the length of
three nested tokens; neurons of a memory function are drawn.
"""

import functools

import flint
import numpy as np
import torch

from repro.numerics import barron
from repro.numerics.exact import rationals, to_float
from repro.wang2024 import adaptive, chains, moving, targets
from repro.wang2024.following import nested
from repro.wang2024.targets import Memory, Target

PAIRS = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
WIDTHS = (8, 32, 128)
LENGTH = Target(  # |(x_t, x_{t-t_1}, x_{t-t_2})|_2, t_i = 1 + |x| of the token before; -1, 0, 1
    "nested length",
    (targets.by_size(), chains.of_last(targets.by_size(), 2)),
    targets.length(3),
    targets.THREE,
    K=1,
)


@functools.cache
def attention_error(M: int, H: int) -> float:
    """E_Attn of M memories with T = 2 and the best coefficients of H lin heads."""
    return adaptive.attention_error([moving.optimal("lin", 2, H)] * M)


def cut_errors(target: Target, H: int, n: int, device: str) -> dict[int, float]:
    """The largest error of the first L layers with the readout, all windows of n tokens; by L."""
    network, windows = nested(target, moving.optimal("lin", 2, H)), target.windows(n)
    cuts = {L: adaptive.cut(network, L) for L in range(1, len(network.layers) + 1)}
    return {L: adaptive.float_error(cut, target, windows, device) for L, cut in cuts.items()}


def readout_error(m: int) -> float:
    """E_FFN of m evenly spread neurons at the triples of tokens that LENGTH fetches somewhere."""
    x = LENGTH.fetched(LENGTH.windows(LENGTH.reach + 1))[1][:, 0]
    values = barron.value(barron.norm_network(3, m), x)
    return float(np.abs(values - np.linalg.norm(x, axis=1)).max())


@functools.cache
def by_width(Hs: tuple[int, ...], n: int, device: str) -> dict[tuple[int, int], float]:
    """(m, H) -> the largest error for LENGTH, the readout's directions being spread evenly."""
    windows, table = LENGTH.windows(n), {}
    for m in WIDTHS:
        neurons = barron.norm_network(3, m)
        for H in Hs:
            network = nested(LENGTH, moving.optimal("lin", 2, H), readout=neurons)
            table[m, H] = adaptive.float_error(network, LENGTH, windows, device)
    return table


def _drawn(memory: Memory, m: int, rng: np.random.Generator) -> barron.Network:
    """m neurons drawn from the measure of the memory's network: Maurey's network for g."""
    count = len(memory.lin.a)
    atoms = [(flint.fmpq(1, count), count * a, b, c) for a, b, c in zip(*memory.lin, strict=True)]
    return barron.Measure.of(atoms).rebalanced().sample(m, rng)


def _values(network: barron.Network) -> np.ndarray:
    return to_float(barron.value(network, rationals(PAIRS)))


def share_right(m: int, draws: int, rng: np.random.Generator) -> float:
    """Of the draws of m neurons for by_product that round to g at all four pairs of signs."""
    memory, right = targets.by_product(), 0
    for _ in range(draws):
        rounded = np.rint(_values(_drawn(memory, m, rng))).astype(int)
        right += bool((rounded == memory.g(PAIRS)).all())
    return right / draws


def outputs_that_differ(m: int, n: int, rng: np.random.Generator, device: str) -> int:
    """BRANCHED with m drawn neurons for g_2, off by less than 0.4, and with its own network."""
    target, heads = targets.BRANCHED, moving.optimal("lin", 2, 6)
    own, memory = [memory.lin for memory in target.memories], target.memories[1]
    while True:
        g_2 = _drawn(memory, m, rng)
        if (np.abs(_values(g_2) - memory.g(PAIRS)) < 0.4).all():
            break
    windows = torch.as_tensor(target.windows(n), device=device)
    outputs = [
        nested(target, heads, memory_networks=networks).to(torch.float64, device)(windows)
        for networks in (own, [own[0], g_2, own[2]])
    ]
    return int((outputs[0] != outputs[1])[:, target.reach :].sum())
