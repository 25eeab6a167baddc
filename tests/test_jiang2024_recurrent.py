"""Linear RNNs, and floors for targets that are reordered or filtered."""

import itertools

import flint
import numpy as np
import pytest
import torch

from repro.jiang2024 import ordering, recurrent
from repro.numerics.exact import rational, rationals

# --- recurrent.py ----------------------------------------------------------------------------------


def test_a_network_by_hand():
    rnn = recurrent.LinearRNN(rationals([[2]]), rationals([[1, -1]]), rationals([3]))
    x = rationals([[1, 0], [0, 1], [5, 5]])
    assert rnn.states(x)[:, 0].tolist() == [1, 1, 2]
    assert rnn(x).tolist() == [3, 3, 6]
    assert rnn.kernel(3).tolist() == [[3, -3], [6, -6], [12, -12]]
    assert (rnn.kernel(1).tolist(), rnn(x[:1]).tolist()) == ([[3, -3]], [3])


def test_batches_are_sequences_one_by_one():
    generator = torch.Generator().manual_seed(0)
    W, U, c, x = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((3, 3), (3, 2), (3,), (2, 4, 5, 2))
    )
    rnn = recurrent.LinearRNN(0.3 * W, U, c)
    rounding = {"rtol": 0, "atol": 1e-12}  # a batched product may add in another order
    assert torch.allclose(rnn(x)[1, 2], rnn(x[1, 2]), **rounding)
    assert torch.allclose(rnn(x), recurrent.convolution(rnn.kernel(5), x), **rounding)
    theta = torch.tensor([0.5, -0.25], dtype=torch.float64)
    assert torch.equal(recurrent.causal_filter(theta, x)[..., 0, :], 0.5 * x[..., 0, :])
    assert torch.equal(recurrent.forward_filter(theta, x)[..., -1, :], 0.5 * x[..., -1, :])


def test_filters_and_kernels_by_hand():
    x = rationals([[1], [2], [3]])
    theta = rationals([10, 1, 0, 0, 7])  # longer than x
    assert recurrent.causal_filter(theta, x)[:, 0].tolist() == [10, 21, 32]
    assert recurrent.forward_filter(theta, x)[:, 0].tolist() == [12, 23, 30]
    assert x[:, 0].tolist() == [1, 2, 3]
    x, rho = rationals([[1], [2]]), rationals([[10], [1], [7], [7]])
    assert recurrent.convolution(rho, x).tolist() == [10, 21]
    assert recurrent.convolution(rho[:1], x).tolist() == [10, 20]


# W, U, c, and P with P - W^T P W = 1: A = c P^-1 c times U P U, q = 1 - 1 / tr P
DECAYS = {
    "one unit": ([["1/2"]], [3], [5], [["4/3"]]),
    "two units": ([["1/2", 0], [0, "1/3"]], [1, 3], [1, 2], [["4/3", 0], [0, "9/8"]]),
    "one feeds the other": ([[0, "1/2"], [0, 0]], [0, 1], [1, 0], [[1, 0], [0, "5/4"]]),
}


@pytest.mark.parametrize("kind", DECAYS)
def test_decay_by_hand(kind):
    W, U, c, P = map(rationals, DECAYS[kind])
    A = (c * c / P.diagonal()).sum() * (U * U * P.diagonal()).sum()
    found = recurrent.decay(recurrent.LinearRNN(W, U[:, None], c))
    assert found == (A, 1 - 1 / P.diagonal().sum())


def test_decay_of_a_full_matrix_against_the_series():
    """P is the sum of (W^k)^T W^k; |W|_F^2 < 1/2, so that 60 terms leave 2^-60."""
    W = rationals([["1/2", "1/3"], ["-1/4", "1/5"]])
    rnn = recurrent.LinearRNN(W, rationals([[1], [2]]), rationals([3, 1]))
    powers = [np.linalg.matrix_power(W.astype(float), k) for k in range(60)]
    P = sum((V.T @ V for V in powers), np.zeros((2, 2)))
    U, c = np.array([1, 2]), np.array([3, 1])
    A, q = recurrent.decay(rnn)
    assert float(q) == pytest.approx(1 - 1 / np.trace(P), rel=1e-12)
    assert float(A) == pytest.approx(c @ np.linalg.solve(P, c) * (U @ P @ U), rel=1e-12)


@pytest.mark.parametrize(
    "W", [[[-2]], [[1]], [[0, 2], [2, 0]], [[0, -1], [1, 0]], [[2, 0], [0, "1/2"]]]
)
def test_unstable_networks_are_refused(W):
    n = len(W)
    rnn = recurrent.LinearRNN(rationals(W), rationals([[1]] * n), rationals([1] * n))
    with pytest.raises(ValueError, match="every eigenvalue of W inside the unit circle"):
        recurrent.decay(rnn)


# --- ordering.py -----------------------------------------------------------------------------------


def test_permutations():
    assert ordering.exchange(7, 2) == [5, 6, 2, 3, 4, 0, 1]
    assert ordering.exchange(4, 2) == [2, 3, 0, 1]
    assert ordering.exchange(4, 0) == ordering.rotation(4, 0) == [0, 1, 2, 3]
    assert ordering.rotation(5, 2) == [2, 3, 4, 0, 1]


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
        assert ordering.is_causal(no) == (t >= j)
    assert ordering.triangle(rationals([0, 5])).tolist() == [[0, 0], [5, 0]]
    assert ordering.triangle(rationals([3])).tolist() == [[3]]
    assert ordering.is_causal(ordering.triangle(rationals([1])))


def test_filters_as_matrices_by_hand():
    rho, theta = rationals([1, 10, 100]), rationals([2, 3])
    causal, ahead = (ordering.filtered(rho, theta, ahead=ahead) for ahead in (False, True))
    assert causal.tolist() == [[2, 0, 0], [23, 2, 0], [230, 23, 2]]
    assert ahead.tolist() == [[2, 3, 0], [20, 32, 3], [200, 320, 32]]
    whole = ordering.filtered(rho[:2], theta, ahead=False)
    assert whole.tolist() == [[2, 0], [23, 2]]
    short = ordering.filtered(rho[:2], rationals([0]), ahead=True)
    assert short.tolist() == [[0, 0], [0, 0]]


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


@pytest.mark.parametrize("offset", ["constant", "none"])
def test_the_nearest_convolution_has_an_offset_for_every_time(offset):
    """Nothing is nearest to nothing, at both times."""
    M = rationals([[0, 0], [0, 0]])
    model = ordering.best(M, offset)
    assert (model.k.tolist(), model.b.tolist()) == ([0, 0], [0, 0])
    assert ordering.best(rationals([[3]]), offset).k.tolist() == [3]


def test_the_floor_of_what_is_causal_by_hand():
    M = rationals([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert ordering.causal_floor(M) == flint.fmpq(4 + 9 + 36, 12 * 3)
    assert ordering.causal_floor(rationals([[0, 1], [0, 0]])) == rational("1/24")
    for causal in ([[1, 0], [2, 1]], [[7]]):
        assert ordering.causal_floor(rationals(causal)) == 0


def test_offsets_become_a_second_channel():
    model = ordering.Model(rationals([1, 2]), rationals([5, 3]))
    register = recurrent.shift_register(ordering.two_channel_kernel(model))
    assert register(rationals([[0, 1], [0, 1]])).tolist() == [5, 3]
    assert register(rationals([[1, 0], [0, 0]])).tolist() == [1, 2]
    assert model.b.tolist() == [5, 3], "nothing is changed"
