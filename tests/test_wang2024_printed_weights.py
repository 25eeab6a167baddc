"""Weights as printed: what each of them changes, and nothing else."""

import functools
from fractions import Fraction

import numpy as np

from repro.numerics.exact import rationals
from repro.wang2024 import adaptive, following, moving, printed_weights
from repro.wang2024.targets import NESTED


@functools.cache
def interpolated():
    """When it is asked for, not at import: what breaks it turns a test red, and not the file."""
    return moving.interpolated("lin", 2, Fraction(1, 100))


def network_for(heads=None):
    return following.nested(NESTED, heads or interpolated())


def test_the_printed_forms_change_the_dot_product_and_nothing_else():
    network = network_for()
    for change in (printed_weights.next_pointer, printed_weights.transposed):
        changed = change(network)
        for before, after in zip(network.layers, changed.layers, strict=True):
            assert after.feed_forward is before.feed_forward
            pairs = zip(before.attention.heads, after.attention.heads, strict=True)
            assert all(a.W_V is b.W_V and a.p is b.p for a, b in pairs)


def test_the_next_pointer_is_one_further():
    head = network_for().layers[2].attention.heads[0]
    moved = printed_weights.next_pointer(network_for()).layers[2].attention.heads[0]
    layout = adaptive.Layout(2, 1)
    assert head.W_Q is not None
    assert moved.W_Q is not None
    assert np.flatnonzero(head.W_Q[0] != 0).tolist() == [layout.pointer(2)]
    assert np.flatnonzero(moved.W_Q[0] != 0).tolist() == [layout.last]


def test_a_transposed_query_has_no_dot_product():
    head = printed_weights.transposed(network_for()).layers[1].attention.heads[1]
    assert head.W_Q is not None
    assert head.W_K is not None
    assert head.W_Q.shape == head.W_K.shape == (6, 6)
    x = rationals([[1, 1, 1, 2, 1, 1]])
    assert (head.W_Q @ x[0]) @ (head.W_K @ x[0]) == 0
    printed = network_for().layers[1].attention.heads[1]  # rows, which the printed form takes for
    for found, row in ((head.W_Q, printed.W_Q), (head.W_K, printed.W_K)):  # the first column
        assert row is not None
        assert (found[:, 0] == row[0]).all()
        assert (found[:, 1:] == 0).all()


def test_without_log_2_the_key_is_the_constant_itself():
    heads = moving.interpolated("log", 2, Fraction(1, 100))
    head = printed_weights.without_log_2(network_for(heads=heads)).layers[1].attention.heads[0]
    assert head.W_K is not None
    assert head.W_K[0, 5] == 1
    assert all(value == 0 for value in head.W_K[0, :5])
