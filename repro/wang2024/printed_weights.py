"""Appendix C.1 as printed: one deviation at a time, put into a network that works.

Printed                                         What it does                        Here
log: W_K = sqrt(beta) e_D, where D holds log 2  logit beta log 2 log t - beta log s without_log_2
W_Q reads e_{D-M+l}, t_l is at e_{D-M+l-1}      the next pointer, or the constant   next_pointer
W_Q = delta_(p,1), W_K = delta_(D,1), D x D     x_1 in row p, and x_1 in row D      transposed

1. logit = -beta log(s / t^(log 2)): the heads are centred at t^0.693..., at 1.617 for t = 2.
2. For l < M pointer l + 1 is still 0 when memory l is fetched; for l = M it is the constant 1.
3. <W_Q x_t, W_K x_{t-s}> = 0, as p != D: no head knows a pointer.
In 2 and 3 lin heads then follow B = 0 or B = 1: they fetch x_t or x_{t-1}, whatever t_l is.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import flint
import numpy as np

from repro.numerics.arrays import each
from repro.numerics.exact import rational_zeros
from repro.wang2024.model import Head, Transformer


def without_log_2(network: Transformer) -> Transformer:
    """W_K = e_D, as for lin; of a log network in balls."""
    one = flint.arb(1)
    return changed(network, lambda head: {"W_K": each(lambda w: w if w == 0 else one, head.W_K)})


def next_pointer(network: Transformer) -> Transformer:
    """W_Q reads one coordinate further."""
    return changed(network, lambda head: {"W_Q": np.roll(np.asarray(head.W_Q), 1, axis=1)})


def transposed(network: Transformer) -> Transformer:
    """delta_(p,1) for the row delta_(1,p)."""
    return changed(network, lambda head: {"W_Q": _column(head.W_Q), "W_K": _column(head.W_K)})


def _column(row: Any) -> np.ndarray:
    """(1, D) -> (D, D), with the row as its first column."""
    matrix = rational_zeros(*(row.shape[1],) * 2)
    matrix[:, 0] = row[0]
    return matrix


def changed(network: Transformer, change: Callable[[Head], dict[str, Any]]) -> Transformer:
    """Other weights for every head that reads a pointer; the idle one does not."""
    layers = []
    for layer in network.layers:
        heads = layer.attention.heads
        new = [one if one.dot_product_free else replace(one, **change(one)) for one in heads]
        layers.append(replace(layer, attention=replace(layer.attention, heads=new)))
    return replace(network, layers=layers)
