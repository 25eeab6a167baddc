"""What is measured of a network that follows pointers: each number moves when it should."""

import functools
import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from repro.numerics import barron
from repro.numerics.exact import rationals
from repro.wang2024 import adaptive, circle, following, moving, nested, targets


@functools.cache
def interpolated(rpe):
    """When it is asked for, not at import: what breaks it turns a test red, and not the file."""
    return moving.interpolated(rpe, 2, Fraction(1, 100))


def exactly(target, heads, windows, of):
    """What is followed if the target is another than the network's."""
    network = following.rigorous(following.two_layers(target, heads))
    return following.followed(of, network.states(rationals(windows)), windows)


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_another_function_is_seen_at_every_pointer_and_block(rpe):
    target, windows = targets.FOLLOW, targets.FOLLOW.windows(4)[::5]
    heads = following.exact_heads(target, rpe)
    right = exactly(target, heads, windows, of=target)
    assert (right.wrong, len(right.blocks)) == ([0], 1)
    assert right.output <= heads[0].error
    assert right.blocks[0] <= heads[0].error ** 2
    other = replace(target.memories[0], g=lambda x: 2 - x[..., 0].astype(int))
    wrong = exactly(target, heads, windows, of=replace(target, memories=(other,)))
    assert wrong.wrong == [(windows[:, 3:] != 0).sum()]
    assert wrong.blocks[0] > 1
    assert wrong.output > 1


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_heads_of_half_the_weight_leave_half_of_each_token(rpe):
    target, level = targets.TWO_POINTERS, 1e-3
    whole = following.exact_heads(target, rpe, level)
    heads = [replace(psi, alphas=tuple(a / 2 for a in psi.alphas)) for psi in whole]
    found = exactly(target, heads, target.windows(4)[::4], of=target)
    assert found.wrong == [0, 0]
    assert [float(one) for one in found.blocks] == pytest.approx([1 / 4] * 2, abs=level)
    # x_t = 1 and two memories -1: their majority is -1, and 1 - 1/2 - 1/2 = 0
    assert float(found.output) == pytest.approx(1, abs=2 * level)


def test_a_number_that_moves_elsewhere_is_counted():
    target = targets.NESTED
    network = following.nested(target, interpolated("lin"))
    states = list(network.states(rationals(target.windows(3))))
    # t_1, the 1 and t_2 at all 24 places. Three exponentials see nothing nearer than their pointer:
    # block 1 is 0 at t = 0, and at t = 1 if t_1 = 2; block 2 also if block 1 is 0 or -1 there
    assert following.elsewhere(target, states) == (0, 3 * 24 + (0 + 4 + 8) + (0 + 2 + 8))
    changes = {  # where the stream is 1 more: in which states, at which number; changes seen
        "attention 2 touches block 0: it moves, and moves back": ([3], 0, 2),
        "the second network touches the constant": ([4, 5], 5, 1),
        "the first attention is not idle": ([0], 0, 1),
    }
    for numbers, place, seen in changes.values():
        moved = [state.copy() for state in states]
        for number in numbers:
            moved[number][0, 0, place] += 1
        assert following.elsewhere(target, moved)[0] == seen


def test_in_balls_another_pointer_is_counted():
    target = targets.NESTED
    wrong, error, bound = nested.in_balls(target, interpolated("log"), 3)
    assert wrong == 0
    assert error <= 2 * interpolated("log").error <= bound
    heads = interpolated("log")
    worse = replace(heads, alphas=(flint.fmpq(0),) * heads.H, error=flint.arb(1))
    # t_2 reads a block that is 0, [e^{log 2 / 2}] = 1, and half of the tokens fetched ask for 2;
    # the readout sees x_t alone, where the zigzag is -x_t
    wrong, error, _ = nested.in_balls(target, worse, 3)
    assert (wrong, float(error)) == (4, 2)


def test_the_map_of_a_layer_is_held_against_its_pointers():
    target, heads = targets.NESTED, moving.optimal("lin", 2, 5)
    x = np.array([1.0, -1, -1, 1, 1, -1])[:, None]
    network = following.nested(target, heads).to(torch.float64)
    states = [state.numpy() for state in network.states(torch.from_numpy(x))]
    steps = target.fetched(x)[0]
    (_, idle, nothing), *rest = following.fetching_maps(network, states, steps, target.reach)
    assert (idle, nothing) == ([-1] * 6, 0)
    signs, first, second = x[:, 0], [-1, -1], [-1, -1]
    for t in range(2, 6):
        first.append(t - (1 if signs[t] > 0 else 2))
        second.append(t - (1 if signs[first[-1]] > 0 else 2))
    assert [places for _, places, _ in rest] == [first, second]
    assert all(off <= float(heads.error.upper()) + 1e-9 for *_, off in rest)
    wrong = steps.copy()
    wrong[0, 1] = 3 - wrong[0, 1]  # of the second memory, at the first place that has one
    _, *rest = following.fetching_maps(network, states, wrong, target.reach)
    assert [off > 1.9 for *_, off in rest] == [False, True]


def test_what_two_layers_leave_is_what_their_heads_leave():
    found, *parts = following.example_error("two pointers", "lin", 5, 0, "cpu")
    heads = [moving.fitted("lin", T, 5) for T in (3, 2)]
    stated = [[psi.proved_error(), psi.error] for psi in heads]
    slope = math.sqrt(3)  # |f|_Lip
    together = [slope * math.hypot(*pair) for pair in zip(*stated, strict=True)]
    together.append(adaptive.rounding(targets.TWO_POINTERS, heads, 60))
    assert parts == pytest.approx(together, rel=1e-12, abs=0)
    # the windows show most of the larger of the two errors
    assert 0.9 * max(psi.error for psi in heads) <= found <= together[0] + together[2]


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.parametrize("m", [5, 10**7])
def test_drawn_pointers_are_those_of_the_network_that_was_drawn(rpe, m):
    heads = interpolated(rpe)
    rngs = np.random.default_rng(7), np.random.default_rng(5)
    found = following.with_drawn_pointer(2, heads, m, *rngs, "cpu")
    target = circle.pointer(2)
    drawn = circle.drawn(circle.least_of_steps(2, rpe), m, np.random.default_rng(7))
    values = barron.value(drawn, target.tokens)
    steps = np.rint(values if rpe == "lin" else np.exp(values))
    windows = target.draw(200, 24, np.random.default_rng(5))[:, 2:]
    places = (windows @ target.tokens.T).argmax(-1)
    wrong = (steps != circle.steps(2))[places].mean()
    assert found[1] == pytest.approx(wrong)
    if m == 5:
        assert wrong > 0.1
        assert found[0] > 0.5
    else:
        assert wrong == 0
        assert 0 < found[0] <= float(flint.arb(heads.error).upper()) + heads.rounding(24)


def test_errors_of_nested_networks_and_their_bounds_by_hand():
    heads = moving.optimal("lin", 2, 5)
    found = nested.nested_errors(heads, 6, 0, "cpu")
    error = float(heads.error.upper())
    assert found["bound"] == pytest.approx(math.sqrt(3) * math.sqrt(2) * error, rel=1e-12)
    assert found["lost"] == adaptive.rounding(targets.NESTED, [heads] * 2, 40)
    assert 0.9 * error <= found["network"] <= found["bound"] + found["lost"]
    # without x_{t-t_2} the sum of the signs is even, where the zigzag of three is 0
    assert abs(found["less"] - 1) <= found["bound"]


def test_an_error_in_a_ball_gives_a_bound_from_above():
    heads = replace(moving.optimal("lin", 2, 5), error=flint.arb(3, 1))
    found, least = nested.nested_errors(heads, 3, 0, "cpu")["bound"], math.sqrt(6) * 4
    assert least * (1 - 2**-50) <= found <= least * (1 + 2**-28)  # a radius has 30 bits


def test_pointers_on_the_cliff_by_hand():
    delta = Fraction(1, 4)
    found, stated, errors, exact = nested.cliff_pointers(delta, interpolated("lin"), 4)
    assert exact.shape == (256, 4, 1)
    for window, step, truth, error in zip(exact[..., 0], found, stated, errors, strict=True):
        first = 1 if abs(window[-1]) == 1 else 2
        second = 1 if window[3 - first] > 0 else 2
        assert (step, truth) == (second, second)
        assert error <= rationals(interpolated("lin").error)
    silent = moving.silent("lin", 2)
    found, stated, errors, _ = nested.cliff_pointers(delta, silent)
    assert len(found) == 4**3  # of three tokens, if nothing is said
    assert set(found) == {2}  # [3/2] = 2: block 1 is 0, where g_2 is halfway
    assert max(errors) == 1
