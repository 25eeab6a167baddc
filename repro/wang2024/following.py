"""What networks of adaptive.py do with their pointers, in every arithmetic: measured, not judged.

Theorem 5.1's two layers; for nested memories see nested.py.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import flint
import numpy as np
import torch

from repro.numerics.arrays import each
from repro.numerics.exact import rational, rationals
from repro.wang2024 import adaptive, budgets, circle, fixed, moving, printed_weights
from repro.wang2024.model import Transformer, inner
from repro.wang2024.moving import Moving
from repro.wang2024.targets import FOLLOW, TWO_POINTERS, Target, shifted

BITS = 512
EXAMPLES = {"follow": FOLLOW, "two pointers": TWO_POINTERS, "compass": circle.COMPASS}


def two_layers(target: Target, heads: Sequence[Moving], **changes: Any) -> Transformer:
    return adaptive.transformer(target, heads, adaptive.two_layers(target), **changes)


def nested(target: Target, heads: Moving, **changes: Any) -> Transformer:
    """The network of Theorem 5.4, with these heads for every memory."""
    stages = adaptive.nested(target)
    return adaptive.transformer(target, [heads] * target.M, stages, **changes)


def rigorous(network: Transformer) -> Transformer:
    """What computes without rounding: lin in rationals, as it is; log in balls."""
    return network if network.layers[0].attention.rpe == "lin" else network.balls(BITS)


def in_floats(network: Transformer, windows: np.ndarray, device: str = "cpu") -> list[np.ndarray]:
    """x^(0), x^(1/2), ..., and the outputs, in float64."""
    states = network.to(torch.float64, device).states(torch.as_tensor(windows, device=device))
    return [state.cpu().numpy() for state in states]


def held(target: Target, states: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pointers, blocks and outputs in the end, at the positions that the window determines."""
    *_, end, out = (state[..., target.reach :, :] for state in states)
    layout = adaptive.Layout(target.M, target.d)
    return end[..., layout.pointers], end[..., : layout.pointer(1)], out[..., 0]


class Followed(NamedTuple):
    wrong: list[int]  # for each memory the pointers that are not t_k; in balls, not within 1e-30
    blocks: list[Any]  # for each memory the largest |block - x_{t-t_k}|^2
    output: Any  # its largest error


def followed(
    target: Target,
    states: Iterable[np.ndarray],
    windows: np.ndarray,
    tokens: np.ndarray | None = None,
) -> Followed:
    """Of states in rationals or balls; `tokens` are exact if floats are not, f picks one then."""
    with flint.ctx.workprec(BITS):
        pointers, blocks, out = held(target, states)
        x, steps = rationals(windows) if tokens is None else tokens, target.fetched(windows)[0]
        places = np.arange(target.reach, windows.shape[1])[:, None] - steps
        memories = [np.take_along_axis(x, places[..., [k]], axis=1) for k in range(target.M)]
        off = [
            adaptive.largest(
                ((blocks[..., k * target.d : (k + 1) * target.d] - memory) ** 2).sum(-1)
            )
            for k, memory in enumerate(memories, start=1)
        ]
        y = rationals(target(windows)) if tokens is None else memories[-1][..., 0]
        if isinstance(out.flat[0], flint.arb):
            logs = each(lambda step: flint.arb(int(step)).log(), steps)
            wrong = ~(abs(pointers - logs) < 1e-30).astype(bool)
        else:
            wrong = pointers != rationals(steps)
        return Followed(wrong.sum((0, 1)).tolist(), off, adaptive.largest(out - y))


def in_floats_wrong(
    target: Target, network: Transformer, windows: np.ndarray, device: str
) -> tuple[float, np.ndarray]:
    """The largest error in float64, and for each memory the share of wrong pointers."""
    pointers, _, out = held(target, in_floats(network, windows, device))
    log = network.layers[0].attention.rpe == "log"
    found = np.rint(np.exp(pointers)) if log else pointers
    wrong = (found != target.fetched(windows)[0]).mean((0, 1))
    return float(np.abs(out - target(windows)).max()), wrong


def example_exactly(
    name: str, rpe: str, level: Any, few: int | None, rng: np.random.Generator
) -> tuple[Followed, list[Moving], int, Any]:
    """On all windows or a few: also the heads, how many windows, and |f|_Lip^2 E_Attn^2."""
    target = EXAMPLES[name]
    windows = target.windows(target.reach + 2)
    windows = windows[rng.permutation(len(windows))[:few]]
    heads = exact_heads(target, rpe, level)
    states = rigorous(two_layers(target, heads)).states(rationals(windows))
    squares = sum((one.error**2 for one in heads), flint.fmpq(0))
    bound = round(target.readout.lipschitz**2) * squares
    return followed(target, states, windows), heads, len(windows), bound


def exact_heads(target: Target, rpe: str, level: Any = "1/100") -> list[Moving]:
    return [moving.interpolated(rpe, T, level) for T in target.distances]


def off_pointer(name: str, by: int, level: Any, every: int) -> Any:
    """The largest error at the last token if g_1 + by stands for g_1; lin, exact.

    The heads are made for T + 1. Every so many of the windows are tried.
    """
    target = EXAMPLES[name]
    networks = [shifted(target.memories[0].lin, by), *(other.lin for other in target.memories[1:])]
    heads = [moving.interpolated("lin", T + 1, level) for T in target.distances]
    network = two_layers(target, heads, memory_networks=networks)
    windows = target.windows(target.reach + 2)[::every]
    return fixed.errors(network, target, windows)[:, -1].max()


def second_served(H: int, few: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Two pointers, T = 3 and 2, with H lin heads for the second and block 1 left 0; exact.

    The largest error on so many of the windows of 5 tokens, and the l1 error of the heads.
    """
    served = moving.interpolated("lin", 2, "1/1000", H)
    network = two_layers(TWO_POINTERS, [moving.silent("lin", 3), served])
    windows = TWO_POINTERS.windows(5)[rng.permutation(243)[:few]]
    return fixed.errors(network, TWO_POINTERS, windows).max(), served.error


class SupError(NamedTuple):
    """Of one example with H heads for each memory."""

    found: float  # the largest error on all short windows, long random ones and the worst ones
    proved: float  # |f|_Lip E_Attn, over all sequences
    on_window: float  # the same on windows of 60 tokens
    rounding: float  # a bound of what float64 adds


@functools.cache
def example_error(name: str, rpe: str, H: int, seed: int, device: str) -> SupError:
    target, rng = EXAMPLES[name], np.random.default_rng(seed)
    heads = [moving.fitted(rpe, T, H) for T in target.distances]
    network = two_layers(target, heads).to(torch.float64, device)
    windows = adaptive.tried(target, heads, target.reach + 3, 60, rng)  # setting: how long
    proved, on_window = (
        target.readout.lipschitz * float(np.linalg.norm(errors))
        for errors in ([psi.proved_error() for psi in heads], [psi.error for psi in heads])
    )
    found, lost = (
        adaptive.largest_error(network, target, windows),
        adaptive.rounding(target, heads, 60),
    )
    return SupError(found, proved, on_window, lost)


def error_curves(
    rpe: str, Hs: Sequence[int], seed: int, device: str
) -> dict[str, list[tuple[int, float]]]:
    """(H, errors) of the examples, the bound of two pointers, and what no weights beat."""
    found = {
        name: [(H, example_error(name, rpe, H, seed, device).found) for H in Hs]
        for name in EXAMPLES
    }
    proved = [(H, example_error("two pointers", rpe, H, seed, device).proved) for H in Hs]
    return found | {"bound": proved, "best": [(H, moving.least_error(rpe, 3, H)) for H in Hs]}


def eight_pointers(T: int, rpe: str) -> tuple[list[int], int]:
    """Where the network of least norm points from each of the eight tokens, exactly; its width."""
    network = two_layers(circle.pointer(T), [Moving(rpe, T, (rational(2),), (1,), 1)])
    with flint.ctx.workprec(BITS):
        x = adaptive.pointed(rigorous(network), circle.EIGHT[:, None, :])
        held = x[:, 0, adaptive.Layout(1, 2).pointer(1)]
        pointers = [int(flint.fmpq(p if rpe == "lin" else p.exp().unique_fmpz())) for p in held]
    return pointers, budgets.widths(network)[0]


def printed_dot_products(target: Target, heads: Moving, n: int) -> np.ndarray:
    """<W_Q x_t, W_K x_t'> of the first head with W_Q and W_K as B.1 prints them; exact."""
    network = printed_weights.transposed(two_layers(target, [heads]))
    x = adaptive.pointed(network, rationals(target.windows(n)))
    head = network.layers[1].attention.heads[0]
    return inner(inner(x, head.W_Q), inner(x, head.W_K))


def blocks_error(target: Target, heads: Sequence[Moving], n: int) -> Any:
    """The largest |blocks - memories|^2 of all windows of n tokens; exact."""
    x = target.windows(n)
    _, blocks, _ = held(target, two_layers(target, heads).states(rationals(x)))
    return ((blocks - rationals(target.fetched(x)[1])) ** 2).sum(-1).max()


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
    error, (wrong,) = in_floats_wrong(target, network, target.draw(200, 24, draw), device)
    return error, float(wrong)


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


def fetching_maps(
    network: Transformer, states: Sequence[np.ndarray], steps: np.ndarray, reach: int
) -> Iterator[tuple[np.ndarray, list[int], float]]:
    """For each layer how much of x_key its heads add to its block of token t, on one window, d = 1;
    t - t_l, or -1; and the largest l1 distance of a row from the indicator of that place."""
    n = len(states[0])
    for l in range(len(network.layers)):
        attention, x = network.layers[l].attention, torch.as_tensor(states[2 * l])
        values = [float((attention.W_O @ head.W_V)[l, 0]) for head in attention.heads]
        scores = [attention.scores(head, x).numpy() for head in attention.heads]
        weight = np.tensordot(values, scores, axes=1)
        wanted, places = np.zeros((n, n)), [-1] * n
        for t in range(reach, n if l else 0):
            places[t] = t - int(steps[t - reach, l - 1])
            wanted[t, places[t]] = 1
        yield weight, places, float(np.abs(weight - wanted)[reach:].sum(1).max())
