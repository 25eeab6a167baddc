"""Proposition 5.5: two pointers in two layers (Theorem 5.1) and in M + 1 = 3; what both do."""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import flint

from repro.numerics.exact import rationals
from repro.wang2024 import adaptive, depth, moving
from repro.wang2024.model import Transformer
from repro.wang2024.moving import Moving
from repro.wang2024.targets import TWO_POINTERS

LEVEL = flint.fmpq(1, 100)


def networks(heads: Sequence[Moving]) -> list[Transformer]:
    """Theorem 5.1's two layers and Proposition 5.5's M + 1."""
    stages = (adaptive.two_layers, adaptive.one_by_one)
    return [adaptive.transformer(TWO_POINTERS, heads, of(TWO_POINTERS)) for of in stages]


def exact_heads(rpe: str) -> list[Moving]:
    return [moving.interpolated(rpe, T, LEVEL) for T in TWO_POINTERS.distances]


class Compared(NamedTuple):
    windows: int
    differ: int  # outputs of the two networks
    error: Any  # the largest of the deep one


def exactly(n: int) -> Compared:
    """lin, in rationals, on all windows of n tokens."""
    target, windows = TWO_POINTERS, TWO_POINTERS.windows(n)
    both = (one(rationals(windows)) for one in networks(exact_heads("lin")))
    wide, deep = (outputs[:, target.reach :, 0] for outputs in both)
    error = abs(deep - rationals(target(windows))).max()
    return Compared(len(windows), int((wide != deep).sum()), error)


def in_balls(n: int, bits: int) -> Compared:
    """log; outputs differ that are not within 1e-30 of each other."""
    target, windows = TWO_POINTERS, TWO_POINTERS.windows(n)
    with flint.ctx.workprec(bits):
        both = (one.balls(bits)(rationals(windows)) for one in networks(exact_heads("log")))
        wide, deep = (outputs[:, target.reach :, 0] for outputs in both)
        apart = int((~(abs(wide - deep) < 1e-30).astype(bool)).sum())
        error = adaptive.largest(deep - rationals(target(windows)))
    return Compared(len(windows), apart, error)


class Point(NamedTuple):
    error: float
    bound: float  # sqrt 3 E_Attn
    rounding: float  # 5 eps A (1 + beta_max T), for each memory


@functools.cache
def curves(rpe: str, Hs: tuple[int, ...], n: int, device: str) -> dict[int, tuple[Point, Point]]:
    """H heads in each layer, float64: split between both memories, or all for one.

    Largest errors on all windows of n tokens, for two layers and for M + 1.
    """
    target, windows, found = TWO_POINTERS, TWO_POINTERS.windows(n), {}
    for H in Hs:
        costs = [float(depth.cost(rpe, T)) for T in target.distances]
        split, whole = (
            [moving.fitted(rpe, T, h) for T, h in zip(target.distances, hs, strict=True)]
            for hs in (moving.allocate(H, costs, 2), [H] * target.M)
        )
        points = []
        for heads, network in ((split, networks(split)[0]), (whole, networks(whole)[1])):
            error = adaptive.float_error(network, target, windows, device)
            bound = math.sqrt(3) * adaptive.attention_error(heads)
            points.append(Point(error, bound, sum(5 * one.floor for one in heads)))
        found[H] = tuple(points)
    return found
