"""Equations (72)-(74) (jiang2024, D.1): a linear RNN is a convolution.

From a zero state, h(t) = W h(t-1) + U x(t), y(t) = c . h(t) gives
    y(t) = sum_{s <= t} c^T W^s U x(t-s),
and the kernel c^T W^s U decays exponentially if W is stable.

Proof. h(t) = sum_{s <= t} W^s U x(t-s) for all t >= -1, by induction: from h(-1) = 0 on,
W h(t-1) + U x(t) is the sum for t-1 with one power of W more, and the term s = 0. For stable W, all
eigenvalues inside the unit circle, repro/jiang2024/recurrent.py proves |c^T W^s U|^2 <= A q^s with
q < 1.                                                                                          QED

Misprints: h(0) = 0 for h(-1) = 0, which would lose x(0); "a negative real part" for eigenvalues
inside the unit circle, which is the condition on the flow e^{Wt} of Section 6.1 (printed e^{W_s});
the shapes of U and c^T, which are n x d and 1 x n.

Checked, in rationals, for random networks: the steps (72), (73) give what (74) gives, in float64
too, to the bit; the decay, with the rational A and q of recurrent.py.
"""

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import recurrent
from repro.numerics import exact

small = st.integers(1, 3)
cases = st.tuples(st.integers(0, 2**32 - 1), small, small, st.integers(1, 6))


def random_network(seed, n, d, tau):
    """Integer weights and inputs from -4 to 4."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return exact.rationals(rng.integers(-4, 5, shape).tolist())

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
    """c^T W^s U by the powers of whole matrices."""
    rnn, _ = random_network(7, 3, 2, 1)
    c, W, U = (flint.fmpq_mat(np.atleast_2d(v).tolist()) for v in (rnn.c, rnn.W, rnn.U))
    stated = exact.rationals([(c * W**s * U).tolist()[0] for s in range(6)])
    wrong = int((rnn.kernel(6) != stated).sum())
    claim.measured("entries of the kernel that differ", wrong, equation="(74)").equals(0)


@pytest.mark.exact
def test_float64_gives_the_same_integers(claim):
    """Weights and inputs are small integers: every sum is one, below 2^53, and nothing rounds."""
    import torch

    integers, x = random_network(claim.seed("float64") % 2**32, 4, 2, 6)
    W, U, c, inputs = (
        torch.tensor(exact.to_float(v), device=claim.device)
        for v in (integers.W, integers.U, integers.c, x)
    )
    rnn = recurrent.LinearRNN(W, U, c)
    computed = {"steps": rnn(inputs), "convolution": recurrent.convolution(rnn.kernel(6), inputs)}
    for way, ours in computed.items():
        wrong = int((exact.to_float(integers(x)) != ours.cpu().numpy()).sum())
        claim.measured("outputs that differ in float64", wrong, equation="(74)", way=way).equals(0)


@pytest.mark.exact
def test_a_stable_W_has_an_exponentially_decaying_kernel(claim):
    """Triangular W, eigenvalues on the diagonal, |lambda| <= 8/9, and any entries above it."""
    ninths = st.integers(-8, 8)
    matrices = st.tuples(*[ninths] * 3, *[st.integers(-30, 30)] * 3)

    def violations(case):
        a, b, c, *above = (exact.rational(v) / 9 for v in case)
        zero = a * 0
        W = np.array([[a, above[0], above[1]], [zero, b, above[2]], [zero, zero, c]])
        U, readout = exact.rationals([[1], [-2], [3]]), exact.rationals([1, 1, 1])
        rnn = recurrent.LinearRNN(W, U, readout)
        A, q = recurrent.decay(rnn)
        squares = (row[0] ** 2 for row in rnn.kernel(40))
        late = sum(square > A * q**s for s, square in enumerate(squares))
        return late + (not 0 <= q < 1)

    examples = claim.at_scale(smoke=40, laptop=300, paper=5000)
    name = "times s < 40 with |c W^s U|² > A q^s"
    claim.for_all(name, matrices, violations, equation="text after (74)", examples=examples)
    # W = w, U = c = 1: P = 1/(1 - w^2), A = 1 and q = 1 - 1/P = w^2, which the kernel w^s attains
    for w, q in (("1/2", "1/4"), ("-2/3", "4/9")):
        found = claim.measured("A and q", list(recurrent.decay(scalar(w))), equation="(74)", W=w)
        found.equals([1, exact.rational(q)])


def scalar(W):
    return recurrent.LinearRNN(*map(exact.rationals, ([[W]], [[1]], [1])))


def late_and_first_value_of_the_kernel(W, s):
    """|c W^s U| and |c U| for U = c = 1; the eigenvalue W has a negative real part."""
    return abs(W**s), 1


def test_printed_a_negative_real_part_does_not_make_W_stable(claim):
    """W = -2: the kernel is (-2)^s. The flow e^{-2s}, for which the condition is right, decays."""
    kernel = scalar(-2).kernel(11)[:, 0]
    claim.counterexample(
        "eigenvalues with a negative real part make the kernel c^T W^s U stable",
        input={"U": 1, "c": 1},
        measured=abs(kernel[10]), expected=abs(kernel[0]), relation="<=",
        equation="D.1, after (74)", program=late_and_first_value_of_the_kernel, W=-2, s=10,
    )  # fmt: skip
    flow = (flint.arb(-2) * 10).exp()
    claim.measured("e^(Ws)", flow, equation="Section 6.1", W=-2, s=10).at_most(
        theorem(1, "e^{Re λ s} < 1 for s > 0")
    )
    half = scalar("1/2").kernel(11)[:, 0]
    wrong = sum(value != exact.rational("1/2") ** s for s, value in enumerate(half))
    claim.measured("values of the kernel unlike W^s", wrong, equation="(74)", W="1/2").equals(0)


def output_at_time_1_by_72_and_by_74(W, U, c, x):
    """(72) from h(0) = 0 uses x(1) only; (74) has a term with x(0) besides."""
    h = W * 0 + U * x[1]
    return c * h, sum(c * W**s * U * x[1 - s] for s in range(2))


def test_printed_a_zero_state_at_time_0_loses_the_first_input(claim):
    """h(0) = 0 and (72) from t = 1 on: y(1) = c U x(1), while (74) has c W U x(0) besides."""
    x = exact.rationals([[1], [0]])
    claim.counterexample(
        "h(0) = 0 and (72) give (74)",
        input={"t": 1},
        measured=scalar(1)(x[1:])[0], expected=recurrent.convolution(scalar(1).kernel(2), x)[1],
        equation="D.1, h(0) = 0", program=output_at_time_1_by_72_and_by_74, W=1, U=1, c=1, x=[1, 0],
    )  # fmt: skip
    claim.measured("y(1) from a zero state at time −1", scalar(1)(x)[1], equation="(74)").equals(1)


def test_control_a_state_that_is_not_zero_adds_its_own_response(claim):
    """An input at time -1 leaves the state U x(-1): the outputs gain c W^{t+1} U x(-1)."""
    rnn, before = scalar("1/2"), exact.rationals([[8]])
    x = exact.rationals([[1], [3], [-2]])
    gained = rnn(np.concatenate([before, x]))[1:] - recurrent.convolution(rnn.kernel(3), x)
    wrong = sum(g != 8 * exact.rational("1/2") ** (t + 1) for t, g in enumerate(gained))
    claim.measured("gains unlike c W^(t+1) U x(−1)", wrong, equation="(74)").equals(0)
    claim.measured("error of (74)", abs(gained[-1]), equation="(74)", t=2).at_least(
        theorem(1, "c W^(t+1) U x(−1) = 1 at t = 2")
    )


def test_control_an_eigenvalue_on_the_circle_does_not_decay(claim):
    """W = ((1, 1), (0, 1)): |lambda| = 1, and c W^s U = s."""
    weights = map(exact.rationals, ([[1, 1], [0, 1]], [[0], [1]], [1, 0]))
    kernel = recurrent.LinearRNN(*weights).kernel(101)
    claim.measured("c W^s U", kernel[100, 0], equation="(74)", s=100).at_least(
        theorem(100, "W^s = ((1, s), (0, 1))")
    )
