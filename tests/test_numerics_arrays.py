"""Arithmetic on tensors and on arrays of exact objects: the same sums, worked out by hand."""

import math

import flint
import numpy as np
import pytest
import torch

from repro.numerics.arrays import each, exponentials, inner, relu, side_by_side
from repro.numerics.exact import rationals, to_float, vector
from repro.numerics.logarithms import Log

q = flint.fmpq
A = np.arange(24).reshape(2, 4, 3) - 7  # two batches of 4 rows of 3 numbers
B = np.arange(12).reshape(2, 2, 3) ** 2


def objects(array):
    return rationals(array)


def test_parts_stand_side_by_side_in_the_last_axis():
    left, right = np.arange(12).reshape(2, 3, 2), np.arange(6).reshape(2, 3, 1)
    wanted = [
        [[*a, *b] for a, b in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)
    ]
    assert side_by_side(objects(left), objects(right)).tolist() == wanted
    assert side_by_side(torch.tensor(left), torch.tensor(right)).tolist() == wanted
    assert side_by_side(objects(left)).tolist() == left.tolist()


@pytest.mark.parametrize(
    ("a", "b"),
    [(A[0], B[0]), (A, B[1]), (A, B), (A[0], B), (A[None], B[0]), (A[:, None], B[None, :])],
    ids=["matrices", "rows", "pairs", "one and pairs", "more axes", "all pairs"],
)
def test_inner_products_of_objects_are_those_of_numbers(a, b):
    wanted = np.einsum("...nk,...mk->...nm", a, b)
    assert inner(objects(a), objects(b)).tolist() == wanted.tolist()
    assert inner(torch.tensor(a), torch.tensor(b)).tolist() == wanted.tolist()


def test_zeros_are_left_out_and_balls_around_zero_are_not():
    log = Log(3)
    assert inner(rows([[log, 2]]), rows([[0, 5]])).item() == 10
    assert inner(rows([[0, 2]]), rows([[log, 5]])).item() == 10
    assert inner(rows([[log, 0]]), rows([[2, 5]])).item() == Log(9)
    # Neither == 0 nor != 0 is true of it: it counts, on both sides.
    ball = flint.arb(0, 1)
    for pair in ([[ball]], [[q(1)]]), ([[q(1)]], [[ball]]):
        assert inner(*map(rows, pair)).item().contains(q(1, 2))


def rows(entries):
    return np.array(entries, dtype=object)


LOGITS = np.array([[1, 2, 5], [3, 4, 7]])  # e^logit, of which the last key is not admissible
ADMISSIBLE = np.array([[True, True, False], [True, True, False]])


@pytest.mark.parametrize("normalised", [True, False])
def test_weights_are_exponentials_over_their_sum(normalised):
    wanted = rationals([[1, 2, 0], [3, 4, 0]]) / rationals([[3], [7]] if normalised else [[1], [1]])
    assert exponentials(each(Log, LOGITS), ADMISSIBLE, normalised).tolist() == wanted.tolist()
    logits, admissible = torch.tensor(LOGITS).double().log(), torch.tensor(ADMISSIBLE)
    found = exponentials(logits, admissible, normalised)
    assert found.numpy() == pytest.approx(to_float(wanted), rel=1e-15)  # a few roundings


def test_exponentials_of_large_logits_and_of_balls():
    logits = torch.tensor([[1000.0, 1000.0, 2000.0], [-1000.0, -1000.0, 0.0]])
    found = exponentials(logits, torch.tensor(ADMISSIBLE), normalised=True)
    assert found.tolist() == [[0.5, 0.5, 0.0]] * 2
    found = exponentials(vector([flint.arb(1), flint.arb(2)]), np.array([True, True]), False)
    assert [float(e) for e in found] == pytest.approx([math.e, math.e**2], rel=1e-15)


def test_what_is_negative_becomes_zero():
    values = ["-3/2", 0, "1/2", 3]
    assert relu(rationals(values)).tolist() == [0, 0, q(1, 2), 3]
    assert relu(torch.tensor([-1.5, 0.0, 0.5])).tolist() == [0.0, 0.0, 0.5]
    below, across, above = relu(vector([flint.arb(-2, 1), flint.arb(0, 1), flint.arb("0.5")]))
    assert below == 0
    assert across.contains(flint.arb(0))
    assert across.contains(flint.arb(1))
    assert not across.contains(flint.arb(-0.01))
    assert above == 0.5
