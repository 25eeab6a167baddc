"""Equation (53) (jiang2024, Appendix B.1): the same model with all tokens in one matrix.

H^(x) = F^( W_V f^(x) . sigma[(W_Q f^(x))^T W_K f^(x)] ), tokens as columns, sigma column by column.

Misprint: Q and K are exchanged. Entry (i, j) of the printed matrix is the query of token i times
the key of token j, so that a softmax of column j divides by a sum over the queries. (A softmax
along the rows does not help: the columns of weights then do not add up to 1.) The printed formula
names the same set of models, with other names for W_Q and W_K.

Proof, for (W_K f^)^T W_Q f^: its entry (s, t) is key s times query t. The softmax of column t
divides e^(k_s . q_t) by the sum over all keys, and the values times this column are
sum_s sigma[q_t . k](s) W_V f^(x(s)), which F^ reads in (5).                                    QED

Checked, in rationals: this for random models; that the printed formula is (5) with W_Q and W_K
exchanged.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import exactly
from repro.jiang2024 import model
from repro.numerics import arrays, exact, logarithms

ORDERS = {  # of the matrix e^((W_Q h_i) . W_K h_j), row i and column j, to the weights of column t
    "printed": lambda E: E / E.sum(0),
    "exchanged": lambda E: E.T / E.T.sum(0),
    "printed, rows": lambda E: E / E.sum(1)[:, None],
}


def averages(net, xs, order):
    """What F^ is applied to in (53), for each column; rows here."""
    h = net.f(xs)
    E = arrays.each(logarithms.exp, (h @ net.W_Q.T) @ (h @ net.W_K.T).T)
    return ORDERS[order](E).T @ (h @ net.W_V.T)


def drawn(seed, tau=3):
    """f^ = (x_1, x_2, 1 + x_1 x_2) at integers; integers in W_K and W_V, logarithms in W_Q."""
    rng = np.random.default_rng(seed)

    def integers(low, high, *shape):
        return exact.rationals(rng.integers(low, high, shape))

    def f(x):
        return np.concatenate([x, 1 + x[:, :1] * x[:, 1:]], axis=-1)

    W_Q = arrays.each(logarithms.Log, integers(1, 4, 2, 3))
    W_K, W_V = integers(-1, 2, 2, 3), integers(-2, 3, 2, 3)
    return model.Transformer(f, W_Q, W_K, W_V, lambda z: z[..., 0]), integers(-1, 3, tau, 2)


def differ(net, xs, order):
    return int((net.target().averages(xs) != averages(net, xs, order)).sum())


@pytest.mark.exact
def test_with_queries_and_keys_exchanged_it_is_equation_5(claim):
    cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 4))

    def off(case):
        return differ(*drawn(*case), "exchanged")

    examples = claim.at_scale(smoke=10, laptop=80, paper=2000)
    claim.for_all("averages that differ", cases, off, equation="(5), (53)", examples=examples)


@pytest.mark.exact
def test_the_printed_formula_names_the_same_class(claim):
    """(53) as printed for (W_Q, W_K) is (5) for (W_K, W_Q); the logarithms stand in W_K then."""
    wrong = 0
    for seed in range(claim.at_scale(smoke=5, laptop=30, paper=300)):
        net, xs = drawn(seed)
        other = model.Transformer(net.f, net.W_K, net.W_Q, net.W_V, net.F)
        ours = other.target().averages(xs)
        wrong += int((ours != averages(net, xs, "printed")).sum())
    claim.measured("averages that differ", wrong, equation="(5), (53)").equals(0)


E = [[1, 1], [2, 4]]  # e^(q_i k_j) for x = (0, 1), f^ = (x, 1), queries x log 2, keys 1 + x


def first_output_by_columns_and_by_rows(E):
    """E holds e^(q_i k_j), and the values are x = (0, 1): output 1 of (53) and of (5)."""
    from fractions import Fraction

    by_53 = Fraction(0 * E[0][0] + 1 * E[1][0], E[0][0] + E[1][0])  # column 1
    by_5 = Fraction(0 * E[0][0] + 1 * E[0][1], E[0][0] + E[0][1])  # row 1
    return by_53, by_5


def test_printed_the_softmax_of_a_column_is_over_the_queries(claim):
    """Row 1 gives 1/2 and row 2 gives 2/3, columns 2/3 and 4/5."""
    network = model.Transformer(
        lambda x: np.concatenate([x, 1 + 0 * x], axis=-1),
        np.array([[logarithms.Log(2), 0]], dtype=object),
        exact.rationals([[1, 1]]),
        exact.rationals([[1, 0]]),
        lambda z: z[..., 0],
    )
    H = [Fraction(str(y)) for y in network.target()(exact.rationals([0, 1])[:, None])]
    claim.measured("outputs", H, equation="(5)").equals([Fraction(1, 2), Fraction(2, 3)])
    claim.counterexample(
        "(53), column by column, is the Transformer (5)",
        input={"x": [0, 1], "W_Q f": "x log 2", "W_K f": "1 + x", "W_V f": "x"},
        measured=ORDERS["printed"](exact.rationals(E))[1, 0], expected=H[0], equation="(53)",
        program=first_output_by_columns_and_by_rows, E=E,
    )  # fmt: skip


def sum_of_the_weights_of_the_first_output(E):
    """The rows of E are divided by their sums; output 1 takes column 1."""
    from fractions import Fraction

    return sum(Fraction(row[0], sum(row)) for row in E), 1


def test_reading_a_softmax_along_the_rows_gives_no_averages(claim):
    """The columns of weights are then (1/2 + 1/3, 1/2 + 2/3): they do not add up to 1."""
    claim.counterexample(
        "with the softmax along the rows the weights of each output of (53) add up to 1",
        input={"x": [0, 1], "output": 1},
        measured=ORDERS["printed, rows"](exact.rationals(E))[:, 0].sum(), expected=1,
        equation="(53)", printed=False, program=sum_of_the_weights_of_the_first_output, E=E,
    )  # fmt: skip


@pytest.mark.parametrize("order", ["printed", "printed, rows"])
def test_control_the_printed_order_is_off_by_a_sixth(order, claim):
    """E as above. Output 1 is 1/2; the weights (1/3, 2/3) of column 1 give 2/3, and with rows
    divided by their sums the column (1/2, 1/3) gives 1/3. In the exchanged order it is right."""
    x, right = exact.rationals([0, 1]), exact.rational("1/2")
    outputs = {name: (weights(exact.rationals(E)).T @ x)[0] for name, weights in ORDERS.items()}
    claim.measured("output 1", outputs["exchanged"], equation="(5)").equals(right)
    claim.measured("error of output 1", abs(outputs[order] - right), equation="(53)").at_least(
        exactly(Fraction(1, 6), "|2/3 − 1/2| and |1/3 − 1/2|")
    )
