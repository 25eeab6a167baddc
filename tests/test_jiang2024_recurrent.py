"""Linear RNNs, their complexities, floors for reordered targets, and Hankel floors."""

import itertools

import flint
import numpy as np
import pytest
import torch

from repro.jiang2024 import hankel, memory, ordering, recurrent
from repro.numerics.exact import rational, rationals, vector
from repro.numerics.logarithms import Log

# recurrent.py


def test_a_network_by_hand():
    rnn = recurrent.LinearRNN(rationals([[2]]), rationals([[1, -1]]), rationals([3]))
    x = rationals([[1, 0], [0, 1], [5, 5]])
    assert rnn.states(x)[:, 0].tolist() == [1, 1, 2]
    assert rnn(x).tolist() == [3, 3, 6]
    assert rnn.kernel(3).tolist() == [[3, -3], [6, -6], [12, -12]]


def test_batches_are_sequences_one_by_one():
    generator = torch.Generator().manual_seed(0)
    W, U, c, x = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((3, 3), (3, 2), (3,), (2, 4, 5, 2))
    )
    rnn = recurrent.LinearRNN(0.3 * W, U, c)
    assert torch.equal(rnn(x)[1, 2], rnn(x[1, 2]))
    assert torch.allclose(rnn(x), recurrent.convolution(rnn.kernel(5), x), rtol=0, atol=1e-12)
    theta = torch.tensor([0.5, -0.25], dtype=torch.float64)
    assert torch.equal(recurrent.causal_filter(theta, x)[..., 0, :], 0.5 * x[..., 0, :])
    assert torch.equal(recurrent.forward_filter(theta, x)[..., -1, :], 0.5 * x[..., -1, :])


def test_gradients_pass_through_steps_and_through_the_kernel():
    c = torch.ones(2, dtype=torch.float64, requires_grad=True)
    W, U = torch.eye(2, dtype=torch.float64) / 2, torch.ones(2, 1, dtype=torch.float64)
    x = torch.ones(4, 1, dtype=torch.float64)
    rnn = recurrent.LinearRNN(W, U, c)
    (steps,) = torch.autograd.grad(rnn(x).sum(), c)
    (kernel,) = torch.autograd.grad(recurrent.convolution(rnn.kernel(4), x).sum(), c)
    assert torch.equal(steps, kernel)
    assert steps.tolist() == [1 + 1.5 + 1.75 + 1.875] * 2


def test_filters_by_hand():
    x = rationals([[1], [2], [3]])
    theta = rationals([10, 1, 0, 0, 7])  # longer than x
    assert recurrent.causal_filter(theta, x)[:, 0].tolist() == [10, 21, 32]
    assert recurrent.forward_filter(theta, x)[:, 0].tolist() == [12, 23, 30]
    assert x[:, 0].tolist() == [1, 2, 3]


def test_decay_of_one_unit_by_hand():
    """W = 1/2: P = 4/3, q = 1/4, which is W^2; A = (c U)^2."""
    rnn = recurrent.LinearRNN(rationals([["1/2"]]), rationals([[3]]), rationals([5]))
    assert recurrent.decay(rnn) == recurrent.Decay(rational(225), rational("1/4"))


@pytest.mark.parametrize(
    "W", [[[-2]], [[1]], [[0, 2], [2, 0]], [[0, -1], [1, 0]], [[2, 0], [0, "1/2"]]]
)
def test_unstable_networks_are_refused(W):
    n = len(W)
    rnn = recurrent.LinearRNN(rationals(W), rationals([[1]] * n), rationals([1] * n))
    with pytest.raises(ValueError, match="every eigenvalue of W inside the unit circle"):
        recurrent.decay(rnn)


# memory.py


def test_terms_and_kernels_that_are_none():
    with pytest.raises(ValueError, match=r"\(76\) needs a decaying exponential"):
        memory.Exponential(1, 0)
    with pytest.raises(ValueError, match="a != 0"):
        memory.Exponential(0, 1)
    with pytest.raises(ValueError, match="the same exponential"):
        memory.Kernel(terms=(memory.Exponential(1, Log(2)), memory.Exponential(2, Log(2))))
    with pytest.raises(ValueError, match="a kernel that ends"):
        memory.joint(memory.Kernel(terms=(memory.Exponential(1, 1),)))
    with pytest.raises(ValueError, match="u below every rate"):
        memory.weighed(memory.Kernel(terms=(memory.Exponential(1, 1),)), 2)


def test_values_of_a_kernel():
    kernel = memory.Kernel([5], (memory.Exponential(3, Log(2)), memory.Exponential(-1, Log(3), -1)))
    for t, expected in enumerate((5 + 3 - 1, 1.5 + 1 / 3, 0.75 - 1 / 9)):
        assert float(kernel.ball(t)) == pytest.approx(expected, rel=1e-14)
    assert float(memory.decay_time(kernel)) == pytest.approx(1 / np.log(2), rel=1e-14)
    assert [float(v) for v in kernel.until(2).first] == pytest.approx([7, 1.5 + 1 / 3])


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


def test_the_supremum_may_be_late():
    """t = 0: 1/100; the exponential e^{-t/50} is heard where the spike has ended."""
    kernel = memory.Kernel(["-99/100"], (memory.Exponential(1, rational("1/50")),))
    assert float(memory.C_2(kernel)) == pytest.approx(np.exp(1 / 51 - 1 / 50), rel=1e-13)


def test_one_infimum_by_hand():
    e = np.e
    cases = {
        (1,): 0,  # no c > 0 attains it
        (0, 1): e,
        (0, 0, 3): 6 * e,
        (1, "1/2"): e / 2,  # t = 1 alone, at c = 1: e/2 > 1
        (4, 1): 4 / np.log(4),  # where 4 = e^{1/c}
        (0, 0, 0): 0,
    }
    for values, expected in cases.items():
        assert float(memory.joint(memory.Kernel(values))) == pytest.approx(expected, rel=1e-13)


# ordering.py


def test_permutations():
    assert ordering.exchange(7, 2) == [5, 6, 2, 3, 4, 0, 1]
    assert ordering.rotation(5, 2) == [2, 3, 4, 0, 1]
    with pytest.raises(ValueError, match="the first and the last k of tau"):
        ordering.exchange(7, 4)
    with pytest.raises(ValueError, match="needs a permutation of 2 times"):
        ordering.permuted([1, 2], [0, 0])


def test_a_reordered_target_gives_the_old_output():
    rng = np.random.default_rng(0)
    rho, x, p = rng.normal(size=6), rng.normal(size=6), rng.permutation(6)
    M = ordering.permuted(rho.tolist(), p.tolist()).astype(float)
    old = recurrent.convolution(rho[:, None], x[:, None])
    assert M @ x[p] == pytest.approx(old, rel=1e-12)


def test_convolutions_are_triangular_and_toeplitz():
    yes = ordering.triangle([1, 2, 3])
    for t, j in itertools.product(range(3), repeat=2):
        no = yes.copy()
        no[t, j] += 1
        assert ordering.is_convolution(no) == ((t, j) == (2, 0))  # alone on its diagonal
    assert ordering.is_causal(yes)
    assert not ordering.is_causal(yes.T)


def test_filters_as_matrices_by_hand():
    rho, theta = rationals([1, 10, 100]), rationals([2, 3])
    causal, ahead = (ordering.filtered(rho, theta, ahead=ahead) for ahead in (False, True))
    assert causal.tolist() == [[2, 0, 0], [23, 2, 0], [230, 23, 2]]
    assert ahead.tolist() == [[2, 3, 0], [20, 32, 3], [200, 320, 32]]
    with pytest.raises(ValueError, match=r"\(92\) needs a filter of 1 to 3 values, got 4"):
        ordering.filtered(rho, rationals([1, 2, 3, 4]), ahead=True)


def reordered_and_filtered(tau, rng):
    rho, theta = (rationals(rng.integers(-5, 6, n).tolist()) for n in (tau, 3))
    return {
        "reordered": ordering.permuted(rho, rng.permutation(tau).tolist()),
        "filtered": ordering.filtered(rho, theta, ahead=True),
    }


@pytest.mark.parametrize("offset", ordering.OFFSETS)
@pytest.mark.parametrize("kind", ["reordered", "filtered"])
def test_floors_against_least_squares_in_float64(kind, offset):
    """Columns: sqrt(1/12) times every entry, and half of the row sums; scaled by 1/sqrt(tau)."""
    tau = 7
    M = reordered_and_filtered(tau, np.random.default_rng(1))[kind]
    floats = M.astype(float)

    def equations(A):
        return np.append(A.ravel() / np.sqrt(12), A.sum(1) / 2) / np.sqrt(tau)

    columns = [equations(np.eye(tau, k=-j)) for j in range(tau)]
    offsets = {"free": np.eye(tau), "constant": np.ones((1, tau)), "none": np.empty((0, tau))}
    columns += [np.append(np.zeros(tau * tau), b) / np.sqrt(tau) for b in offsets[offset]]
    (left,) = np.linalg.lstsq(np.array(columns).T, equations(floats), rcond=None)[1:2]
    assert float(ordering.floor(M, offset)) == pytest.approx(left[0], rel=1e-10)


def test_the_floor_of_what_is_causal_by_hand():
    M = rationals([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert ordering.causal_floor(M) == flint.fmpq(4 + 9 + 36, 12 * 3)
    assert ordering.causal_floor(ordering.triangle(rationals([1, 2]))) == 0


def test_offsets_become_a_second_channel():
    model = ordering.Model(rationals([1, 2]), rationals([5, 3]))
    register = recurrent.shift_register(ordering.two_channel_kernel(model))
    assert register(rationals([[0, 1], [0, 1]])).tolist() == [5, 3]
    assert register(rationals([[1, 0], [0, 0]])).tolist() == [1, 2]


# hankel.py


def test_the_signs():
    assert [hankel.sign(s) for s in range(16)] == [
        1, 1, 1, -1, 1, 1, -1, 1, 1, 1, 1, -1, -1, -1, 1, -1,
    ]  # fmt: skip


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


def test_sections_and_units_that_are_none():
    with pytest.raises(ValueError, match="2N - 1 values, got 4"):
        hankel.section([1, 2, 3, 4])
    with pytest.raises(ValueError, match="0 <= m < N"):
        hankel.floor([flint.arb(1)] * 3, 2)
    with pytest.raises(ValueError, match=r"N = 2\^k and m < N"):
        hankel.proved_floor(12, 1)


def test_the_floor_that_is_proved_by_hand_and_below_the_singular_value():
    share = (1 - np.exp(-1)) ** 2
    assert float(hankel.proved_floor(64, 0)) == pytest.approx(np.sqrt(share * 64), rel=1e-14)
    for N, m in ((64, 2), (64, 4), (1024, 64)):
        expected = np.sqrt((share * N**2 - 4 * N * m) / (N - m))
        assert float(hankel.proved_floor(N, m)) == pytest.approx(expected, rel=1e-14)
    assert float(hankel.proved_floor(64, 63)) == 0
    values = [float(v) for v in hankel.rough(128, 127)]
    singular = np.linalg.svd(np.array(hankel.section(values)))[1]
    assert float(hankel.proved_floor(64, 4)) < singular[4]
    for m in (-1, 64):
        with pytest.raises(ValueError, match=r"N = 2\^k and m < N"):
            hankel.proved_floor(64, m)


def test_ho_kalman_is_exact_for_a_kernel_of_that_many_units():
    values = [0.5**s + (-0.3) ** s for s in range(20)]
    assert hankel.ho_kalman(values, 2).kernel(20)[:, 0] == pytest.approx(values, abs=1e-12)


def test_rates_by_hand():
    assert float(hankel.printed_rate(3, 2, 4)) == 1.5
    assert float(hankel.register_rate(3, 2, 6)) == pytest.approx(8 * np.exp(-2), rel=1e-14)


def test_rough_kernels_are_signs_times_exponentials():
    rho = hankel.rough(2, 4)
    assert [float(v) for v in rho] == pytest.approx([1, np.exp(-0.5), np.exp(-1), -np.exp(-1.5)])


def test_vectors_are_not_changed_by_the_two_channels():
    b = vector([rational(1), rational(4)])
    ordering.two_channel_kernel(ordering.Model(b, b))
    assert b.tolist() == [1, 4]
