"""Equations (72)-(74) (jiang2024, D.1): a linear RNN is a convolution.

From a zero state, h(t) = W h(t-1) + U x(t), y(t) = c . h(t) gives
    y(t) = sum_{s <= t} c^T W^s U x(t-s),
and the kernel c^T W^s U decays exponentially if W is stable.

Checked, in rationals, for all networks that a search finds to try: the steps (72), (73) give what
(74) gives; for stable W, |c^T W^s U|^2 <= A q^s with the rational A and q < 1 of
repro/jiang2024/recurrent.py (proof there). In float64 the same integers come out, to the bit.
As printed, two things are false: that eigenvalues with a negative real part make W stable, and that
h(0) = 0 leads to (74).
Controls: a state that is not zero; an eigenvalue on the unit circle.

Readings: h(-1) = 0 for h(0) = 0; every eigenvalue inside the unit circle for a negative real part,
which is the condition on the flow e^{Wt} (Section 6.1 prints e^{W_s} for W^s); U is n x d and c^T
is 1 x n, where D.1 prints the transposed shapes.
"""

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import recurrent
from repro.numerics import exact as exact_

small = st.integers(1, 3)
cases = st.tuples(st.integers(0, 2**32 - 1), small, small, st.integers(1, 6))


def random_network(seed, n, d, tau):
    """Integer weights and inputs from -4 to 4."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return exact_.rationals(rng.integers(-4, 5, shape).tolist())

    rnn = recurrent.LinearRNN(W=draw(n, n), U=draw(n, d), c=draw(n))
    return rnn, draw(2, tau, d)


@pytest.mark.exact
def test_the_steps_give_the_convolution(claim):
    def differ(case):
        seed, n, d, tau = case
        rnn, x = random_network(seed, n, d, tau)
        return int((rnn(x) != recurrent.convolution(rnn.kernel(tau), x)).sum())

    examples = claim.at_scale(smoke=60, laptop=300, paper=20000)
    claim.for_all("outputs that differ", cases, differ, equation="(72)-(74)", examples=examples)


@pytest.mark.exact
def test_the_kernel_is_what_the_powers_of_W_say(claim):
    """c^T W^s U entry by entry, W^s by repeated products of whole matrices."""
    rnn, _ = random_network(7, 3, 2, 1)
    power, wrong = exact_.rationals(np.eye(3, dtype=int).tolist()), 0
    for row in rnn.kernel(6):
        entries = [
            sum(rnn.c[i] * power[i, j] * rnn.U[j, k] for i in range(3) for j in range(3))
            for k in range(2)
        ]
        wrong += sum(a != b for a, b in zip(row, entries, strict=True))
        power = power @ rnn.W
    claim.measured("entries of the kernel that differ", wrong, equation="(74)").equals(0)


@pytest.mark.exact
def test_float64_gives_the_same_integers(claim):
    """Weights and inputs are small integers: every sum is one, below 2^53, and nothing rounds."""
    import torch

    exact, x = random_network(claim.seed("float64") % 2**32, 4, 2, 6)
    weights = (exact_.to_float(v) for v in (exact.W, exact.U, exact.c))
    tensors = [torch.tensor(v, device=claim.device) for v in weights]
    rnn = recurrent.LinearRNN(*tensors)
    inputs = torch.tensor(exact_.to_float(x), device=claim.device)
    for name, ours in (
        ("steps", rnn(inputs)),
        ("convolution", recurrent.convolution(rnn.kernel(6), inputs)),
    ):
        wrong = int((exact_.to_float(exact(x)) != ours.cpu().numpy()).sum())
        claim.measured(
            "outputs that differ in float64", wrong, equation="(72)-(74)", name_=name
        ).equals(0)


@pytest.mark.exact
def test_a_stable_W_has_an_exponentially_decaying_kernel(claim):
    """Triangular W, eigenvalues on the diagonal, |lambda| <= 8/9, and any entries above it."""
    ninths = st.integers(-8, 8)
    matrices = st.tuples(*[ninths] * 3, *[st.integers(-30, 30)] * 3)

    def violations(case):
        a, b, c, *above = (exact_.rational(v) / 9 for v in case)
        zero, one = a * 0, a * 0 + 1
        W = np.array([[a, above[0], above[1]], [zero, b, above[2]], [zero, zero, c]])
        U, readout = exact_.rationals([[1], [-2], [3]]), np.array([one, one, one])
        rnn = recurrent.LinearRNN(W, U, readout)
        found = recurrent.decay(rnn)
        squares = (row[0] ** 2 for row in rnn.kernel(40))
        late = sum(square > found.A * found.q**s for s, square in enumerate(squares))
        return late + (not 0 <= found.q < 1)

    examples = claim.at_scale(smoke=40, laptop=300, paper=5000)
    claim.for_all(
        "times s < 40 with |c W^s U|² > A q^s",
        matrices,
        violations,
        equation="|λ| < 1",
        examples=examples,
    )


def scalar(W):
    one = exact_.rationals([1])
    W = exact_.rationals([[W]])
    return recurrent.LinearRNN(W, one[:, None], one)


def test_printed_a_negative_real_part_does_not_make_W_stable(claim):
    """W = -2: the kernel is (-2)^s. The flow e^{-2s}, for which the condition is right, decays."""
    kernel = scalar(-2).kernel(11)[:, 0]
    claim.counterexample(
        "eigenvalues with a negative real part make the kernel c^T W^s U stable",
        input={"W": -2, "U": 1, "c": 1, "s": 10},
        measured=abs(kernel[10]),
        expected=abs(kernel[0]),
        relation="<=",
        equation="D.1, after (74)",
        snippet="W, U, c = -2, 1, 1          # the eigenvalue -2 has a negative real part\n"
        "print([c * W**s * U for s in range(11)])\n",
    )
    flow = (flint.arb(-2) * 10).exp()
    claim.measured("e^(−2s) at s = 10", flow, equation="e^{Ws}, Section 6.1").at_most(
        theorem(1, "e^{Re λ s} < 1 for s > 0")
    )
    half, wrong = scalar("1/2").kernel(11)[:, 0], 0
    wrong = sum(value != exact_.rational("1/2") ** s for s, value in enumerate(half))
    claim.measured("values unlike 2^−s for W = 1/2 > 0", wrong, equation="(74), stable").equals(0)


def test_printed_a_zero_state_at_time_0_loses_the_first_input(claim):
    """h(0) = 0 and (72) from t = 1 on: y(1) = c U x(1), while (74) has c W U x(0) besides."""
    x = exact_.rationals([[1], [0]])
    claim.counterexample(
        "h(0) = 0 and (72) give (74)",
        input={"W": 1, "U": 1, "c": 1, "x": [1, 0], "t": 1},
        measured=scalar(1)(x[1:])[0],
        expected=recurrent.convolution(scalar(1).kernel(2), x)[1],
        equation="D.1, h(0) = 0",
        snippet="W = U = c = 1; x = [1, 0]; h = 0      # h(0) = 0\n"
        "h = W * h + U * x[1]                  # (72), t = 1\n"
        "print(c * h, 'but (74) is', sum(c * W**s * U * x[1 - s] for s in range(2)))\n",
    )
    claim.measured("y(1) from h(−1) = 0", scalar(1)(x)[1], equation="(74)").equals(1)


def test_control_a_state_that_is_not_zero_adds_its_own_response(claim):
    """An input at time -1 leaves the state U x(-1): the outputs gain c W^{t+1} U x(-1)."""
    rnn, before = scalar("1/2"), exact_.rationals([[8]])
    x = exact_.rationals([[1], [3], [-2]])
    gained = rnn(np.concatenate([before, x]))[1:] - recurrent.convolution(rnn.kernel(3), x)
    wrong = sum(g != 8 * exact_.rational("1/2") ** (t + 1) for t, g in enumerate(gained))
    claim.measured("gains unlike c W^(t+1) U x(−1)", wrong, equation="(74), h(−1) ≠ 0").equals(0)
    claim.measured("error of (74)", abs(gained[-1]), equation="(74), h(−1) ≠ 0").at_least(
        theorem(1, "c W^(t+1) U x(−1) = 1 at t = 2")
    )


def test_control_an_eigenvalue_on_the_circle_does_not_decay(claim):
    """W = ((1, 1), (0, 1)): |lambda| = 1, and c W^s U = s."""
    W, U = exact_.rationals([[1, 1], [0, 1]]), exact_.rationals([[0], [1]])
    kernel = recurrent.LinearRNN(W, U, exact_.rationals([1, 0])).kernel(101)
    claim.measured("c W^s U at s = 100", kernel[100, 0], equation="|λ| = 1").at_least(
        theorem(100, "W^s = ((1, s), (0, 1))")
    )
