"""What the networks of Theorem 5.4 do with nested memories: measured, not judged."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import torch

from repro.numerics import barron
from repro.numerics.exact import rationals
from repro.numerics.logarithms import ball
from repro.wang2024 import (
    adaptive,
    budgets,
    chains,
    fixed,
    following,
    moving,
    printed_weights,
    targets,
)
from repro.wang2024.following import Followed, followed, held, in_floats
from repro.wang2024.model import Transformer
from repro.wang2024.moving import Moving
from repro.wang2024.rounding import nearest
from repro.wang2024.targets import BRANCHED, NESTED, Target

BITS = 256
LEVEL = Fraction(1, 100)
EXAMPLES = {
    "K=1, M=2": NESTED,
    "K=2, M=2": replace(NESTED, K=2),
    "K=1, M=3": BRANCHED,
    "K=2, M=3": chains.chain(2, 3),
}


def exact_heads(rpe: str, level: Any = LEVEL) -> Moving:
    """Interpolating heads for T = 2."""
    return moving.interpolated(rpe, 2, level)


def counted(most: int) -> tuple[int, int, int]:
    """Pairs K <= M <= most; of them with another L than stated; and with other widths.

    Each g_i of a chain is one neuron, and one more writes the 1.
    """
    pairs, wrong_L, wrong_m = [(K, M) for M in range(1, most + 1) for K in range(M + 1)], 0, 0
    heads = exact_heads("lin")
    for K, M in pairs:
        network = following.nested(chains.chain(K, M), heads)
        wrong_L += len(network.layers) != K + 1 + (M >= K + 1)
        first, *others = [1] * K + ([M - K] if M > K else [])
        wrong_m += budgets.widths(network) != [first + 1, *others]
    return len(pairs), wrong_L, wrong_m


@functools.cache
def exact_states(name: str, n: int) -> list[np.ndarray]:
    """Of an example with T + 1 lin heads, for all windows of n tokens."""
    target = EXAMPLES[name]
    network = following.nested(target, exact_heads("lin"))
    return list(network.states(rationals(target.windows(n))))


def exactly(name: str, n: int) -> Followed:
    return followed(EXAMPLES[name], exact_states(name, n), EXAMPLES[name].windows(n))


def estimate(name: str, n: int, l: int) -> tuple[Any, Any]:
    """(E3), squared: the least |Q^(l) (x^(l+1/2) - x^(0))|^2, and the largest against the tokens.

    The second has (x_t, x_{t-t_1}, ..., x_{t-t_l}) in place of x^(0).
    """
    target, states = EXAMPLES[name], exact_states(name, n)
    end, start = (states[i][:, target.reach :, : l + 1] for i in (2 * l + 1, 0))
    tokens = target.fetched(target.windows(n))[1][..., : l + 1]
    off = end - rationals(tokens)
    return ((end - start) ** 2).sum(-1).min(), (off**2).sum(-1).max()


def in_balls(target: Target, heads: Moving, n: int) -> tuple[int, flint.arb, flint.arb]:
    """log: pointers not within 1e-30 of log t_l; the largest error; and |f|_Lip E_Attn."""
    windows, network = target.windows(n), following.nested(target, heads)
    found = followed(target, following.rigorous(network).states(rationals(windows)), windows)
    with flint.ctx.workprec(BITS):
        bound = flint.arb((target.M + 1) * target.M).sqrt() * heads.error
    return sum(found.wrong), found.output, bound


def relay(
    rpe: str, T: int, count: int, rng: np.random.Generator
) -> tuple[int, int, flint.arb, flint.arb]:
    """Heads of level 1/(8T) (lin; |g|_Lip = T), 1/(16 T^2) (log); random tokens k/T, exact.

    The number of heads; pointers that differ; the largest error, and e, in balls.
    """
    target, level = chains.relay(T), Fraction(1, 8 * T if rpe == "lin" else 16 * T**2)
    heads, k = (
        moving.interpolated(rpe, T, level),
        rng.integers(1, T + 1, size=(count, 2 * T + 2, 1)),
    )
    tokens, network = rationals(k) / T, following.rigorous(following.nested(target, heads))
    found = followed(target, network.states(tokens), k / T, tokens)
    return heads.H, sum(found.wrong), ball(found.output), ball(heads.error)


def cliff_pointers(
    delta: Any, heads: Moving, n: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """t_2 at the end of all windows of n tokens, and as it should be; errors; the tokens. Exact."""
    target, delta = chains.cliff(delta), Fraction(delta)
    places = np.indices((len(target.tokens),) * n).reshape(n, -1).T
    exact = rationals([-1, -delta, delta, 1])[places][..., None]
    pointers, _, out = held(target, following.nested(target, heads).states(exact))
    stated = target.fetched(target.tokens[places])[0][:, -1, 1]
    y = exact[np.arange(len(exact)), n - 1 - stated, 0]
    return pointers[:, -1, 1], rationals(stated), abs(out[:, -1] - y), exact


def cliff(delta: Any, heads: Moving) -> tuple[int, Any]:
    """Wrong t_2 at the end of all windows of 3 tokens, and the largest error; exact."""
    found, stated, errors, _ = cliff_pointers(delta, heads)
    return int((found != stated).sum()), errors.max()


def log_centre(t: int) -> flint.arb:
    """t^(log 2)."""
    with flint.ctx.workprec(BITS):
        return flint.arb(t) ** flint.arb(2).log()


def rounded_log(T: int, off: Any) -> int:
    """[exp(log T + off)], decided by a ball."""
    with flint.ctx.workprec(BITS):
        return int(nearest((flint.arb(T).log() + ball(off)).exp()).unique_fmpz())


def wrong_logs(last: int) -> int:
    """T < last for which [exp(log T + 1/(4T))] or [exp(log T - 1/(4T))] is not T, each counted."""
    offs = ((T, Fraction(sign, 4 * T)) for T in range(1, last) for sign in (1, -1))
    return sum(rounded_log(T, off) != T for T, off in offs)


def printed_errors(weights: str, n: int) -> tuple[list[int], int, Any, Any]:
    """The worst window for weights of printed_weights.py; y_t; the error there, and as repaired."""
    windows, network = NESTED.windows(n), following.nested(NESTED, exact_heads("lin"))
    changed = getattr(printed_weights, weights)(network)
    errors = fixed.errors(changed, NESTED, windows)[:, -1]
    worst = int(np.argmax(errors))
    right = fixed.errors(network, NESTED, windows[worst])[-1]
    tokens, y = windows[worst, :, 0].astype(int).tolist(), int(NESTED(windows)[worst, -1])
    return tokens, y, errors[worst], right


def printed_float_error(weights: str, rpe: str, H: int, device: str) -> float:
    network = following.nested(NESTED, moving.optimal(rpe, 2, H))
    changed = getattr(printed_weights, weights)(network)
    return adaptive.float_error(changed, NESTED, NESTED.windows(8), device)


def without_log_2(H: int, n: int, device: str) -> float:
    """W_K as printed for log: the largest |block 1 - x_{t-t_1}| on all windows of n tokens."""
    windows, heads = NESTED.windows(n), moving.optimal("log", 2, H)
    network = printed_weights.without_log_2(following.nested(NESTED, heads))
    fetched = in_floats(network, windows, device)[3][:, NESTED.reach :, 1]
    return float(np.abs(fetched - NESTED.fetched(windows)[1][..., 1]).max())


def block_error(heads: Moving, rng: np.random.Generator, device: str) -> float:
    """The largest error of a block of NESTED at the worst windows of 40 tokens."""
    *_, windows = adaptive.tried(NESTED, [heads] * 2, 3, 40, rng)
    _, blocks, _ = held(NESTED, in_floats(following.nested(NESTED, heads), windows, device))
    return float(np.abs(blocks - NESTED.fetched(windows)[1])[:, -1].max())


def norms_of_by_value_and_constant() -> tuple[list[Any], list[int]]:
    """g_1(x) = x + 2 on {-1, 0, 1} and g_2 = 1: path norms, and values at x = 1, which they equal.

    sup g <= |g|_B <= path norm, so both are the Barron norms.
    """
    memories = targets.by_value(), targets.constant(1, 2)
    values = [int(m.g(np.ones(reads))) for m, reads in zip(memories, (1, 2), strict=True)]
    return [barron.path_norm(memory.lin) for memory in memories], values


def readout_floor(target: Target, fetched: int) -> Fraction:
    """The least error of any readout of x_t and the first memories: half the spread of y_t."""
    windows, values = target.windows(target.reach + 1), {}
    for tokens, y in zip(target.fetched(windows)[1][:, 0], target(windows)[:, 0], strict=True):
        values.setdefault(tuple(tokens[: fetched + 1]), set()).add(Fraction(float(y)))
    return max((max(ys) - min(ys)) / 2 for ys in values.values())


def in_one_stage(heads: Moving) -> Transformer:
    """NESTED in two layers: g_2 reads block 1 before it is filled."""
    early = [getattr(memory, heads.rpe) for memory in NESTED.memories]
    early[1] = early[1]._replace(b=early[1].b[:, :1] * 0)
    return adaptive.transformer(replace(NESTED, K=0), [heads] * 2, [[1, 2]], memory_networks=early)


def _example(
    tokens: Sequence[int], H: int, device: str
) -> tuple[Transformer, list[np.ndarray], np.ndarray]:
    """The network for NESTED with H lin heads, its states for one window, and t_1, t_2."""
    x = np.array(tokens, dtype=float)[:, None]
    network = following.nested(NESTED, moving.optimal("lin", 2, H)).to(torch.float64)
    return network, in_floats(network, x, device), NESTED.fetched(x)[0]


def walk(tokens: Sequence[int], H: int, device: str) -> tuple[list[int], float, list[float]]:
    """The last token: t_1, t_2; the output; errors of both blocks and of the output."""
    _, (*_, end, out), steps = _example(tokens, H, device)
    output, (first, second) = float(out[-1, 0]), (tokens[-1 - step] for step in steps[-1])
    off = end[-1, 1] - first, end[-1, 2] - second, output - tokens[-1] * first * second
    return steps[-1].tolist(), output, [float(abs(one)) for one in off]


def attention_maps(tokens: Sequence[int], H: int, device: str) -> list[tuple[Any, ...]]:
    """What fetching_maps gives: maps, places and l1 distances of rows, of each layer."""
    maps = following.fetching_maps(*_example(tokens, H, device), NESTED.reach)
    return list(zip(*maps, strict=True))


def nested_errors(heads: Moving, near: int, seed: int, device: str) -> dict[str, float]:
    """NESTED in float64, and with one layer less; bound, and rounding."""
    network = following.nested(NESTED, heads).to(torch.float64, device)
    rng = np.random.default_rng(seed)
    tried = adaptive.tried(NESTED, [heads] * 2, near, 40, rng)  # setting: how long
    return {
        "network": adaptive.largest_error(network, NESTED, tried),
        "bound": NESTED.readout.lipschitz * adaptive.attention_error([heads] * 2),
        "less": adaptive.largest_error(adaptive.cut(network, 2), NESTED, tried),
        "lost": adaptive.rounding(NESTED, [heads] * 2, 40),
    }


@functools.cache
def curve(
    rpe: str, Hs: tuple[int, ...], n: int, seed: int, device: str
) -> dict[int, dict[str, float]]:
    """H -> `nested_errors` of the best heads."""
    return {H: nested_errors(moving.optimal(rpe, 2, H), n, seed, device) for H in Hs}
