"""What a network of adaptive.py does with its pointers, in every arithmetic: measured, not judged.

Each function runs a network over windows and returns numbers; claims compare them with what is
proved. Pointers and tokens that should be there come from the caller, or from the target.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np
import torch

from repro.numerics.exact import rational, rational_zeros, rationals
from repro.numerics.logarithms import ball
from repro.wang2024 import adaptive, chains, circle, moving, printed_weights
from repro.wang2024.model import Transformer, inner
from repro.wang2024.moving import Moving
from repro.wang2024.targets import FOLLOW, TWO_POINTERS, Target, shifted

BITS = 256


# --- two layers ----------------------------------------------------------------------------------


def two_layers(target: Target, heads: Sequence[Moving], **changes: Any) -> Transformer:
    return adaptive.transformer(target, heads, adaptive.two_layers(target), **changes)


@dataclass(frozen=True)
class Followed:
    wrong: int  # pointers that are not g_k(x_t)
    blocks: list[Any]  # for each memory the largest |block - x_{t-g}|^2
    output: Any  # its largest error


def exactly(
    target: Target,
    heads: Sequence[Moving],
    steps: Sequence[Callable[[list[int]], int]],
    windows: np.ndarray,
) -> Followed:
    """Two layers at every position: in rationals (lin) or in balls (log); `steps` are the g_k."""
    layout, lin = adaptive.Layout(target.M, target.d), heads[0].rpe == "lin"
    n, tokens, truth = windows.shape[1], windows.astype(int).tolist(), rationals(target(windows))
    wrong, blocks, output = 0, [0] * target.M, 0
    with flint.ctx.workprec(BITS):
        network = two_layers(target, heads)
        network = network if lin else network.balls(BITS)
        states = list(network.states(rationals(windows)))
        for w, t in itertools.product(range(len(windows)), range(n)):
            for k, step in enumerate(steps):
                g, found = step(tokens[w][t]), states[2][w, t, layout.pointer(k + 1)]
                wrong += found != g if lin else found.exp().unique_fmpz() != g
                if t >= target.reach:
                    distance = states[3][w, t, layout.block(k + 1)] - rationals(tokens[w][t - g])
                    blocks[k] = max(blocks[k], (distance**2).sum(), key=float)
            if t >= target.reach:
                error = abs(states[4][w, t, 0] - truth[w, t - target.reach])
                output = max(output, error, key=float)
    return Followed(wrong, blocks, output)


def sup_error(
    target: Target, rpe: str, H: int, far: int, rng: np.random.Generator, device: str
) -> tuple[float, ...]:
    """Of two float64 layers with H heads for each memory, and what the heads leave.

    Largest error found on windows of up to `far` tokens; the root of the sum of squares of the
    heads' errors over all sequences; of those on a window; and of what rounding may add.
    """
    heads = [moving.fitted(rpe, T, H) for T in target.distances]
    network = two_layers(target, heads).to(torch.float64, device)
    windows = adaptive.tried(target, heads, target.reach + 3, far, rng)  # setting: how long
    error = adaptive.largest_error(network, target, windows)
    parts = zip(*((psi.proved_error(), psi.error, 5 * psi.floor) for psi in heads), strict=True)
    return error, *(float(np.linalg.norm(part)) for part in parts)


@dataclass(frozen=True)
class Example:
    target: Target
    steps: Sequence[Callable[[list[int]], int]]  # g_k by hand
    lipschitz_squared: int  # of f


EXAMPLES = {
    "follow": Example(FOLLOW, [lambda x: x[0] + 2], 1),
    "two pointers": Example(TWO_POINTERS, [lambda x: x[0] + 2, lambda x: 1 + abs(x[0])], 3),
    "compass": Example(circle.COMPASS, [lambda x: 1 + abs(x[1])], 2),
}


def example_exactly(
    name: str, rpe: str, level: Any, few: int | None, rng: np.random.Generator
) -> tuple[Followed, list[Moving], int]:
    """With interpolating heads, on all windows or a few; the heads, and how many windows."""
    example = EXAMPLES[name]
    target, windows = example.target, example.target.windows(example.target.reach + 2)
    windows = windows[rng.permutation(len(windows))[:few]]
    heads = [moving.interpolated(rpe, T, level) for T in target.distances]
    return exactly(target, heads, example.steps, windows), heads, len(windows)


def after_zeros(target: Target, heads: Moving, count: int, rng: np.random.Generator) -> list[Any]:
    """The last two outputs for random windows of 5 tokens, and with zeros before them; exact."""
    network = two_layers(target, [heads])
    short = rationals(target.draw(4, 5, rng).astype(int))
    long = np.concatenate([rational_zeros(4, count, target.d), short], axis=1)
    return [network(x)[:, -2:, 0].tolist() for x in (short, long)]


def off_pointer(name: str, by: int, level: Any, every: int) -> Any:
    """The largest error at the last token if g_1 + by stands for g_1; lin, exact.

    The heads are made for T + 1. Every so many of the windows are tried.
    """
    target = EXAMPLES[name].target
    networks = [shifted(target.memories[0].lin, by), *(other.lin for other in target.memories[1:])]
    heads = [moving.interpolated("lin", T + 1, level) for T in target.distances]
    network = two_layers(target, heads, memory_networks=networks)
    windows = target.windows(target.reach + 2)[::every]
    return adaptive.exact_errors(network, target, windows)[:, -1].max()


def second_served(H: int, few: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Two pointers, T = 3 and 2, with H lin heads for the second and block 1 left 0; exact.

    The largest error on so many of the windows of 5 tokens, and the l1 error of the heads.
    """
    served = moving.interpolated("lin", 2, "1/1000", H)
    network = two_layers(TWO_POINTERS, [moving.silent("lin", 3), served])
    windows = TWO_POINTERS.windows(5)[rng.permutation(243)[:few]]
    return adaptive.exact_errors(network, TWO_POINTERS, windows).max(), served.error


class SupError(NamedTuple):
    """Of one example with H heads for each memory."""

    found: float  # the largest error on all short windows, long random ones and the worst ones
    proved: float  # |f|_Lip E_Attn, over all sequences
    on_window: float  # the same on windows of 60 tokens
    rounding: float  # 5 |f|_Lip eps A (1 + beta_max T)


@functools.cache
def example_error(name: str, rpe: str, H: int, seed: int, device: str) -> SupError:
    example, rng = EXAMPLES[name], np.random.default_rng(seed)
    found, *parts = sup_error(example.target, rpe, H, 60, rng, device)
    return SupError(found, *(math.sqrt(example.lipschitz_squared) * part for part in parts))


def error_curves(
    rpe: str, Hs: Sequence[int], seed: int, device: str
) -> dict[str, tuple[Sequence[int], list[float]]]:
    """Against H: errors of the examples, the bound of two pointers, and what no weights beat."""
    errors = {name: [example_error(name, rpe, H, seed, device) for H in Hs] for name in EXAMPLES}
    curves = {name: (Hs, [one.found for one in of_H]) for name, of_H in errors.items()}
    curves["bound"] = Hs, [one.proved for one in errors["two pointers"]]
    curves["best"] = Hs, [moving.least_error(rpe, 3, H) for H in Hs]
    return curves


def eight_pointers(T: int, rpe: str) -> tuple[list[int], int]:
    """Where the network of least norm points from each of the eight tokens, exactly; its width."""
    heads = Moving(rpe, T, (rational(2),), (1,), 1)
    with flint.ctx.workprec(BITS):
        network = two_layers(circle.pointer(T), [heads])
        states = adaptive.pointed(
            network if rpe == "lin" else network.balls(BITS), circle.EIGHT[:, None, :]
        )
        held = states[:, 0, adaptive.Layout(1, 2).pointer(1)]
        pointers = [int(flint.fmpq(p if rpe == "lin" else p.exp().unique_fmpz())) for p in held]
    return pointers, network.layers[0].feed_forward.c.shape[0]


def printed_dot_products(target: Target, heads: Moving, n: int) -> np.ndarray:
    """<W_Q x_t, W_K x_t'> of the first head with W_Q and W_K as B.1 prints them; exact."""
    network = printed_weights.transposed(two_layers(target, [heads]))
    x, head = (
        adaptive.pointed(network, rationals(target.windows(n))),
        network.layers[1].attention.heads[0],
    )
    return inner(inner(x, head.W_Q), inner(x, head.W_K))


def blocks_error(target: Target, heads: Sequence[Moving], n: int) -> Any:
    """The largest |blocks - memories|^2 at the last token of all windows of n; exact."""
    x = target.windows(n)
    *_, stream, _ = two_layers(target, heads).states(rationals(x))
    memories = rationals(target.fetched(x)[1][:, -1])
    return max(((stream[:, -1, : memories.shape[1]] - memories) ** 2).sum(-1))


def first_weights(target: Target, heads: Moving, tokens: Sequence[int]) -> list[flint.arb]:
    """What the first head of the second layer gives each token, seen from the last; in balls."""
    with flint.ctx.workprec(BITS):
        balls = two_layers(target, [heads]).balls(BITS)
        x = adaptive.pointed(balls, rationals(tokens)[:, None])
        attention = balls.layers[1].attention
        return attention.scores(attention.heads[0], x)[-1].tolist()


def drawn_pointer(
    T: int, psi: Moving, m: int, rng: np.random.Generator
) -> tuple[Target, Transformer]:
    """The target on eight tokens, and a network for it whose g has m drawn neurons."""
    target = circle.pointer(T)
    drawn = circle.drawn(circle.least_of_steps(T, psi.rpe), m, rng)
    return target, two_layers(target, [psi], memory_networks=[drawn])


def with_drawn_pointer(
    T: int, psi: Moving, m: int, rng: np.random.Generator, draw: np.random.Generator, device: str
) -> tuple[float, float]:
    """Largest error of such a network in float64, and its share of wrong pointers."""
    target, network = drawn_pointer(T, psi, m, rng)
    network = network.to(torch.float64, device)
    windows = target.draw(200, 24, draw)
    x, place = torch.as_tensor(windows, device=device), adaptive.Layout(1, 2).pointer(1)
    held = adaptive.pointed(network, x)[..., T:, place].cpu().numpy()
    pointers = held if psi.rpe == "lin" else np.rint(np.exp(held))
    wrong = float((pointers != target.fetched(windows)[0][..., 0]).mean())
    return float(adaptive.errors(network, target, windows).max()), wrong


# --- nested memories -----------------------------------------------------------------------------


def nested(target: Target, heads: Moving) -> Transformer:
    """The network of Theorem 5.4, with these heads for every memory."""
    return adaptive.transformer(target, [heads] * target.M, adaptive.nested(target))


def elsewhere(target: Target, states: Sequence[np.ndarray]) -> tuple[int, int]:
    """Numbers of the stream that a half-layer changes though they are not its own; and its own.

    FFN j owns the pointers of its stage (the first one also the 1), attention j + 1 their blocks,
    the first attention nothing.
    """
    place, moved, written = adaptive.Layout(target.M, target.d), 0, 0
    for j, stage in enumerate(adaptive.nested(target), start=1):
        pointers = [place.pointer(k) for k in stage] + [place.last] * (j == 1)
        blocks = [i for k in stage for i in range(*place.block(k).indices(place.D))]
        before, pointed, fetched = states[2 * j - 1 : 2 * j + 2]
        for change, own in ((pointed - before, pointers), (fetched - pointed, blocks)):
            others = [i for i in range(place.D) if i not in own]
            moved += int((change[..., others] != 0).sum())
            written += int((change[..., own] != 0).sum())
    return moved + int((states[1] != states[0]).sum()), written


def in_balls(target: Target, heads: Moving, windows: np.ndarray) -> tuple[int, flint.arb]:
    """log: pointers that are not within 1e-30 of log t_l; and the largest error."""
    place, (steps, _) = adaptive.Layout(target.M, target.d), target.fetched(windows)
    y, wrong, error = target(windows).astype(int), 0, flint.arb(0)
    with flint.ctx.workprec(BITS):
        tokens = np.frompyfunc(ball, 1, 1)(rationals(windows.astype(int)))
        *_, end, out = nested(target, heads).balls(BITS).states(tokens)
        for w, t in np.ndindex(y.shape):
            x = end[w, t + target.reach]
            for k, step in enumerate(steps[w, t], start=1):
                wrong += not abs(x[place.pointer(k)] - flint.arb(int(step)).log()) < 1e-30
            error = error.max(abs(out[w, t + target.reach, 0] - int(y[w, t])))
    return wrong, error


def nested_errors(
    target: Target, heads: Moving, near: int, rng: np.random.Generator, device: str
) -> dict[str, float]:
    """Of the float64 network and of one layer less; bound, floor for one block, rounding."""
    network, all_heads = nested(target, heads).to(torch.float64, device), [heads] * target.M
    tried = adaptive.tried(target, all_heads, near, 40, rng)  # setting: how long
    less = adaptive.cut(network, len(network.layers) - 1)
    squares = (target.M + 1) * target.M  # |f|_Lip^2 times the number of blocks
    return {
        "network": adaptive.largest_error(network, target, tried),
        "bound": target.readout.lipschitz * adaptive.attention_error(all_heads),
        "floor": float(heads.error.lower()),
        "less": adaptive.largest_error(less, target, tried),
        "rounding": 5 * math.sqrt(squares) * heads.floor,
    }


def cliff_pointers(
    delta: Any, heads: Moving, n: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """t_2 at the end of all windows of n tokens, and as it should be; errors; the tokens. Exact."""
    target, delta = chains.cliff(delta), Fraction(delta)
    places = np.indices((len(target.tokens),) * n).reshape(n, -1).T
    exact = rationals([-1, -delta, delta, 1])[places][..., None]
    *_, end, out = nested(target, heads).states(exact)
    stated = target.fetched(target.tokens[places])[0][:, -1, 1]
    found = end[:, -1, adaptive.Layout(target.M, target.d).pointer(2)]
    y = exact[np.arange(len(exact)), n - 1 - stated, 0]
    return found, rationals(stated), abs(out[:, -1, 0] - y), exact


def fetching_maps(
    network: Transformer, states: Sequence[np.ndarray], steps: np.ndarray, reach: int
) -> Iterator[tuple[np.ndarray, list[int], float]]:
    """For each layer its map of attention on one window, t - t_l (-1 where there is none), and the
    largest l1 distance of a row from the indicator of that place."""
    n = len(states[0])
    for l in range(len(network.layers)):
        weight = adaptive.attention_map(network, l, torch.as_tensor(states[2 * l]))
        wanted, places = np.zeros((n, n)), [-1] * n
        for t in range(reach, n if l else 0):
            places[t] = t - int(steps[t - reach, l - 1])
            wanted[t, places[t]] = 1
        yield weight, places, float(np.abs(weight - wanted)[reach:].sum(1).max())
