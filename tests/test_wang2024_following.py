"""What is measured of a network that follows pointers: each number moves when it should."""

from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from repro.numerics.exact import rationals
from repro.wang2024 import following, moving, targets

LIN, LOG = (moving.interpolated(rpe, 2, Fraction(1, 100)) for rpe in ("lin", "log"))


@pytest.mark.parametrize(("rpe", "T"), [("lin", 3), ("log", 3)])
def test_another_function_is_seen_at_every_pointer_and_block(rpe, T):
    target, windows = targets.FOLLOW, targets.FOLLOW.windows(4)[::5]
    heads = [moving.interpolated(rpe, T, "1/100")]
    right = following.exactly(target, heads, [lambda x: x[0] + 2], windows)
    assert (right.wrong, len(right.blocks)) == (0, 1)
    assert right.output <= heads[0].error
    assert right.blocks[0] <= heads[0].error ** 2
    wrong = following.exactly(target, heads, [lambda x: 2 - x[0]], windows)
    assert wrong.wrong == int((windows != 0).sum())
    assert wrong.blocks[0] > 1
    assert str(wrong.output) == str(right.output)


def test_a_number_that_moves_elsewhere_is_counted():
    target = targets.NESTED
    states = list(following.nested(target, LIN).states(rationals(target.windows(3).astype(int))))
    assert following.elsewhere(target, states)[0] == 0
    states[3] = states[3].copy()
    states[3][0, 0, 0] += 1  # attention 2 touches block 0: it moves, and moves back
    assert following.elsewhere(target, states)[0] == 2


def test_in_balls_another_pointer_is_counted():
    target, windows = targets.NESTED, targets.NESTED.windows(3)
    wrong, error = following.in_balls(target, LOG, windows)
    assert wrong == 0
    assert error <= 2 * LOG.error
    worse = moving.Moving("log", 2, LOG.exponents, (flint.fmpq(0),) * LOG.H, flint.arb(1))
    assert following.in_balls(target, worse, windows)[0] > 0  # t_2 reads a block that is 0


def test_the_map_of_a_layer_is_held_against_its_pointers():
    target, heads = targets.NESTED, moving.optimal("lin", 2, 5)
    x = np.array([1.0, -1, -1, 1, 1, -1])[:, None]
    network = following.nested(target, heads).to(torch.float64)
    states = [state.numpy() for state in network.states(torch.from_numpy(x))]
    steps = target.fetched(x)[0]
    (_, idle, nothing), *rest = following.fetching_maps(network, states, steps, target.reach)
    assert (idle, nothing) == ([-1] * 6, 0)
    assert [places[:2] for _, places, _ in rest] == [[-1, -1]] * 2
    assert all(off <= float(heads.error.upper()) + 1e-9 for *_, off in rest)
    *_, (_, _, off) = following.fetching_maps(network, states, 3 - steps, target.reach)
    assert off > 1.9
