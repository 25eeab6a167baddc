"""What a network of adaptive.py does with its pointers, in every arithmetic: measured, not judged.

Pointers and tokens that should be there come from the caller, or from the target.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np
import torch

from repro.numerics.arrays import each
from repro.numerics.exact import rational, rational_zeros, rationals
from repro.wang2024 import adaptive, chains, circle, depth, moving, printed_weights
from repro.wang2024.model import Transformer, inner
from repro.wang2024.moving import Moving
from repro.wang2024.targets import FOLLOW, NESTED, TWO_POINTERS, Target, shifted

BITS = 256
POINTER = adaptive.Layout(1, 2).pointer(1)  # of one memory in the plane


def two_layers(target: Target, heads: Sequence[Moving], **changes: Any) -> Transformer:
    return adaptive.transformer(target, heads, adaptive.two_layers(target), **changes)


def nested(target: Target, heads: Moving, **changes: Any) -> Transformer:
    """The network of Theorem 5.4, with these heads for every memory."""
    stages = adaptive.nested(target)
    return adaptive.transformer(target, [heads] * target.M, stages, **changes)


class Followed(NamedTuple):
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
    reach, x, y = target.reach, rationals(windows), rationals(target(windows))
    tokens = windows.astype(int).tolist()
    g = np.array([[[step(token) for step in steps] for token in window] for window in tokens])
    with flint.ctx.workprec(BITS):
        network = two_layers(target, heads)
        network = network if lin else network.balls(BITS)
        _, _, pointed, fetched, out = network.states(x)
        held = pointed[..., layout.pointers]
        found = held if lin else each(lambda pointer: pointer.exp().unique_fmpz(), held)
        squares = []
        for k in range(1, target.M + 1):
            place = np.arange(reach, x.shape[1]) - g[:, reach:, k - 1]
            memory = np.take_along_axis(x, place[..., None], axis=1)
            off = ((fetched[:, reach:, layout.block(k)] - memory) ** 2).sum(-1)
            squares.append(max(off.ravel(), key=float))
        output = max(abs(out[:, reach:, 0] - y).ravel(), key=float)
    return Followed(int((found != g).sum()), squares, output)


class Example(NamedTuple):
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
    target, slope = EXAMPLES[name].target, math.sqrt(EXAMPLES[name].lipschitz_squared)
    heads = [moving.fitted(rpe, T, H) for T in target.distances]
    network = two_layers(target, heads).to(torch.float64, device)
    rng, near = np.random.default_rng(seed), target.reach + 3  # setting: how long
    windows = adaptive.tried(target, heads, near, 60, rng)
    parts = zip(*((psi.proved_error(), psi.error, 5 * psi.floor) for psi in heads), strict=True)
    together = (slope * float(np.linalg.norm(part)) for part in parts)
    return SupError(adaptive.largest_error(network, target, windows), *together)


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
    network = two_layers(circle.pointer(T), [Moving(rpe, T, (rational(2),), (1,), 1)])
    with flint.ctx.workprec(BITS):
        exact = network if rpe == "lin" else network.balls(BITS)
        held = adaptive.pointed(exact, circle.EIGHT[:, None, :])[:, 0, POINTER]
        pointers = [int(flint.fmpq(p if rpe == "lin" else p.exp().unique_fmpz())) for p in held]
    return pointers, depth.widths(network)[0]


def printed_dot_products(target: Target, heads: Moving, n: int) -> np.ndarray:
    """<W_Q x_t, W_K x_t'> of the first head with W_Q and W_K as B.1 prints them; exact."""
    network = printed_weights.transposed(two_layers(target, [heads]))
    x = adaptive.pointed(network, rationals(target.windows(n)))
    head = network.layers[1].attention.heads[0]
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
    x = torch.as_tensor(windows, device=device)
    held = adaptive.pointed(network, x)[..., T:, POINTER].cpu().numpy()
    pointers = held if psi.rpe == "lin" else np.rint(np.exp(held))
    wrong = float((pointers != target.fetched(windows)[0][..., 0]).mean())
    return float(adaptive.errors(network, target, windows).max()), wrong


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
    steps, y = target.fetched(windows)[0], rationals(target(windows))
    with flint.ctx.workprec(BITS):
        network = nested(target, heads).balls(BITS)
        *_, end, out = (state[:, target.reach :] for state in network.states(rationals(windows)))
        logs = each(lambda step: flint.arb(int(step)).log(), steps)
        held = end[..., adaptive.Layout(target.M, target.d).pointers]
        wrong = int((~(abs(held - logs) < 1e-30).astype(bool)).sum())
        return wrong, adaptive.largest(out[..., 0] - y)


def nested_errors(heads: Moving, near: int, seed: int, device: str) -> dict[str, float]:
    """NESTED in float64, and with one layer less; bound, floor for one block, rounding."""
    network, rng = nested(NESTED, heads).to(torch.float64, device), np.random.default_rng(seed)
    tried = adaptive.tried(NESTED, [heads] * 2, near, 40, rng)  # setting: how long
    return {
        "network": adaptive.largest_error(network, NESTED, tried),
        "bound": NESTED.readout.lipschitz * adaptive.attention_error([heads] * 2),
        "floor": float(heads.error.lower()),
        "less": adaptive.largest_error(adaptive.cut(network, 2), NESTED, tried),
        "rounding": 5 * math.sqrt(6) * heads.floor,  # |f|_Lip^2 = 3, two blocks
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
