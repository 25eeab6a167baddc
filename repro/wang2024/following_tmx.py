"""Proposition 5.3 (B.6): networks with TMX and with dot product, side by side; measured.

`dot product` is the network of Theorem 5.1; TMX reads the pointer by phi(s) - phi(w . x_t).
"""

import functools
from dataclasses import replace
from typing import Any

import flint
import numpy as np

from repro.numerics.exact import rational, rationals
from repro.numerics.logarithms import ball
from repro.wang2024 import adaptive, following, moving, printed_weights
from repro.wang2024.model import Transformer
from repro.wang2024.moving import Moving
from repro.wang2024.targets import FOLLOW, TWO_POINTERS, shifted

TARGETS = {"FOLLOW": FOLLOW, "TWO_POINTERS": TWO_POINTERS}
BITS = 256


def built(name: str, heads: list[Moving], *, tmx: bool, **changes: Any) -> Transformer:
    return following.two_layers(TARGETS[name], heads, tmx=tmx, **changes)


@functools.cache
def exact_heads(name: str, rpe: str) -> list[Moving]:
    return following.exact_heads(TARGETS[name], rpe)


def outputs(name: str, network: Transformer) -> np.ndarray:
    """At the last position of all windows of 4 tokens, in rationals."""
    return network(rationals(TARGETS[name].windows(4)))[:, -1, 0]


@functools.cache
def exact_outputs(name: str, rpe: str, tmx: bool) -> np.ndarray:
    return outputs(name, built(name, exact_heads(name, rpe), tmx=tmx))


def off_target(name: str, outputs: np.ndarray) -> flint.arb:
    """The largest error of outputs at the last position of all windows of 4 tokens."""
    target = TARGETS[name]
    return ball(max(abs(outputs - rationals(target(target.windows(4))[:, -1]))))


def outside_balls(name: str, every: int) -> tuple[int, float]:
    """log: outputs with TMX outside the balls of the dot product's network; the largest radius."""
    target, some = TARGETS[name], slice(None, None, every)
    network = built(name, exact_heads(name, "log"), tmx=False)
    with flint.ctx.workprec(BITS):
        balls = network.balls(BITS)(rationals(target.windows(4)[some]))[:, -1, 0]
        pairs = zip(balls, exact_outputs(name, "log", True)[some], strict=True)
        outside = sum(not flint.arb(b).contains(exact) for b, exact in pairs)
    return outside, max(float(b.rad()) for b in balls)


@functools.cache
def in_floats(
    name: str, rpe: str, H: int, tmx: bool, device: str
) -> tuple[np.ndarray, float, list[Moving]]:
    """Outputs in float64 on windows of 7 tokens, their largest error, and the heads."""
    target, heads = TARGETS[name], [moving.fitted(rpe, T, H) for T in TARGETS[name].distances]
    states = following.in_floats(built(name, heads, tmx=tmx), target.windows(7), device)
    *_, found = following.held(target, states)
    return found, float(np.abs(found - target(target.windows(7))).max()), heads


def disturbed(rpe: str, by: str) -> np.ndarray:
    """FOLLOW with TMX, the network for g being off by `by` at every token; exact outputs."""
    off, heads = [shifted(FOLLOW.memories[0].lin, by)], exact_heads("FOLLOW", rpe)
    return outputs("FOLLOW", built("FOLLOW", heads, tmx=True, memory_networks=off))


def reading(network: Transformer, place: int) -> Transformer:
    """w = e_place in every head of the second layer."""
    w = adaptive.Layout(1, 1).row(place, rational(1))[0]
    return printed_weights.changed(network, lambda _: {"w": w})


def printed_log(heads: Moving) -> Transformer:
    """B.3 to the letter: log g_k in the stream, rounded as (15) has it, and w reads it."""
    dot_product, tmx = (built("FOLLOW", [heads], tmx=tmx) for tmx in (False, True))
    layer = replace(tmx.layers[1], feed_forward=dot_product.layers[1].feed_forward)
    return replace(dot_product, layers=(dot_product.layers[0], layer))


def printed_finite(heads: Moving) -> dict[int, int]:
    """How many outputs of these weights are finite, by g, on all windows of 4 tokens.

    The model refuses phi_log below 1; here it is computed all the same.
    """
    windows = FOLLOW.windows(4)[..., 0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = np.log(windows[:, -1] + 2)
        phi = np.where(z >= 1, -np.log(z), -np.inf)
        beta = np.array([float(b) for b in heads.exponents])
        logits = beta * (-np.log(np.arange(1, 4))[:, None] - phi[:, None, None])  # (N, s, H)
        found = np.einsum("h,nsh,ns->n", np.array(heads.alphas), np.exp(logits), windows[:, 2::-1])
    finite = np.isfinite(found)
    return {g: int(finite[windows[:, -1] + 2 == g].sum()) for g in (1, 2, 3)}


def centred_at_log_3(heads: Moving, last: int) -> tuple[flint.arb, flint.arb]:
    """psi(s; log 3) against I{s = 3}: the l1 error over s <= last; and (log 3 / 3)^2. In balls."""
    with flint.ctx.workprec(BITS):
        centre = flint.arb(3).log()
        pairs = [(ball(a), ball(b)) for a, b in zip(heads.alphas, heads.exponents, strict=True)]
        errors = [
            abs(sum((a * (centre / s) ** b for a, b in pairs), flint.arb(0)) - (s == 3))
            for s in range(1, last + 1)
        ]
        return sum(errors, flint.arb(0)), (centre / 3) ** 2
