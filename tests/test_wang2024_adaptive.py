"""The networks of Section 5: layout, stages, errors, the chain of head counts."""

import dataclasses

import flint
import numpy as np
import pytest
import torch

from repro.numerics.exact import rational, rationals
from repro.wang2024 import adaptive, fixed, moving, targets


def test_layout_and_stages():
    layout = adaptive.Layout(M=2, d=3)
    assert layout.D == 12
    assert [layout.block(k) for k in range(3)] == [slice(0, 3), slice(3, 6), slice(6, 9)]
    assert [layout.pointer(1), layout.pointer(2), layout.last] == [9, 10, 11]
    assert layout.row(9, rational(5)).tolist() == [[0] * 9 + [5, 0, 0]]
    assert adaptive.two_layers(targets.TWO_POINTERS) == [[1, 2]]
    assert adaptive.nested(targets.NESTED) == [[1], [2]]
    assert adaptive.nested(targets.BRANCHED) == [[1], [2, 3]]
    assert adaptive.nested(dataclasses.replace(targets.NESTED, K=2)) == [[1], [2]]
    assert adaptive.one_by_one(targets.BRANCHED) == [[1], [2], [3]]


def heads(target, rpe="lin"):
    return [moving.interpolated(rpe, T, "1/10") for T in target.distances]


@pytest.mark.parametrize("stages", [[[1, 2]], [[2], [1]]])
def test_a_memory_that_is_not_fetched_yet_is_not_read(stages):
    with pytest.raises(ValueError, match=r"g_2 reads the memories \[1\], not fetched before"):
        adaptive.transformer(targets.NESTED, heads(targets.NESTED), stages)


def test_each_memory_is_held_against_its_own_heads():
    """The two pointers reach 3 and 2 tokens back."""
    far, near = (moving.interpolated("lin", T, "1/10") for T in (3, 2))
    assert len(adaptive.transformer(targets.TWO_POINTERS, [far, near], [[1, 2]]).layers) == 2
    with pytest.raises(ValueError, match="memory 1 reaches T=3, got heads for T=2"):
        adaptive.transformer(targets.TWO_POINTERS, [near, near], [[1, 2]])


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.parametrize("tmx", [False, True])
def test_a_whole_network_in_float64(rpe, tmx):
    target = targets.NESTED
    fits = [moving.fitted(rpe, T, 6) for T in target.distances]
    network = adaptive.transformer(target, fits, adaptive.nested(target), tmx=tmx)
    error = fixed.errors(network.to(torch.float64), target, target.windows(6)).max()
    bound = target.readout.lipschitz * adaptive.attention_error(fits)
    allowed = bound + adaptive.rounding(target, fits, 6)
    assert 0 < error <= allowed
    assert len(network.layers) == 3


def test_attention_errors_of_orthogonal_blocks_add_up_in_squares():
    """With the upper ends of their balls."""
    psi = moving.silent("lin", 1)
    for errors in ((3.0, 4.0), (flint.arb(2, 1), flint.arb(3, 1))):
        pair = [dataclasses.replace(psi, error=e) for e in errors]
        assert adaptive.attention_error(pair) == pytest.approx(5.0)


def test_the_worst_windows_attain_the_l1_error_of_their_length():
    psi, target, rng = moving.fitted("lin", 3, 5), targets.FOLLOW, np.random.default_rng(0)
    all_short, drawn, worst = adaptive.tried(target, [psi], 5, 30, rng)
    assert (all_short.shape, drawn.shape, worst.shape) == ((243, 5, 1), (64, 30, 1), (48, 30, 1))
    network = adaptive.transformer(target, [psi], [[1]]).to(torch.float64)
    seen = max(np.abs(psi.kernel(B, 30) - np.eye(30)[B]).sum() for B in (1, 2, 3))
    found = adaptive.largest_error(network, target, [worst])
    assert found == pytest.approx(seen, rel=1e-6)
    assert adaptive.largest_error(network, target, [all_short, drawn]) <= found
    assert adaptive.largest_error(network, target, [worst, worst[:1, -5:]]) == found


def test_windows_are_continued_by_the_signs_of_a_gap_oldest_first():
    recent, gap = np.array([[[1.0], [0.0]]]), np.array([9.0, 9.0, 1.0, -1.0, 1.0])
    found = targets.FOLLOW.continued(recent, gap)[..., 0].tolist()
    assert found == [[1, -1, 1, 1, 0], [-1, 1, -1, 1, 0]]


def test_a_cut_network_reads_empty_blocks_and_an_unrounded_one_does_not_round():
    heads, target = moving.interpolated("lin", 2, "1/100"), targets.NESTED
    network = adaptive.transformer(target, [heads] * 2, adaptive.nested(target))
    first = adaptive.cut(network, 1)
    x = target.windows(4)
    outputs = first(rationals(x))[:, -1, 0]
    assert (outputs == -rationals(x[:, -1, 0])).all()  # the zigzag at s = x_t is -x_t
    assert [layer.feed_forward.rounding for layer in network.layers] == ["lin", "lin", None]
    plain = adaptive.unrounded(network)
    assert [layer.feed_forward.rounding for layer in plain.layers] == [None] * 3
