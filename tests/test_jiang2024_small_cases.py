"""Small cases worked out by hand, for what larger ones of jiang2024 do not tell apart."""

import math

import flint
import numpy as np
import pytest
import torch

from repro.jiang2024 import (
    affine_networks,
    complexity,
    couplings,
    encoded_logit_floor,
    gauge,
    hankel,
    linear_tasks,
    logit_floor,
    memory,
    mixing,
    model,
    networks,
    ordering,
    output_floor,
    pieces,
    rate,
    recovery,
    recurrent,
    representation,
    scores,
    selection,
    softmax,
    tasks,
    trained_recurrent,
    vit,
)
from repro.numerics.exact import rational, rationals

UNIT = 2.0**-53

# rate.py


def test_errors_of_waves_enter_once_and_squared():
    """1/2 (2 (2 10 3 + 9) + 5 (2 10 1/2 + 1/4))."""
    assert rate.network_error([2, -5], 10, [3, 0.5]) == (2 * 69 + 5 * 10.25) / 2


def test_the_diagonal_is_off_wave_by_wave():
    """r = 1, tau = 2, w = 10: waves 2, ..., 6 are off by less than 2, the seventh counts 2; those
    beyond k have 2 k^-2 / 2."""
    off = [(4 * math.pi * i / 20) ** 2 / 8 for i in range(2, 7)]
    assert off[-1] < 2 < (4 * math.pi * 7 / 20) ** 2 / 8
    waves = sum(e / i**3 for i, e in enumerate(off, start=2))
    found = rate.diagonal_error(3, 1, 2, 10, terms=6)
    assert found == pytest.approx((waves + 1 / 36) / 2, rel=1e-14)
    more = rate.diagonal_error(3, 1, 2, 10, terms=7)
    assert more == pytest.approx((waves + 2 / 7**3 + 1 / 49) / 2, rel=1e-14)


# logit_floor.py, encoded_logit_floor.py, output_floor.py


def test_the_least_cost_by_hand():
    """4 (5 + 3^2 / (2 + 4))."""
    assert logit_floor.least_cost(3, 5, 2, 4) == logit_floor.row_floor(3, 5, 2, tau=5) == 26


def test_two_rooms_are_two_halves():
    assert encoded_logit_floor.encoded_floor([9, 9, 6].__getitem__, 1, 2) == 3
    assert (
        encoded_logit_floor.encoded_cost(2, 3, 2) < couplings.infinite_tails(2, 3)[1] * 0.51
    )  # no other room


@pytest.mark.parametrize("n", [0, 2, 4, 6])
def test_no_even_number_of_waves_is_a_pair(n):
    with pytest.raises(ValueError, match=f"odd number: n = {n}"):
        output_floor.Pair(2, n)


# recurrent.py


def test_one_time_is_a_sequence():
    rnn = recurrent.LinearRNN(rationals([[2]]), rationals([[3]]), rationals([5]))
    assert rnn.kernel(1).tolist() == [[15]]
    assert rnn(rationals([[7]])).tolist() == [105]


def test_two_waves_are_enough_for_the_affine_floor():
    for N in (2, 3):
        assert float(affine_networks.affine_floor(N)) == pytest.approx((N - 1) / (2 * math.pi * N))


@pytest.mark.parametrize("W", [[[-1]], [[0, 1], [1, 0]]])
def test_eigenvalues_on_the_circle_are_no_decay(W):
    n = len(W)
    rnn = recurrent.LinearRNN(rationals(W), rationals([[1]] * n), rationals([1] * n))
    with pytest.raises(ValueError, match="inside the unit circle"):
        recurrent.decay(rnn)


def test_decay_of_two_units_by_hand():
    """W = diag(1/2, 1/3): P = diag(4/3, 9/8); A = (3/4 + 8/9 4) (4/3 + 9/8 9), q = 1 - 1/tr P."""
    rnn = recurrent.LinearRNN(
        rationals([["1/2", 0], [0, "1/3"]]), rationals([[1], [3]]), rationals([1, 2])
    )
    trace = rational("4/3") + rational("9/8")
    A = (rational("3/4") + rational("32/9")) * (rational("4/3") + rational("81/8"))
    assert recurrent.decay(rnn) == recurrent.Decay(A, 1 - 1 / trace)


def test_decay_where_one_unit_feeds_the_other():
    """W e_2 = e_1/2: P - W^T P W = 1 has P = diag(1, 5/4)."""
    rnn = recurrent.LinearRNN(
        rationals([[0, "1/2"], [0, 0]]), rationals([[0], [1]]), rationals([1, 0])
    )
    assert recurrent.decay(rnn) == recurrent.Decay(rational("5/4"), 1 - rational("4/9"))


def test_a_kernel_longer_than_the_sequence_is_cut():
    x, rho = rationals([[1], [2]]), rationals([[10], [1], [7], [7]])
    assert recurrent.convolution(rho, x).tolist() == [10, 21]
    assert recurrent.convolution(rho[:1], x).tolist() == [10, 20]


def test_decay_of_a_full_matrix_against_the_series():
    """P is the sum of (W^k)^T W^k; |W|_F^2 < 1/2, so that 60 terms leave 2^-60."""
    W = rationals([["1/2", "1/3"], ["-1/4", "1/5"]])
    rnn = recurrent.LinearRNN(W, rationals([[1], [2]]), rationals([3, 1]))
    powers = [np.linalg.matrix_power(W.astype(float), k) for k in range(60)]
    P = sum((V.T @ V for V in powers), np.zeros((2, 2)))
    U, c = np.array([1, 2]), np.array([3, 1])
    found = recurrent.decay(rnn)
    assert float(found.q) == pytest.approx(1 - 1 / np.trace(P), rel=1e-12)
    assert float(found.A) == pytest.approx(c @ np.linalg.solve(P, c) * (U @ P @ U), rel=1e-12)


# ordering.py


def test_all_may_be_exchanged_or_none_and_filters_may_be_as_long():
    assert ordering.exchange(4, 2) == [2, 3, 0, 1]
    assert ordering.exchange(4, 0) == ordering.rotation(4, 0) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="the first and the last k"):
        ordering.exchange(4, -1)
    whole = ordering.filtered(rationals([1, 10]), rationals([2, 3]), ahead=False)
    assert whole.tolist() == [[2, 0], [23, 2]]
    short = ordering.filtered(rationals([1, 10]), rationals([0]), ahead=True)
    assert short.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ValueError, match="a filter of 1 to 2 values, got 0"):
        ordering.filtered(rationals([1, 10]), rationals([]), ahead=True)


def test_one_value_beyond_the_present_is_not_causal():
    for t, j in ((0, 1), (1, 2), (0, 2)):
        M = ordering.triangle(rationals([1, 2, 3]))
        M[t, j] = rational(1)
        assert not ordering.is_causal(M)
    assert ordering.is_causal(ordering.triangle(rationals([1])))


def test_kernels_that_begin_with_0_and_one_time():
    assert ordering.triangle(rationals([0, 5])).tolist() == [[0, 0], [5, 0]]
    assert ordering.triangle(rationals([3])).tolist() == [[3]]
    assert ordering.causal_floor(rationals([[0, 1], [0, 0]])) == rational("1/24")
    assert ordering.causal_floor(rationals([[7]])) == 0


@pytest.mark.parametrize("offset", ["constant", "none"])
def test_the_nearest_convolution_has_an_offset_for_every_time(offset):
    """Nothing is nearest to nothing, at both times."""
    M = rationals([[0, 0], [0, 0]])
    model = ordering.best(M, offset)
    assert (model.k.tolist(), model.b.tolist()) == ([0, 0], [0, 0])
    assert ordering.best(rationals([[3]]), offset).k.tolist() == [3]


# memory.py


def test_the_joint_complexity_where_two_times_cross():
    """Sizes 1 and e^-1/2 at t = 1 and 3 cross at u = 1/4, below 1/3: the larger of e and 3 e^1/2 is
    the value. Sizes 1 and e^-1 at 1 and 3 cross at u = 1/2, between 1/3 and 1: e^1/2 / (1/2)."""
    half, one = (float(v) for v in (-0.5, -1))
    cases = {(1, math.exp(half)): 3 * math.exp(0.5), (1, math.exp(one)): 2 * math.exp(0.5)}
    for (early, late), expected in cases.items():
        kernel = memory.Kernel([0, flint.arb(early), 0, flint.arb(late)])
        assert float(memory.joint(kernel)) == pytest.approx(expected, rel=1e-12)


def test_the_joint_complexity_where_the_crossing_is_too_late():
    """9/4 and 1 at t = 2 and 3 cross at u = log 9/4 > 1/2, where both rise: 2 e 9/4 is best."""
    kernel = memory.Kernel([0, 0, rational("9/4"), 1])
    assert float(memory.joint(kernel)) == pytest.approx(4.5 * math.e, rel=1e-14)


def test_what_decays_no_faster_has_no_supremum():
    with pytest.raises(ValueError, match="u below every rate"):
        memory.weighed(memory.Kernel(terms=(memory.Exponential(1, 1),)), 1)


def test_the_joint_complexity_against_a_search():
    """c sup_t e^{t/c} |rho(t)| on a grid of log u, u = 1/c, of step 2.3e-4: its logarithm changes
    by at most ut times as much, and ut <= 4 where it is least."""
    u = np.exp(np.linspace(-6, 3, 40_001))
    for values in ([3, 0, 1], [5, 2, 0, 1], [0, 8, 1, 2], [1, 1, 1], [9, 0, 0, "1/10"]):
        sizes = [float(rational(v)) for v in values]
        heard = [np.exp(u * t) * size / u for t, size in enumerate(sizes) if size]
        least = np.max(heard, 0).min()
        found = float(memory.joint(memory.Kernel([rational(v) for v in values])))
        assert least * (1 - 1e-3) <= found <= least * (1 + 1e-12)


def test_a_late_supremum_behind_an_exponential_of_the_other_sign():
    """e^-t/50 - e^-t/40, times e^{t/51}: the largest is found, wherever it is."""
    fast, slow = memory.Exponential(-1, rational("1/40")), memory.Exponential(1, rational("1/50"))
    t = np.arange(5000)
    heard = np.exp(t / 51) * (np.exp(-t / 50) - np.exp(-t / 40))
    assert heard.argmax() > 300
    found = float(memory.C_2(memory.Kernel(terms=(slow, fast))))
    assert found == pytest.approx(heard.max(), rel=1e-12)


def test_a_late_supremum_of_a_loud_kernel():
    """10 (e^-t/50 - e^-t/40), times e^{t/51}, exceeds 2 long before it is largest."""
    terms = (memory.Exponential(10, rational("1/50")), memory.Exponential(-10, rational("1/40")))
    t = np.arange(5000)
    heard = 10 * np.exp(t / 51) * (np.exp(-t / 50) - np.exp(-t / 40))
    assert heard[100] > 2
    assert heard.argmax() > 300
    assert float(memory.C_2(memory.Kernel(terms=terms))) == pytest.approx(heard.max(), rel=1e-12)


# hankel.py


def test_sections_of_any_odd_number_of_values():
    assert hankel.section([7]) == [[7]]
    assert hankel.section([1, 2, 3, 4, 5]) == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]
    for values in ([1, 2], [1] * 6):
        with pytest.raises(ValueError, match="2N - 1 values"):
            hankel.section(values)
    with pytest.raises(ValueError, match="0 <= m < N"):
        hankel.floors([flint.arb(1)] * 3, [-1, 1])


def test_two_times_are_a_power_of_two_and_so_is_one():
    assert float(hankel.proved_floor(2, 0)) == pytest.approx((1 - math.exp(-1)) * math.sqrt(2))
    assert float(hankel.proved_floor(1, 0)) == pytest.approx(1 - math.exp(-1))
    with pytest.raises(ValueError, match=r"N = 2\^k"):
        hankel.proved_floor(6, 0)


# pieces.py, mixing.py, gauge.py


def test_tietzes_extension_follows_the_nearer_piece():
    """2 on [2, 3], 5 on [4, 5]: at 39/10 min(9/10, 2/10) / (1/10) = 2, the upper value."""
    assert pieces.staircase([2, 5]).tietze(rational("39/10")) == 5


def test_couplings_of_the_example_by_hand():
    """1 + 2 sin(pi/6) sin(pi/2), with pi/2 = pi/6 + pi/3."""
    sixth = math.pi / 6
    assert mixing.original(sixth, 3 * sixth) == pytest.approx(2)
    assert mixing.original(sixth, -3 * sixth) == pytest.approx(0)
    assert mixing.mixed(sixth, 2 * sixth) == pytest.approx(2)


def test_a_gauge_divides_and_shows_by_how_much():
    """f' = (f/g, 1/g), which is at most 1 for g >= 1."""
    H = model.Target(lambda z: z[..., 0], lambda x: x, lambda u, v: 0 * u * v.T)
    moved = gauge.gauged(H, lambda x: 1 + 4 * x[..., 0])
    x = rationals([["1/2"], [0]])
    assert moved.f(x).tolist() == [[rational("1/6"), rational("1/3")], [0, 1]]
    assert moved(x).tolist() == H(x).tolist() == [rational("1/4")] * 2


def test_a_coupling_is_recovered_between_any_two_values():
    """e^D = 4 and tau = 3: w = 2/3 between 1 and 3."""
    assert gauge.recovered(rational("7/3"), rational(1), rational(3), tau=3) == 4


# softmax.py, selection.py, representation.py


def test_the_norm_is_that_of_one_value():
    """|(3, 4)| = 5 is the largest; times half of |1| + |-1|."""
    values = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    assert softmax.by_sum(values, torch.tensor([1.0, -1.0])).item() == pytest.approx(5)


def test_as_many_rows_are_selected_as_there_are_waves():
    x = torch.zeros(7, 5, 1, dtype=torch.float64)
    two = selection.transformer(
        lambda u: u + torch.arange(2), lambda v: v + torch.arange(2), lambda v: v, lambda z: z, x
    )
    assert [tuple(W.shape) for W in (two.W_Q, two.W_K, two.W_V)] == [(2, 5), (2, 5), (1, 5)]


def test_codes_of_three_rows_by_hand():
    """17/21, 19/21 and 209/219, of which the last two are the nearest; a first 0 is a number."""
    H = representation.Superposition([lambda z: z] * 3, lambda v: v * rationals([1, 2, 3]), Q=1)
    form = representation.Superposed(H, representation.rank_one(3, 2))
    assert form.codes.tolist() == rationals(["17/21", "19/21", "209/219"]).tolist()
    assert form.apart == rational("209/219") - rational("19/21")
    assert form.F(rationals([[0, 1, 1, "17/21"]])).tolist() == [0]


# networks.py


def affine_error(x, e, W, b):
    """Of W x + b: |W| e + (k + 1) u (|W| |x| + |b|), for one token, entry by entry."""
    return [
        sum(abs(w) * e_j for w, e_j in zip(row, e, strict=True))
        + (len(x) + 1) * UNIT * (sum(abs(w * v) for w, v in zip(row, x, strict=True)) + abs(b_i))
        for row, b_i in zip(W, b, strict=True)
    ]


def test_round_off_is_the_bound_of_the_text_entry_by_entry():
    """All sizes differ: d = 1, n = 3, m_h = 2, d_v = 4, tau = 5, six neurons; W_Q has two units
    more, being of logarithms. Some logit that is not the largest is off by most."""
    rng, (d, n, m_h, d_v, tau, width) = np.random.default_rng(6), (1, 3, 2, 4, 5, 6)
    sizes = [(width, d), (width,), (n, width), (n,), (m_h, n), (m_h, n), (d_v, n)]
    sizes += [(width, d_v), (width,), (1, width), (1,)]
    arrays = [rng.normal(size=size) for size in sizes]
    A, a, B, b, W_Q, W_K, W_V, C, c, D, e = arrays
    x = rng.normal(size=(tau, d))
    hidden = np.maximum(x @ A.T + a, 0)
    h = hidden @ B.T + b
    e_h = [
        affine_error(z, affine_error(token, [0] * d, A, a), B, b)
        for token, z in zip(x, hidden, strict=True)
    ]
    (Q, e_Q), (K, e_K), (V, e_V) = (
        (h @ W.T, e_h @ abs(W).T + (n + more) * UNIT * abs(h) @ abs(W).T)
        for W, more in ((W_Q, 2), (W_K, 0), (W_V, 0))
    )
    expected = []
    for t in range(tau):
        logits = K @ Q[t]
        off = [
            abs(Q[t]) @ e_K[s] + e_Q[t] @ abs(K[s]) + m_h * UNIT * abs(Q[t]) @ abs(K[s])
            + UNIT * (max(logits) - logits[s]) + 2 * UNIT
            for s in range(tau)
        ]  # fmt: skip
        weights = np.exp(logits) / np.exp(logits).sum()
        moved = max(off) / 2 * (V.max(0) - V.min(0))
        e_mean = moved + weights @ e_V + 2 * tau * UNIT * weights @ abs(V)
        inner = np.maximum(C @ (weights @ V) + c, 0)
        expected += affine_error(inner, affine_error(weights @ V, e_mean, C, c), D, e)
    A, a, B, b, W_Q, W_K, W_V, C, c, D, e = map(torch.tensor, arrays)
    first, last = networks.FeedForward(A, a, B, b), networks.FeedForward(C, c, D, e)
    found = networks.Networks(first, W_Q, W_K, W_V, last).roundoff(torch.tensor(x))
    expected = [1.01 * value for value in expected]
    assert found.tolist() == pytest.approx(expected, rel=1e-9, abs=0)
    assert (first.neurons, last.neurons) == (6, 6)


# scores.py


def test_the_rounding_of_scores_by_hand():
    """tau = 2, m_h = 4, norms 3 and 5: (4 + 4 + 2^2) units of 3 5 / 2."""
    Q, K = torch.zeros(2, 2, 4, dtype=torch.float64)
    Q[0, 0], K[1, 2], K[1, 3] = 3, 3, -4
    assert scores.rounding(Q, K).item() == 12 * UNIT * 7.5


def test_one_layer_of_zeros_has_rank_0():
    zeros = torch.zeros(2, 1, 3, 2, dtype=torch.float64)  # two inputs, one head, three tokens
    heads = scores.Heads.of([(zeros, zeros)])
    assert heads.ranks.tolist() == [[[0, 0]]]


def test_shares_at_their_edges():
    """Of two equal values one carries half; no value carries nothing; one 0 has no logarithm."""
    equal = torch.ones(2, dtype=torch.float64)
    assert scores.needed(equal, 0.5).item() == 1
    for share in (0, 1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            scores.needed(equal, share)
    with pytest.raises(ValueError, match="logarithms need values above 0"):
        scores.index_share(torch.tensor([[1.0, 0.0], [1.0, 2.0]]))


# couplings.py, complexity.py


def test_tails_of_one_value_and_of_a_first_0():
    assert [v.tolist() for v in couplings.tails(rationals([3]))] == [[3, 0], [9, 0]]
    assert [v.tolist() for v in couplings.tails(rationals([0, 2]))] == [[2, 2, 0], [4, 4, 0]]


def test_constants_of_a_representation_by_hand():
    tenth, half = rational("1/10"), rational("1/2")
    assert float(complexity.C_0(2, 3, 5)) == 30
    assert float(complexity.C_0(tenth, half, 4)) == 1
    assert float(complexity.C_0_as_printed(tenth, half, 4)) == pytest.approx(0.2)
    assert float(complexity.C_0_as_printed(2, 3, 5)) == 1
    assert float(complexity.C_1(rationals(["1/8", "1/32"]), 1)) == pytest.approx(1 / 8)
    with pytest.raises(ValueError, match="unless alpha > 1, got alpha = 1"):
        complexity.joint_floor(1, 2, 1)
    with pytest.raises(ValueError, match="odd multiple of 2i = 8, got 10"):
        complexity.error_at_a_crest(4, 10)


# linear_tasks.py


def test_the_minority_is_taken_by_squares_and_row_by_row():
    """min(3^2, 2^2) and min(1^2 + 2^2, 0) of 9 + 4 + 1 + 4."""
    assert linear_tasks.minority(np.array([[3.0, -2.0], [1.0, 2.0]])) == pytest.approx(4 / 18)


def test_mixed_filters_are_the_first_of_five_values_that_are_mixed_enough():
    """In front of e^-s, by a convolution in numpy."""
    found, tau = [], 6
    for seed in range(12):
        theta = np.random.default_rng(seed).normal(size=5)
        theta /= abs(theta).sum()
        column = np.convolve(np.exp(-np.arange(tau)), theta)[:tau]
        rows = [column[: t + 1] for t in range(tau)]
        squares = [((np.maximum(r, 0) ** 2).sum(), (np.minimum(r, 0) ** 2).sum()) for r in rows]
        if sum(map(min, squares)) > 0.1 * np.sum(squares):
            found.append(pytest.approx(tuple(theta.tolist()), rel=1e-14))
    assert 0 < len(found) < 12
    assert linear_tasks.of_mixed_signs(len(found), tau) == found


def test_outputs_are_measured_in_units_of_1_unless_they_are_standardised():
    assert linear_tasks.LinearTask(linear_tasks.Exponential(), tau=3).unit == 1


# trained_recurrent.py


def test_first_weights_fill_the_interval_of_torch():
    """U(-1/sqrt n, 1/sqrt n) with n = 100: ten thousand draws come near to both ends."""
    torch.manual_seed(0)
    W = trained_recurrent.Recurrent(100, 1, 4).W
    assert -0.1 <= W.min() < -0.099 < 0.099 < W.max() <= 0.1


def test_round_off_of_a_recurrent_network_is_the_bound_of_the_text_sum_by_sum():
    """All sizes differ: n = 3, d = 2, tau = 4."""
    rng, (n, d, tau) = np.random.default_rng(6), (3, 2, 4)
    W, U, c, x = (rng.normal(size=size) for size in ((n, n), (n, d), (n,), (tau, d)))
    norm = np.linalg.norm
    r = [c @ np.linalg.matrix_power(W, s) for s in range(tau)]
    WU = [np.linalg.matrix_power(W, s) @ U for s in range(tau)]
    h = [sum(WU[t - j] @ x[j] for j in range(t + 1)) for t in range(tau)]
    anew = [
        UNIT * ((n + 1) * norm(W) * (norm(h[t - 1]) if t else 0) + (d + 1) * norm(U) * norm(x[t]))
        for t in range(tau)
    ]
    e = [
        sum(n * UNIT * norm(W) * norm(r[k - 1]) * norm(WU[s - k]) for k in range(1, s + 1))
        + n * UNIT * norm(r[s]) * norm(U)
        for s in range(tau)
    ]
    expected = []
    for t in range(tau):
        steps = sum(norm(r[t - j]) * anew[j] for j in range(t + 1))
        steps += n * UNIT * norm(c) * norm(h[t])
        kernel = sum(
            (e[s] + (t + 1 + d) * UNIT * norm(r[s] @ U)) * norm(x[t - s]) for s in range(t + 1)
        )
        expected.append(1.01 * (steps + kernel))
    rnn = recurrent.LinearRNN(*map(torch.tensor, (W, U, c)))
    found = trained_recurrent.roundoff(rnn, torch.tensor(x))
    assert found.tolist() == pytest.approx(expected, rel=1e-9, abs=0)


# vit.py


def test_positions_begin_with_the_deviation_of_the_vit():
    """0.02: 65 x 96 draws tell it to one part in 60, three standard errors."""
    torch.manual_seed(0)
    made = vit.VisionTransformer(vit.Shape(32, 4, 1, 96, 2, 4, 8))
    assert made.position.std().item() == pytest.approx(0.02, rel=3 / math.sqrt(2 * 65 * 96))


# tasks.py, recovery.py


def test_distances_of_numbers():
    x = rationals([[1, 3], [5, 2]])
    assert tasks.Nearest(d=1, tau=2).distances(x, x).tolist() == [[2, 1], [2, 3]]


def test_what_is_recovered_is_asked_row_by_row():
    """Both rows have their largest weight last; readouts are off by 0.1 and by 0.3, over sqrt 2."""
    displayed = torch.tensor([[[1.0], [-1.0]]] * 2, dtype=torch.float64)
    weights = torch.tensor([[[0.0, 1.0], [0.2, 0.8]]] * 2, dtype=torch.float64)
    off = torch.tensor([[0.1], [0.3]], dtype=torch.float64)
    result = recovery.Recovered(displayed, weights, weights, displayed + off, displayed)
    assert result.agreement() == 1
    rows = torch.tensor([[True, True], [False, False]])
    rms, largest = result.errors(rows)
    assert rms == pytest.approx(math.sqrt((0.01 + 0.09) / 2) / math.sqrt(2))
    assert largest == pytest.approx(0.3 / math.sqrt(2))
    assert result.pairs(1) == [(1.0, 1.1)]
