"""Equations (63)-(66) (jiang2024, Appendix B.1, task three): averages of chosen points.

y(t) = 1/k sum_{s in s(t)} v_s, where the token x(t) = (v_t, s(t)) names k indices; of form (8) with
F o f the projection to v and weights in {0, 1/k, ..., 1} that count how often an index is named.

An index that is named c times adds c v_s to the sum: with the weights c/k the sum is y(t). With the
own index in the token this is a limit of targets of form (8): rho = log c, and -L where an index is
not named. Proof. The indices that are named have the exponentials c, of sum k, and the others e^-L;
the others have a share of at most tau e^-L / k, and move the average by at most that times the
spread of v.                                                                                    QED

Misprints: for k = 3 the text has {0, 1/2, 2/3, 1}; (64) calls the weights rho, whose softmax they
are not; [tau] is {1, ..., tau}, but (66) names index 0. With indices from 0 all is right that the
text says of (66).

Checked, in rationals: the weights, which are the multiples of 1/k, and the output for random
indices; the example (65); the bound; what the text says of (66).

Reading: the token must carry its own index; without it the target is not permutation equivariant,
and a target of form (8) is. F o f is the projection (v, s) -> v.
"""

import itertools
from collections import Counter
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import model, tasks
from repro.numerics import exact, logarithms

PRINTED_SET = {Fraction(0), Fraction(1, 2), Fraction(2, 3), Fraction(1)}  # text below (65), k = 3


@st.composite
def inputs(draw):
    tau, k = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    coordinate, index = st.integers(-5, 5), st.integers(0, tau - 1)
    v = draw(st.lists(st.tuples(coordinate, coordinate), min_size=tau, max_size=tau))
    s = draw(st.lists(st.lists(index, min_size=k, max_size=k), min_size=tau, max_size=tau))
    return v, s


def task(v, s):
    selection = tasks.Selection(d=len(v[0]), k=len(s[0]), tau=len(v))
    return selection, selection.tokens(*map(exact.rationals, (v, s)))


def chosen(v, s):
    """(63) by definition."""
    picked = [zip(*(v[i] for i in named), strict=True) for named in s]
    return [[Fraction(sum(column), len(column)) for column in columns] for columns in picked]


@pytest.mark.exact
def test_counting_indices_gives_the_mean(claim):
    def wrong(case):
        v, s = case
        selection, x = task(v, s)
        weights, stated = selection.weights(x), exact.rationals(chosen(v, s))
        return int((weights @ x[:, : len(v[0])] != stated).sum())

    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    claim.for_all("wrong coordinates", inputs(), wrong, equation="(63)", examples=examples)


@pytest.mark.exact
def test_the_example_of_65(claim):
    """v = (1, 10, 100); its indices count from 1."""
    v, s = [[1], [10], [100]], [[1, 1, 2], [1, 2, 3], [3, 3, 3]]
    selection, x = task(v, [[i - 1 for i in named] for named in s])
    y = [entry * 3 for entry in (selection.weights(x) @ x[:, :1])[:, 0]]
    claim.measured("3 y", y, equation="(65)").equals([12, 111, 300])


@pytest.mark.parametrize("k", [1, 2, 3, 4], ids="k={}".format)
@pytest.mark.exact
def test_the_weights_are_the_multiples_of_one_over_k(k, claim):
    """All choices of k indices out of three."""
    found = set()
    for named in itertools.product(range(3), repeat=k):
        selection, x = task([[0]] * 3, [named] * 3)
        found |= {Fraction(str(w)) for w in selection.weights(x)[0]}
    stated = [Fraction(i, k) for i in range(k + 1)]
    claim.measured("weights that occur", sorted(found), equation="(64)").equals(stated)


@pytest.mark.exact
def test_with_its_own_index_it_is_a_limit_of_targets_of_form_8(claim):
    def excess(case):
        (v, s), j = case
        selection, x = task(v, s)
        target = selection.target(logarithms.Log(2**j))
        off = abs(target(x) - exact.rationals(chosen(v, s))).max()
        values = [c for vector in v for c in vector]
        spread = max(values) - min(values)
        return int(off > exact.rational(Fraction(len(v) * spread, selection.k * 2**j)))

    cases = st.tuples(inputs(), st.sampled_from([1, 5, 30]))
    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    name = "outputs with an error above τ e^−L / k times the spread"
    claim.for_all(name, cases, excess, equation="(63)", examples=examples)


@pytest.mark.exact
def test_what_the_text_says_of_66(claim):
    """y(1), y(3), y(6) rely on one input, y(0), y(2) on two, y(4), y(5), y(7) on three."""
    s = tasks.PRINTED_SELECTION
    selection, x = task([[i] for i in range(8)], s)
    relied = (selection.weights(x) > 0).sum(1)
    by_count = {n: [t for t in range(8) if relied[t] == n] for n in (1, 2, 3)}
    stated = {1: [1, 3, 6], 2: [0, 2], 3: [4, 5, 7]}
    claim.measured("outputs by the number of inputs", by_count, equation="(66)").equals(stated)


def weights_outside_the_printed_set(named):
    from collections import Counter
    from fractions import Fraction

    weights = {Fraction(n, 3) for n in Counter(named).values()}
    return sorted(weights - {0, Fraction(1, 2), Fraction(2, 3), 1}), []


def test_printed_the_set_for_k_3(claim):
    """s(4) = (0, 3, 7) of (66): every weight is 0 or 1/3; 1/2 never occurs."""
    s = tasks.PRINTED_SELECTION
    selection, x = task([[0]] * 8, s)
    weights = {Fraction(str(w)) for w in selection.weights(x).ravel()}
    claim.counterexample(
        "for three indices the weights lie in {0, 1/2, 2/3, 1}",
        input={"k": 3, "t": 4},
        measured=sorted(weights - PRINTED_SET), expected=[], equation="text below (65)",
        program=weights_outside_the_printed_set, named=s[4],
    )  # fmt: skip
    thirds = [Fraction(i, 3) for i in range(4)]
    claim.measured("weights", sorted(weights), equation="(66)").equals(thirds)


def weight_from_the_softmax(logit):
    """Of the second of two tokens, with rho = (0, logit); the task asks for the weight 1."""
    import flint

    e = flint.arb(logit).exp()
    return e / (1 + e), 1


def test_printed_the_weights_are_not_the_coupling(claim):
    """k = 1, two tokens, s(1) = 1 of (0, 1): with rho = (0, 1) the softmax gives e/(1 + e)."""
    with flint.ctx.workprec(100):
        weights = model.softmax(np.array([flint.arb(0), flint.arb(1)], dtype=object))
    claim.counterexample(
        "ρ(x(t), x(s)) ∈ {0, 1/k, ..., 1} gives the weights 0, 1/k, ..., 1",
        input={"k": 1, "tau": 2, "rho": [0, 1]},
        measured=weights[1], expected=1, equation="(64)", program=weight_from_the_softmax, logit=1,
    )  # fmt: skip
    selection, x = task([[0], [1]], [[1], [1]])
    wanted = list(selection.weights(x)[0])
    claim.measured("weights asked for", wanted, equation="(63)").equals([0, 1])


@pytest.mark.exact
def test_the_indices_of_66_count_from_0(claim):
    indices = {i for named in tasks.PRINTED_SELECTION for i in named}
    claim.measured("indices", sorted(indices), equation="(66)").equals(list(range(8)))


def output_of_shuffled_tokens_and_shuffled_output(v, s):
    """k = 1, indices from 0; the tokens are (v_t, s_t), shuffled by reversal."""

    def y(tokens):
        return [tokens[index][0] for _, index in tokens]

    x = list(zip(v, s, strict=True))
    return y(x[::-1])[0], y(x)[::-1][0]


def test_reading_without_its_own_index_the_target_is_not_of_form_8(claim):
    """Tokens (v, s) = (0, 1), (5, 1), counted from 0: y = (5, 5). Shuffled it is (0, 0); a target
    of form (8) gives the shuffled outputs, (5, 5), for tokens that carry nothing else."""
    v, s = [[0], [5]], [[1], [1]]
    before, after = chosen(v, s), chosen(v[::-1], s[::-1])
    claim.counterexample(
        "(63) is of form (8) for tokens x(t) = (v_t, s(t)) without their own index",
        input={"k": 1, "tau": 2},
        measured=after[0][0], expected=before[1][0], equation="(8), (63)", printed=False,
        program=output_of_shuffled_tokens_and_shuffled_output, v=[0, 5], s=[1, 1],
    )  # fmt: skip
    selection, x = task(v, s)
    repaired = [int(y.p) for y in (selection.weights(x) @ x[:, :1])[:, 0]]
    claim.measured("outputs with the own index", repaired, equation="(63)").equals([5, 5])


@pytest.mark.exact
def test_the_inputs_drawn_are_as_described(claim):
    """tau = 8, d = 2, k = 3: every index from 0 to 7 is drawn, the own index stands last; v in
    [-1, 1]^2."""
    import torch

    selection = tasks.Selection()
    x = selection.draw(torch.Generator().manual_seed(claim.seed("indices")), 100)
    drawn = Counter(int(i) for i in x[..., 2:5].flatten())
    claim.measured("indices drawn", sorted(drawn), equation="(63)").equals(list(range(8)))
    claim.measured("own indices", x[0, :, 5].int().tolist(), equation="(63)").equals(list(range(8)))
    sums = (selection.weights(x).sum(-1) * 3).round().int().unique().tolist()
    claim.measured("sums of the counts", sums, equation="(64)", k=3).equals([3])
    v = x[..., :2].flatten()
    found, _ = np.histogram(v, 10, (-1.0, 1.0))
    outside, empty = len(v) - int(found.sum()), int((found == 0).sum())
    claim.measured("coordinates out of [−1, 1]", outside, equation="(63)").equals(0)
    claim.measured("tenths of [−1, 1] without any", empty, equation="(63)").equals(0)


def test_control_indices_of_66_counted_from_1(claim):
    """v_s = s: every mean falls by 1 (index 0, which does not exist then, wraps around)."""
    s, v = tasks.PRINTED_SELECTION, [[i] for i in range(8)]
    shifted = [tuple((i - 1) % 8 for i in named) for named in s]
    differences = [abs(a[0] - b[0]) for a, b in zip(chosen(v, s), chosen(v, shifted), strict=True)]
    claim.measured("least difference of an output", min(differences), equation="(66)").at_least(
        theorem(1, "each index is off by one, 0 becomes 7")
    )
