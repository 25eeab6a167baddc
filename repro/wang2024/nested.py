"""What the networks of Theorem 5.4 do with nested memories: measured, not judged."""

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np
import torch

from repro.numerics.barron import path_norm
from repro.numerics.exact import rationals
from repro.numerics.logarithms import ball
from repro.wang2024 import adaptive, chains, depth, following, moving, printed_weights, targets
from repro.wang2024.model import Transformer
from repro.wang2024.moving import Moving
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


def _pointers(target: Target) -> slice:
    return adaptive.Layout(target.M, target.d).pointers


def in_floats(network: Transformer, windows: np.ndarray, device: str = "cpu") -> list[np.ndarray]:
    """x^(0), x^(1/2), ..., and the outputs, in float64."""
    states = network.to(torch.float64, device).states(torch.as_tensor(windows, device=device))
    return [state.cpu().numpy() for state in states]


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
        wrong_m += depth.widths(network) != [first + 1, *others]
    return len(pairs), wrong_L, wrong_m


@functools.cache
def exact_states(name: str, n: int) -> list[np.ndarray]:
    """Of an example with T + 1 lin heads, for all windows of n tokens."""
    target = EXAMPLES[name]
    network = following.nested(target, exact_heads("lin"))
    return list(network.states(rationals(target.windows(n))))


class Exactly(NamedTuple):
    windows: int
    wrong: list[int]  # positions with another t_k, for each k
    error: Any


def exactly(name: str, n: int) -> Exactly:
    target, (*_, end, out) = EXAMPLES[name], exact_states(name, n)
    windows = target.windows(n)
    held, steps = end[:, target.reach :, _pointers(target)], rationals(target.fetched(windows)[0])
    error = abs(out[:, target.reach :, 0] - rationals(target(windows))).max()
    return Exactly(len(windows), (held != steps).sum((0, 1)).tolist(), error)


def estimate(name: str, n: int, l: int) -> tuple[Any, Any]:
    """(E3), squared: the least |Q^(l) (x^(l+1/2) - x^(0))|^2, and the largest against the tokens.

    The second has (x_t, x_{t-t_1}, ..., x_{t-t_l}) in place of x^(0).
    """
    target, states = EXAMPLES[name], exact_states(name, n)
    end, start = (states[i][:, target.reach :, : l + 1] for i in (2 * l + 1, 0))
    tokens = target.fetched(target.windows(n))[1][..., : l + 1]
    off = end - rationals(tokens)
    return ((end - start) ** 2).sum(-1).min(), (off**2).sum(-1).max()


def log_in_balls(name: str, n: int) -> tuple[int, flint.arb, flint.arb, Moving]:
    """Pointers not within 1e-30 of log t_l; the largest error; |f|_Lip E_Attn; and the heads."""
    target, heads = EXAMPLES[name], exact_heads("log")
    wrong, error = following.in_balls(target, heads, target.windows(n))
    with flint.ctx.workprec(BITS):
        bound = flint.arb((target.M + 1) * target.M).sqrt() * heads.error
    return wrong, error, bound, heads


def _relay_windows(T: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random tokens k/T, as rationals, and t_2 at the positions that count."""
    k = rng.integers(1, T + 1, size=(count, 2 * T + 2, 1))
    return rationals(k) / T, chains.relay(T).fetched(k / T)[0]


def _relayed(tokens: np.ndarray, steps: np.ndarray, T: int) -> np.ndarray:
    places = np.arange(T, 2 * T + 2) - steps[..., 1]
    return np.take_along_axis(tokens[..., 0], places, axis=-1)


def relay_exactly(
    T: int, count: int, rng: np.random.Generator
) -> tuple[int, int, flint.arb, flint.arb]:
    """lin heads of level 1/(8T), |g|_Lip = T, in rationals.

    The number of heads; pointers that differ; the largest error, and e, in balls.
    """
    target, heads = chains.relay(T), moving.interpolated("lin", T, Fraction(1, 8 * T))
    tokens, steps = _relay_windows(T, count, rng)
    *_, end, out = following.nested(target, heads).states(tokens)
    wrong = int((end[:, T:, _pointers(target)] != rationals(steps)).sum())
    error = abs(out[:, T:, 0] - _relayed(tokens, steps, T)).max()
    return heads.H, wrong, ball(error), ball(heads.error)


def relay_in_balls(T: int, count: int, rng: np.random.Generator) -> tuple[Moving, flint.arb]:
    """log heads of level 1/(16 T^2), and the largest error."""
    heads = moving.interpolated("log", T, Fraction(1, 16 * T**2))
    tokens, steps = _relay_windows(T, count, rng)
    with flint.ctx.workprec(512):
        out = following.nested(chains.relay(T), heads).balls(512)(tokens)[:, T:, 0]
        return heads, adaptive.largest(out - _relayed(tokens, steps, T))


def relay_in_floats(rpe: str, H: int, n: int, device: str) -> tuple[float, Moving, float]:
    """T = 3: the largest error on all windows of n tokens; the heads; and e |g|_Lip.

    For log that is e times the slope of log g times T. Below 1/2 the pointers are right.
    """
    target, heads = chains.relay(3), moving.fitted(rpe, 3, H)
    error = adaptive.float_error(following.nested(target, heads), target, target.windows(n), device)
    slope = 3.0 if rpe == "lin" else 3 * math.log(2) * 3
    return error, heads, heads.error * slope


class Cliff(NamedTuple):
    heads: Moving
    wrong: int  # t_2 that are not as they should be
    error: Any


def cliff(delta: Fraction, level: Fraction) -> Cliff:
    """|g_2|_Lip = 1/(2 delta), with lin heads of some level, on all windows of 3 tokens; exact."""
    heads = exact_heads("lin", level)
    found, stated, errors, _ = following.cliff_pointers(delta, heads)
    return Cliff(heads, int((found != stated).sum()), errors.max())


def wrong_window(delta: Fraction) -> tuple[list[str], Any, Any]:
    """The first window with a wrong t_2, that t_2, and as it should be."""
    found, stated, _, tokens = following.cliff_pointers(delta, exact_heads("lin"))
    first = int(np.flatnonzero(found != stated)[0])
    return [str(x) for x in tokens[first, :, 0]], found[first], stated[first]


def steep(
    H: int, slope: int, count: int, rng: np.random.Generator, device: str
) -> tuple[float, float]:
    """|g_2|_Lip = slope: the largest error of the usual lin heads, and the share of wrong t_2."""
    target = chains.cliff(Fraction(1, 2 * slope))
    windows = target.draw(count, 14, rng)
    network = following.nested(target, moving.optimal("lin", 2, H))
    *_, end, out = in_floats(network, windows, device)
    error = np.abs(out[:, target.reach :, 0] - target(windows)).max()
    held = end[:, target.reach :, _pointers(target)][..., 1]
    return float(error), float((held != target.fetched(windows)[0][..., 1]).mean())


def log_centre(t: int) -> flint.arb:
    """t^(log 2)."""
    with flint.ctx.workprec(BITS):
        return flint.arb(t) ** flint.arb(2).log()


def rounded_log(T: int, off: Any) -> int:
    """[exp(log T + off)], the integer within 1/2 of every point of a ball."""
    with flint.ctx.workprec(BITS):
        nearest = ((flint.arb(T).log() + ball(off)).exp() + flint.arb(1) / 2).floor().unique_fmpz()
    if nearest is None:
        raise ArithmeticError(f"exp(log {T} + {off}) is too near to the middle of two integers")
    return int(nearest)


def wrong_logs(last: int) -> int:
    """T < last for which [exp(log T + 1/(4T))] or [exp(log T - 1/(4T))] is not T, each counted."""
    offs = ((T, Fraction(sign, 4 * T)) for T in range(1, last) for sign in (1, -1))
    return sum(rounded_log(T, off) != T for T, off in offs)


def printed_errors(weights: str, n: int) -> tuple[list[int], int, Any, Any]:
    """The worst window for weights of printed_weights.py; y_t; the error there, and as repaired."""
    windows, network = NESTED.windows(n), following.nested(NESTED, exact_heads("lin"))
    changed = getattr(printed_weights, weights)(network)
    errors = adaptive.exact_errors(changed, NESTED, windows)[:, -1]
    worst = int(np.argmax(errors))
    right = adaptive.exact_errors(network, NESTED, windows[worst])[-1]
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
    *_, end, _ = in_floats(following.nested(NESTED, heads), windows, device)
    return float(np.abs(end[:, -1, :3] - NESTED.fetched(windows)[1][:, -1]).max())


def norms_of_by_value_and_constant() -> tuple[list[Any], list[int]]:
    """g_1(x) = x + 2 on {-1, 0, 1} and g_2 = 1: path norms, and values at x = 1, which they equal.

    sup g <= |g|_B <= path norm, so both are the Barron norms.
    """
    memories = targets.by_value(), targets.constant(1, 2)
    values = [int(m.g(np.ones(reads))) for m, reads in zip(memories, (1, 2), strict=True)]
    return [path_norm(memory.lin) for memory in memories], values


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


def with_memories_off(heads: Moving, by: Any) -> Transformer:
    """NESTED with memory networks that are off by a constant."""
    near = [targets.shifted(getattr(memory, heads.rpe), by) for memory in NESTED.memories]
    return following.nested(NESTED, heads, memory_networks=near)


def not_moved(heads: Moving) -> Moving:
    """psi without e^{-beta T}: lin heads for the indicator of T."""
    with flint.ctx.workprec(BITS):
        pairs = zip(heads.alphas, heads.exponents, strict=True)
        alphas = tuple(a * (ball(b) * heads.T).exp() for a, b in pairs)
    return replace(heads, alphas=alphas)


def fetched_size(network: Transformer, n: int, device: str) -> float:
    """How far | |block 1| - 1 | is from 0 at most, for NESTED, whose tokens are signs."""
    fetched = in_floats(network, NESTED.windows(n), device)[3][:, 2:, 1]
    return float(np.abs(np.abs(fetched) - 1).max())


Example = tuple[Transformer, list[np.ndarray], np.ndarray]


def _example(tokens: Sequence[int], H: int, device: str) -> Example:
    """The network for NESTED with H lin heads, its states for one window, and t_1, t_2."""
    x = np.array(tokens, dtype=float)[:, None]
    network = following.nested(NESTED, moving.optimal("lin", 2, H)).to(torch.float64)
    return network, in_floats(network, x, device), NESTED.fetched(x)[0]


class Walk(NamedTuple):
    """One position of the nested example: t_1 and t_2, x^(0), x^(1/2), ..., and the output."""

    tokens: Sequence[int]
    steps: list[int]
    stream: list[list[float]]
    output: float

    def errors(self) -> tuple[float, float, float]:
        """Of block 1, of block 2 and of the output."""
        t, fetched = self.tokens, [self.tokens[-1 - step] for step in self.steps]
        first, second = (abs(self.stream[-1][k] - x) for k, x in enumerate(fetched, start=1))
        return first, second, abs(self.output - t[-1] * fetched[0] * fetched[1])


def walk(tokens: Sequence[int], H: int, device: str) -> Walk:
    _, states, steps = _example(tokens, H, device)
    stream = [state[-1].tolist() for state in states[:-1]]
    return Walk(tokens, steps[-1].tolist(), stream, float(states[-1][-1, 0]))


def attention_maps(tokens: Sequence[int], H: int, device: str) -> list[tuple[Any, ...]]:
    """What following.fetching_maps gives: maps, places and l1 distances of rows, of each layer."""
    maps = following.fetching_maps(*_example(tokens, H, device), NESTED.reach)
    return list(zip(*maps, strict=True))


@functools.cache
def curve(
    rpe: str, Hs: tuple[int, ...], n: int, seed: int, device: str
) -> dict[int, dict[str, float]]:
    """H -> error, bound, floor for one block, error with one layer less, rounding; for NESTED."""
    return {H: following.nested_errors(moving.optimal(rpe, 2, H), n, seed, device) for H in Hs}
