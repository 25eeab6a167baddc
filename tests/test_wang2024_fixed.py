"""Task I of wang2024: targets, tables, the layer of Theorem 4.1, its heads in float64; bad input."""

import math

import numpy as np
import pytest
import torch

from repro.numerics import l1
from repro.numerics.exact import rational, rationals
from repro.numerics.logarithms import Log
from repro.wang2024 import exponentials, fixed, fixed_heads, tables, targets


def test_a_target_reads_the_tokens_at_its_distances():
    target, n = targets.SPARSE_PARITY, 9
    x = target.draw(4, n, np.random.default_rng(1))
    steps, fetched = target.fetched(x)
    assert steps.shape == (4, n - 3, 2)
    assert (steps == [1, 3]).all()
    for t in range(3, n):
        assert np.array_equal(fetched[:, t - 3], x[:, [t, t - 1, t - 3], 0])


def test_windows_are_all_windows():
    found = {tuple(window[:, 0]) for window in targets.TRIGRAM.windows(4)}
    assert len(found) == 16 == len(targets.TRIGRAM.windows(4))
    with pytest.raises(ValueError, match="too many"):
        targets.TRIGRAM.windows(30)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: targets.Target.fixed("x", (2, 1), targets.parity(3)), "1 <= T_1 < "),
        (lambda: targets.Target.fixed("x", (1,), targets.parity(3)), r"f reads \(M\+1\) d = 2"),
        (lambda: targets.Target("x", (), targets.parity(1), targets.SIGNS), "M >= 1"),
        (
            lambda: targets.Target.fixed("x", (1,), targets.parity(2), 2 * targets.SIGNS),
            r"\|x_t\|_2 <= 1",
        ),
        (lambda: targets.SPARSE_PARITY(np.ones((3, 1))), "n=3 tokens are too few"),
    ],
)
def test_bad_targets_are_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_tables_know_their_norms():
    readout = tables.readout("xor", tables.BOOLEAN, [1, -1, -1, 1])
    assert readout.barron == 4 * (2 + 0) / 2
    assert readout.lipschitz == pytest.approx(4 * math.sqrt(2) / 2)
    x = np.random.default_rng(2).uniform(-2, 2, (2, 400, 2))
    moved = np.abs(readout.function(x[0]) - readout.function(x[1]))
    assert (moved <= readout.lipschitz * np.linalg.norm(x[0] - x[1], axis=1) + 1e-12).all()


@pytest.mark.parametrize(("rpe", "H"), [("lin", 3), ("log", 2)])
def test_interpolating_heads_have_the_level_asked_for(rpe, H):
    level = rational("1/50")
    exponents, alphas, errors = fixed.interpolated(rpe, (1, 2), H, level)
    assert (len(exponents), alphas.shape) == (H, (H, 2))
    for k, T in enumerate((1, 2)):
        error = l1.l1_error(
            l1.indicator(T), fixed.family(rpe, exponents), list(alphas[:, k]), window=60
        )
        assert error.contains(errors[k]) if rpe == "lin" else error.overlaps(errors[k])
        assert errors[k] <= level


def test_interpolating_heads_are_the_first_that_have_the_level():
    """lin: q = 1/2, 1/4, ...; log: powers 2, 4, ..., then 3, 6, ...: one memory or two."""
    assert fixed.interpolated("lin", (1,), 3, 10)[0] == (Log(2), Log(4), Log(8))
    assert fixed.interpolated("log", (1, 2), 3, 100)[0] == (2, 4, 6)
    error = exponentials.Interpolant(1, 3, "1/2").error
    assert fixed.interpolated("lin", (1,), 3, error)[2] == [error]
    less = fixed.interpolated("lin", (1,), 3, error * rational("99/100"))
    assert less[0] == (Log(4), Log(16), Log(64))


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_fitted_coefficients_make_the_indicator(rpe):
    exponents, n = [2, 3, 4, 6], 50
    alphas, error = fixed.fitted(rpe, 2, exponents, length=n)
    s, p = np.arange(rpe == "log", n)[:, None], np.array(exponents)
    phi = (np.exp(-p * s) if rpe == "lin" else s.astype(float) ** -p) @ alphas
    assert np.abs(phi - (s[:, 0] == 2)).sum() == pytest.approx(error, rel=1e-9)
    assert error <= fixed.optimal(rpe, 2, exponents).error + 1e-12


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.parametrize("kind", [fixed_heads.shared, fixed_heads.apart])
def test_the_layer_stores_the_kernel_and_its_error_is_proved(rpe, kind):
    heads, n = kind(rpe, (1, 2), 6), 40
    kernel = fixed.kernel(rpe, heads.exponents, heads.alphas, n)
    assert heads.alphas.shape == (6, 2) == (len(heads.exponents), 2)
    off = np.abs(kernel - np.eye(n)[[1, 2]]).sum(1)
    assert (off <= np.array(heads.errors) + 1e-14).all()
    assert (off >= 0.5 * np.array(heads.errors)).all()
    attention = fixed.extraction(rpe, heads.exponents, heads.alphas, length=n).to(torch.float64)
    impulses = torch.eye(n, dtype=torch.float64)[:, :, None] * torch.tensor([1.0, 0, 0])
    stored = attention(impulses)[:, -1, 1:].numpy()[::-1].T
    assert np.abs(stored - kernel).max() <= heads.rounding(targets.TRIGRAM, n)


def test_the_largest_error_lies_between_the_bound_and_half_of_it():
    heads, rng = fixed_heads.shared("lin", (1, 3), 5), np.random.default_rng(0)
    for target in (targets.SPARSE_PARITY, targets.AXES):
        found = heads.largest_error(target, 6, 30, rng)
        bound = target.readout.lipschitz * heads.attention_error
        assert bound / 3 <= found <= bound + heads.rounding(target, 30)


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_rounding_by_hand(rpe):
    """Three neurons of path norms 4, 4 and 1, |f|_Lip = sqrt 3; (3n + H + 30) u sum |W_V| before."""
    heads, n, u = fixed_heads.shared(rpe, (1, 2), 3), 20, 2.0**-53
    p, s = np.array(heads.exponents, dtype=float), np.arange(rpe == "log", n)[:, None]
    sums = (np.exp(-p * s) if rpe == "lin" else s.astype(float) ** -p).sum(0)
    total = np.abs(heads.alphas.astype(float)).sum(1) @ sums
    stated = math.sqrt(3) * (60 + 3 + 30) * u * total + (3 + 20) * u * 2 * 9
    assert heads.rounding(targets.TRIGRAM, n) == pytest.approx(stated, rel=1e-9, abs=0)


def test_rounding_counts_every_coordinate_of_a_token():
    """d = 2, |f|_Lip = sqrt 6, four neurons of path norms 18, 14, 14 and 10; sums 1 + 1/2."""
    heads = fixed_heads.FixedHeads("lin", (Log(2),), rationals([[3, -1]]), (1.0, 1.0))
    stored = math.sqrt(6) * (3 * 2 + 1 + 30) * 2 * (3 + 1) * 1.5
    stated = (stored + (4 + 20) * 2 * 56) * 2.0**-53
    assert heads.rounding(targets.AXES, 2) == pytest.approx(stated, rel=1e-12, abs=0)


def test_a_proved_error_holds_however_few_times_are_added_up(monkeypatch):
    """T = 7 lies beyond the six times that are."""
    monkeypatch.setattr(fixed_heads, "PROVED", 6)
    alphas, error = fixed_heads._column.__wrapped__("lin", 7, 5)
    phi = alphas.astype(float) @ np.exp(-np.outer(1.5 * np.arange(1, 6), np.arange(60)))
    assert error * (1 + 1e-12) >= np.abs(phi - np.eye(60)[7]).sum()


def test_heads_apart_write_to_one_memory():
    heads = fixed_heads.apart("log", (1, 2), 6)
    assert (heads.alphas != 0).tolist() == [[True, False]] * 2 + [[False, True]] * 4


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_the_best_layer_for_the_parity_has_the_error_it_is_said_to_have(rpe):
    target = targets.Target.fixed("parity", (1, 2), targets.parity(3))
    best = fixed_heads.best_for_parity(rpe, (1, 2), 3)
    assert isinstance(best.family, l1.Exponentials if rpe == "lin" else l1.Powers)
    found, _ = fixed_heads.best_parity_error(best, target, target.windows(12))
    assert 0.8 * best.floor <= found <= best.error + 1e-9
