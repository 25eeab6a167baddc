"""Heads as kernels: exact and float64 layers make the kernel that their weights were chosen for."""

from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from repro.numerics import l1
from repro.numerics.exact import rationals, to_float
from repro.numerics.logarithms import Log
from repro.wang2024 import heads, kernels
from repro.wang2024.model import Attention, Head


def kernel(fit):
    return heads.columns(fit.rpe, fit.exponents, fit.length) @ fit.values


def built(rpe, exponents, alphas, length):
    return heads.summed(rpe, exponents, heads.values(rpe, exponents, alphas, length))


def test_exact_layers_make_the_sums_they_are_built_for():
    layer = built("lin", (Log(2), Log(3)), (5, -7), 6)
    outputs = layer(rationals(np.eye(6, dtype=int))[..., None])[:, -1, 0]  # unit impulses
    expected = [Fraction(5, 2**s) - Fraction(7, 3**s) for s in range(6)]
    assert [Fraction(int(x.p), int(x.q)) for x in outputs[::-1]] == expected
    layer = built("log", (2, 4), (Fraction(1, 3), -1), 6)
    outputs = layer(rationals(np.eye(6, dtype=int))[..., None])[:, -1, 0]
    expected = [0, *(Fraction(1, 3 * s**2) - Fraction(1, s**4) for s in range(1, 6))]
    assert [Fraction(int(x.p), int(x.q)) for x in outputs[::-1]] == expected


def test_the_normalisers_of_a_long_window():
    long = heads.normalisers("log", (2,), 4000)[0]
    assert 0 < np.pi**2 / 6 - float(to_float(long)) < 1 / 3999


def test_a_block_is_written_from_another():
    assert (heads.block(7, 6, 2, 2, 1) @ rationals(range(6))).tolist() == [0, 0, 0, 0, 14, 21]


@pytest.mark.parametrize(("rpe", "step"), [("lin", Fraction(1)), ("log", Fraction(1))])
def test_a_float64_fit_does_what_it_says(rpe, step):
    exponents = [2 + step * h for h in range(8)]
    fit = heads.fit(rpe, l1.indicator(2), exponents, 80)
    target = np.eye(80)[2]
    found = np.abs(kernel(fit) - target)[1 - (rpe == "lin") :].sum()
    assert fit.error == pytest.approx(found, abs=0)
    measured = heads.measure(fit.attention(), target, np.random.default_rng(0))
    assert measured.worst == pytest.approx(fit.error, rel=0, abs=3 * fit.rounding)
    assert measured.random <= measured.impulses + fit.rounding
    best = l1.best(l1.indicator(2), heads.family(rpe, exponents), window=80)
    assert fit.error >= best.floor - 2e-2  # the window cuts the sum off


def test_a_fit_that_float64_cannot_show_says_so():
    exponents = [Fraction(3, 4) * h for h in range(1, 17)]
    few = heads.fit("lin", l1.indicator(2), exponents[:4], 60)
    assert few.seen() is few
    many = heads.fit("lin", l1.indicator(2), exponents, 60)
    with pytest.raises(ArithmeticError, match="16 lin heads in float64: eps A"):
        many.seen()
    with pytest.raises(ArithmeticError, match="nan"):
        replace(few, error=float("nan")).seen()


def test_a_floor_that_is_not_above_the_error_hides_nothing():
    """Of the kernel 0: A = 0 and no error. And of one weight 1: eps A = 2^-53."""
    nothing = heads.Fit("lin", (1.0,), np.zeros(1), 5, error=0.0)
    assert nothing.seen() is nothing
    even = heads.Fit("lin", (1.0,), np.ones(1), 5, error=2.0**-53)
    assert even.seen() is even


def test_outputs_that_are_not_finite_are_an_error():
    good = heads.fit("lin", l1.indicator(1), [1, 2, 3], 20).attention()
    broken = good.map(lambda weight: weight * float("nan") if weight.ndim == 2 else weight)
    with pytest.raises(ArithmeticError, match="not finite"):
        heads.measure(broken, np.eye(20)[1], np.random.default_rng(0))
    # Two heads of 10^308: an impulse stays finite, five of them do not.
    one = torch.ones(1, 1, dtype=torch.float64)
    large = Head(1e308 * one, torch.tensor(0.1, dtype=torch.float64))
    layer = Attention((large, large), one, "lin")
    assert np.isfinite(heads._errors(layer, np.eye(5), np.zeros(5))).all()
    with pytest.raises(ArithmeticError, match="not finite"):
        heads._errors(layer, np.vstack([np.eye(5), np.ones(5)]), np.zeros(5))


def test_bounds_far_beyond_the_weights_are_not_tried(monkeypatch):
    tried, solve = [], l1.capped
    monkeypatch.setattr(l1, "capped", lambda some, cap: tried.append(cap) or solve(some, cap))
    problem = [(np.eye(3), np.array([30.0, 0.0, 0.0]))]  # of weight 30
    assert heads.lightest(problem, (10.0, 1e2, 1e4, 1e6, 1e8)).total == pytest.approx(30)
    assert tried == [10, 1e2, 1e4, 1e6]
    tried.clear()
    heads.lightest(problem, (1.0, 1e5, 1e6, 1e8))  # the weights of the last bound decide
    assert tried == [1, 1e5, 1e6]


def test_an_error_that_rounding_hides_is_no_gain(monkeypatch):
    """1 + 1e15 eps = 1.11 is more than 1.05."""
    heavy, light = l1.Capped(np.array([1e15]), (1.0,)), l1.Capped(np.array([1.0]), (1.05,))
    monkeypatch.setattr(l1, "capped", lambda some, cap: heavy if cap > 10 else light)
    assert heads.lightest([], (1.0, 1e16)) is light


def test_what_is_measured_of_a_layer_by_hand():
    """One lin head of value 1 and slope log 2 on five tokens, against (2, 1, 0, 0, 0)."""
    layer = built("lin", (Log(2),), (1,), 5).to(torch.float64)
    kernel, rng = np.array([1, 1 / 2, 1 / 4, 1 / 8, 1 / 16]), np.random.default_rng(3)
    found = heads.measure(layer, np.array([2, 1.0, 0, 0, 0]), rng)
    difference = kernel - [2, 1, 0, 0, 0]
    signs = np.random.default_rng(3).choice([-1.0, 1.0], (64, 5))
    assert found.impulses == pytest.approx(np.abs(difference).sum())
    assert found.worst == pytest.approx(np.abs(difference).sum())
    assert found.random == pytest.approx(np.abs(signs[:, ::-1] @ difference).max())
    assert heads.Measured(3.0, 1.0, 2.0).sup == heads.Measured(3.0, 2.0, 1.0).sup == 2
    difference = np.array([0.5, -0.25, 0.125])
    x = heads.worst_input(difference)
    assert (x[::-1] * difference).sum() == np.abs(difference).sum()


def test_bad_heads_are_named():
    with pytest.raises(ValueError, match="above 1"):
        heads.normalisers("log", (1,), 5)


def test_balls_when_the_weights_are_not_rational():
    weights = "lin", (Fraction(1, 3), 1), (flint.arb(2), flint.arb(-1)), 5
    with flint.ctx.workprec(200):
        layer = built(*weights).balls(200)
        out = layer(rationals(np.eye(5, dtype=int))[..., None])[:, -1, 0]
    expected = [2 * np.exp(-s / 3) - np.exp(-s) for s in range(5)]
    assert [float(x) for x in out[::-1]] == pytest.approx(expected, rel=1e-13)
    floats = built(*weights).to(torch.float64)(torch.eye(5, dtype=torch.float64)[..., None])
    assert floats[:, -1, 0].flip(0).numpy() == pytest.approx(expected, rel=1e-13)


def test_the_weight_of_a_fit_is_that_of_its_values():
    fit = heads.fit("lin", kernels.exponential(1), [1, 2], 30)
    assert fit.error < 1e-9
    # W_V = the normaliser of the window, for the first head alone
    total = (1 - np.exp(-30)) / (1 - np.exp(-1))
    assert fit.weight == pytest.approx(total, rel=1e-6)
    assert fit.floor == pytest.approx(2.0**-53 * total, rel=1e-6, abs=0)
    fit = heads.fit("log", kernels.power(2), [2, 3], 30)
    assert kernel(fit)[1:] == pytest.approx(np.arange(1, 30) ** -2.0, rel=1e-9)
    assert kernel(fit)[0] == 0
