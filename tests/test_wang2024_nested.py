"""Theorem 5.4 and Proposition 5.5 of wang2024: targets of every depth, printed weights, order."""

import functools
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.numerics import barron
from repro.numerics.exact import rationals
from repro.numerics.logarithms import ball
from repro.wang2024 import adaptive, chains, moving, printed_weights
from repro.wang2024.targets import NESTED


@functools.cache
def interpolated():
    """When it is asked for, not at import: what breaks it turns a test red, and not the file."""
    return moving.interpolated("lin", 2, Fraction(1, 100))


def network_for(target=NESTED, heads=None):
    heads = heads or interpolated()
    return adaptive.transformer(target, [heads] * target.M, adaptive.nested(target))


# --- targets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [2, 3, 5])
def test_the_networks_of_a_relay_are_T_x_and_its_logarithm(T):
    memory = chains.relay(T).memories[0]
    for k in range(1, T + 1):
        x = rationals([k]) / T
        assert barron.value(memory.lin, x) == k
        with flint.ctx.workprec(128):
            a = np.frompyfunc(ball, 1, 1)(memory.log.a)
            log = (np.maximum(memory.log.b @ x + memory.log.c, 0) * a).sum()
            assert abs(log - flint.arb(k).log()) < 1e-30
        assert memory.g(np.array([k / T])) == k


@pytest.mark.parametrize("M", [1, 2, 3])
def test_a_relay_goes_where_the_last_token_says(M):
    target = chains.relay(3, M)
    x = np.array([3, 1, 2, 3, 1, 2])[:, None] / 3
    place, t = 5, 5
    for _ in range(M):
        place = t - round(3 * x[place, 0])
    assert target(x)[-1] == x[place, 0]
    assert target.K == M - 1


def test_bad_targets_are_refused():
    with pytest.raises(ValueError, match="T >= 2"):
        chains.relay(1)
    with pytest.raises(ValueError, match="0 < delta <= 1/2"):
        chains.cliff(Fraction(2, 3))


# --- the order of the stages ---------------------------------------------------------------------


@pytest.mark.parametrize("stages", [[[2], [1]], [[1, 2]]])
def test_a_memory_is_not_fetched_before_what_it_reads(stages):
    with pytest.raises(ValueError, match=r"g_2 reads the memories \[1\], not fetched before"):
        adaptive.transformer(NESTED, [interpolated()] * 2, stages)


@pytest.mark.parametrize("stages", [[[1]], [[1], [2], [2]]])
def test_every_memory_is_fetched_once(stages):
    with pytest.raises(ValueError, match="each of the M=2 memories is fetched once"):
        adaptive.transformer(NESTED, [interpolated()] * 2, stages)


# --- printed weights -----------------------------------------------------------------------------


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


# --- how deep ------------------------------------------------------------------------------------


def test_a_pointer_beyond_T_is_refused():
    with pytest.raises(ValueError, match="memory 1 reaches T=3, got heads for T=2"):
        network_for(chains.relay(3))


# --- figures -------------------------------------------------------------------------------------
