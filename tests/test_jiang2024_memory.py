"""Kernels, their memory and its complexity, and Hankel floors."""

import flint
import numpy as np
import pytest

from repro.jiang2024 import hankel, memory
from repro.numerics.exact import rational
from repro.numerics.logarithms import Log


def test_values_of_a_kernel():
    kernel = memory.Kernel([5], (memory.Exponential(3, Log(2)), memory.Exponential(-1, Log(3), -1)))
    for t, expected in enumerate((5 + 3 - 1, 1.5 + 1 / 3, 0.75 - 1 / 9)):
        assert float(kernel.ball(t)) == pytest.approx(expected, rel=1e-14)
    assert float(memory.decay_time(kernel)) == pytest.approx(1 / np.log(2), rel=1e-14)


def test_complexities_of_spikes_and_exponentials_by_hand():
    """e^{-t/3}: C_1 = 4, C_2 = 1. A spike of height 2 at T = 5: C_1 = 1, C_2 = 2 e^5."""
    slow = memory.Kernel(terms=(memory.Exponential(1, rational("1/3")),))
    assert (memory.decay_time(slow), memory.C_1(slow)) == (3, 4)
    assert float(memory.C_RNN(slow)) == pytest.approx(4, rel=1e-14)
    spike = memory.spike(5, 2)
    assert [float(spike.ball(t)) for t in range(7)] == [0, 0, 0, 0, 0, 2, 0]
    assert (memory.decay_time(spike), memory.C_1(spike)) == (0, 1)
    assert float(memory.C_RNN(spike)) == pytest.approx(2 * np.exp(5), rel=1e-14)
    twice = memory.Kernel([1, 7])  # the second counts e times as much
    assert float(memory.C_RNN(twice)) == pytest.approx(7 * np.e, rel=1e-14)


@pytest.mark.parametrize("first", [(), (0,), (0, 0)])
def test_the_supremum_of_nothing_is_nothing(first):
    assert memory.C_2(memory.Kernel(first)) == 0


def test_the_supremum_may_be_where_a_spike_has_ended():
    """t = 0: 1/100; the exponential e^{-t/50} is heard from t = 1 on."""
    kernel = memory.Kernel(["-99/100"], (memory.Exponential(1, rational("1/50")),))
    assert float(memory.C_2(kernel)) == pytest.approx(np.exp(1 / 51 - 1 / 50), rel=1e-13)


def test_signs_and_rough_kernels_by_hand():
    assert [hankel.sign(s) for s in range(16)] == [
        1, 1, 1, -1, 1, 1, -1, 1, 1, 1, 1, -1, -1, -1, 1, -1,
    ]  # fmt: skip
    rho = hankel.rough(2, 4)
    assert [float(v) for v in rho] == pytest.approx([1, np.exp(-0.5), np.exp(-1), -np.exp(-1.5)])
    values = [0.5**s + (-0.3) ** s for s in range(20)]
    assert hankel.ho_kalman(values, 2).kernel(20)[:, 0] == pytest.approx(values, abs=1e-12)


def test_sections_by_hand():
    assert hankel.section([7]) == [[7]]
    assert hankel.section([1, 2, 3, 4, 5]) == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]


def test_certified_singular_values_are_those_of_numpy_and_not_above():
    rng = np.random.default_rng(3)
    values = rng.normal(size=39)
    singular = np.linalg.svd(np.array(hankel.section(values.tolist())))[1]
    for m in (0, 5, 19):
        found = float(hankel.floor([flint.arb(v) for v in values], m))
        assert found == pytest.approx(singular[m], rel=1e-6)
        assert found <= singular[m] * (1 + 1e-12)


def test_certified_singular_values_are_below_those_of_every_kernel_in_the_balls():
    """One row, 3 +- 1/8: 23/8 is the least; products and quotients of balls lose a little more."""
    found = hankel.floor([flint.arb(3, 0.125)], 0)
    assert 2.8 < float(found) <= 23 / 8


def test_certified_singular_values_are_rounded_down(monkeypatch):
    """[[1, 1], [1, -1]] has sigma_1 = sigma_2 = sqrt2; from unit vectors only the root is rounded."""
    monkeypatch.setattr(np.linalg, "eigh", lambda G: (np.arange(len(G)), np.eye(len(G))))
    found = hankel.floors([flint.arb(v) for v in (1, 1, -1)], [0, 1])
    with flint.ctx.workprec(200):
        root = flint.arb(2).sqrt()
        assert all(root - 1e-14 < value < root for value in found)


def test_small_singular_values_are_certified_too():
    """1, 1e-5 and 1e-10 on exponentials that are far from orthogonal; no fourth."""
    with flint.ctx.workprec(160):
        factors = [flint.arb(r) for r in ("0.9", "0.5", "-0.3")]
        sizes = [flint.arb(a) for a in ("1", "1e-5", "1e-10")]
        terms = list(zip(sizes, factors, strict=True))
        values = [sum((a * r**s for a, r in terms), flint.arb(0)) for s in range(39)]
        found = [float(v) for v in hankel.floors(values, [0, 1, 2, 3])]
    exact = np.linalg.svd(np.array(hankel.section([float(v) for v in values])))[1]
    assert found[:3] == pytest.approx(exact[:3], rel=1e-4)
    assert exact[2] < 1e-9 * exact[0]
    assert found[3] == 0


def test_the_floor_that_is_proved_is_below_the_singular_value():
    values = [float(v) for v in hankel.rough(128, 127)]
    singular = np.linalg.svd(np.array(hankel.section(values)))[1]
    assert float(hankel.proved_floor(64, 4)) < singular[4]
