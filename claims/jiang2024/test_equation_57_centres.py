"""Equations (57)-(62) (jiang2024, Appendix B.1, task two): centres of gravity.

Tokens are points x_s with masses m_s, or x_pred, which begins a segment. The output at x_pred is
the norm of the mean of its segment, weighted by mass, at every other token the norm of the token.
(62): this is of form (8), with the normalised masses of the segment, or 1_{s=t}, as weights.

That it is: on encoded inputs, with positive masses, the outputs are continuous, since x_pred is not
in the set of points and cannot turn into one; so Theorem A.3 gives F, f and rho.

Proof gap: they are not those of (62), if there are several segments. The quotient of two weights in
row t of (8) is e^(rho(x(t), x(s)) - rho(x(t), x(s'))): three tokens determine it, their positions
included, and a token between them that ends the segment cannot change it. Without positions two
prediction tokens are equal and have one output.

Corrected: with the number of the segment, its label, in every token, (62) is a limit of targets of
form (8): rho = log m - L (difference of labels)^2 for prediction tokens, -L |x - y|^2 for others
(repro/jiang2024/tasks.py). Proof. In the row of a prediction token a point of its segment has a
weight in proportion to its mass, and all others, prediction tokens being counted with mass 1, have
together at most e^-L times their mass. The average moves by at most their share times the spread of
all points. In the row of a point, equal tokens have one value, and another token at distance D has
e^(-L D^2) times its weight.                                                                    QED

Checked, in rationals, e^L = 2^k: the displayed weights are those of the definition, and the
averages are within this bound of them.

Not checked: the representation that Theorem A.3 gives for this task.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import tasks
from repro.numerics import exact, logarithms

coordinates = st.integers(-4, 4)
points = st.tuples(coordinates, coordinates, st.integers(1, 5))
segments = st.lists(st.lists(points, min_size=1, max_size=3), min_size=1, max_size=3)


def tokens(segments, *, labelled=True):
    """(x, x', mass, is it x_pred, label) for every token, and an x_pred before every segment."""
    rows = []
    for label, segment in enumerate(segments):
        mark = label if labelled else 0
        rows += [[0, 0, 0, 1, mark], *([*point, 0, mark] for point in segment)]
    return exact.rationals(rows)


def centres(segments):
    """(59): what is averaged at each token, by definition."""
    for segment in segments:
        mass = sum(m for *_, m in segment)
        yield [Fraction(sum(m * p[i] for *p, m in segment), mass) for i in range(2)]
        yield from ([Fraction(a), Fraction(b)] for a, b, _ in segment)


@pytest.mark.exact
def test_the_displayed_weights_give_the_centres(claim):
    """(62), for all segments; rows add up to 1."""

    def wrong(segments):
        x = tokens(segments)
        weights = tasks.Gravity().weights(x)
        stated = exact.rationals(list(centres(segments)))
        return int((weights @ x[:, :2] != stated).sum() + (weights.sum(1) != 1).sum())

    examples = claim.at_scale(smoke=15, laptop=120, paper=3000)
    name = "wrong coordinates and rows"
    claim.for_all(name, segments, wrong, equation="(59), (62)", examples=examples)


@pytest.mark.exact
def test_the_example_of_60_and_61(claim):
    """Three points and two, d = 1: norms of the centres and of the points."""
    x, m = [3, -1, 2, -5, 1], [1, 2, 1, 3, 1]
    points = [[a, b, 0, int(s >= 3)] for s, (a, b) in enumerate(zip(x, m, strict=True))]
    tokens = exact.rationals([[0, 0, 1, 0], *points[:3], [0, 0, 1, 1], *points[3:]])
    task = tasks.Gravity(d=1, length=7)
    y = abs(task.weights(tokens) @ tokens[:, :1])[:, 0]
    stated = exact.rationals([Fraction(3, 4), 3, 1, 2, Fraction(14, 4), 5, 1])
    claim.measured("y", list(y), equation="(61)").equals(list(stated))
    worst = abs(task.target(logarithms.Log(2**80))(tokens) - stated).max()
    claim.measured("error of a target of form (8)", worst, equation="(61)", e_L="2^80").at_most(
        theorem(exact.rational(Fraction(1, 2**70)), "of order 2^−80, see the next test")
    )


def bounds(segments, k):
    """2^-k times the mass elsewhere, over the mass of the segment, times the spread of all points.

    Prediction tokens count as mass 1, points in the row of a point as 1 over 1.
    """
    masses = [sum(m for *_, m in segment) for segment in segments]
    everything, tau = sum(masses) + len(segments), sum(len(s) + 1 for s in segments)
    values = [0, *(c for segment in segments for point in segment for c in point[:2])]
    spread = max(values) - min(values)
    for segment, mass in zip(segments, masses, strict=True):
        yield Fraction(spread * (everything - mass), mass * 2**k)
        yield from [Fraction(spread * tau, 2**k)] * len(segment)


@pytest.mark.exact
def test_with_labels_it_is_a_limit_of_targets_of_form_8(claim):
    def excess(case):
        segments, k = case
        target = tasks.Gravity().target(logarithms.Log(2**k))
        stated = exact.rationals(list(centres(segments)))
        off = abs(target.averages(tokens(segments)) - stated).max(1)
        allowed = exact.rationals(list(bounds(segments, k)))
        return int((off > allowed).sum())

    cases = st.tuples(segments, st.sampled_from([1, 4, 20]))
    x, places = tokens(TWO), exact.rationals([[10 * s] for s in range(6)])
    target = tasks.Gravity(marks=("segment", "position")).target(logarithms.Log(2))
    centre = target.averages(np.concatenate([x, places], axis=1))[0]
    # e^-L = 1/2: weights 1, 1 at a = 1; 1/2 at both x_pred = 0; 1/2, 1/2 at c = 4: (2 + 4) / 4
    claim.measured("x_pred's average, positions beside labels", centre[0], equation="(62)").equals(
        Fraction(3, 2)
    )
    examples = claim.at_scale(smoke=15, laptop=120, paper=3000)
    name = "averages beyond a stated multiple of e^−L"
    claim.for_all(name, cases, excess, equation="(62)", examples=examples)


TWO = [[(1, 0, 1), (1, 0, 1)], [(4, 0, 1), (4, 0, 1)]]  # a, a and c, c
ONE = [[(1, 0, 1), (1, 0, 1), (2, 0, 1), (4, 0, 1), (4, 0, 1)]]  # a point b in place of x_pred


def weight_of_c_over_that_of_a(one, two):
    """Row 1 of (62), masses 1, in two sequences with the same tokens 1, 2 and 5."""

    def quotient(tokens):
        end = tokens.index("x_pred", 1) if "x_pred" in tokens[1:] else len(tokens)
        weights = [1 if 0 < s < end else 0 for s in range(len(tokens))]
        return weights[4] // weights[1]

    return quotient(one.split()), quotient(two.split())


def test_printed_a_coupling_of_pairs_does_not_see_a_separator(claim):
    """x_pred, a, a, b, c, c against x_pred, a, a, x_pred, c, c: in row 1 the weights of c and a."""
    weights = [tasks.Gravity().weights(tokens(s, labelled=False)) for s in (ONE, TWO)]
    same = tokens(ONE, labelled=False)[[0, 1, 4]] == tokens(TWO, labelled=False)[[0, 1, 4]]
    claim.measured("tokens 1, 2 and 5 are the same", bool(same.all()), equation="(57)").equals(True)
    quotients = [w[0, 4] / w[0, 1] for w in weights]
    claim.counterexample(
        "the weights of (62) are softmax weights of a coupling ρ(x(t), x(s)), positions included",
        input={"masses": 1, "weights of": "c over a, row 1"},
        measured=quotients[0], expected=quotients[1], equation="(8), (62)",
        program=weight_of_c_over_that_of_a, one="x_pred a a b c c", two="x_pred a a x_pred c c",
    )  # fmt: skip
    label = tasks.Gravity().target(logarithms.Log(2**40))
    repaired = [label.weights(tokens(s))[0] for s in (ONE, TWO)]
    name, quotients = "weight of c over that of a", [row[4] / row[1] for row in repaired]
    claim.measured(name, quotients[0], equation="(62)", segments=1).equals(1)
    claim.measured(name, quotients[1], equation="(62)", segments=2).at_most(
        theorem(exact.rational(Fraction(1, 2**40)), "e^−L with e^L = 2^40")
    )


def centres_at_two_equal_tokens(first, second):
    """x = (x_pred, first, x_pred, second): the centre of gravity of one point is that point."""
    x = ["x_pred", first, "x_pred", second]
    assert x[0] == x[2]
    return x[1], x[3]


def test_reading_without_positions_two_prediction_tokens_have_one_output(claim):
    """x_pred, 1, x_pred, 4 in d = 1: outputs 1 and 4 are asked for at two equal tokens."""
    x = exact.rationals([[0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 0], [4, 1, 0, 0]])
    y = tasks.Gravity(d=1).target(logarithms.Log(2))(x)
    claim.measured("output of a target at both tokens", y[0], equation="(8)").equals(y[2])
    asked = tasks.Gravity(d=1).weights(x) @ x[:, :1]
    claim.counterexample(
        "without positions in the tokens (62) is of form (8): equal tokens have equal outputs",
        input={"x": "x_pred, first, x_pred, second", "masses": 1},
        measured=asked[0, 0], expected=asked[2, 0], equation="(8), (57)-(62)", printed=False,
        program=centres_at_two_equal_tokens, first=1, second=4,
    )  # fmt: skip


def test_control_equal_labels_mix_the_segments(claim):
    """Points 1 and 4: with one label for both, 5/2 is seen in place of 1 and of 4."""
    target = tasks.Gravity().target(logarithms.Log(2**40))
    seen = target.averages(tokens(TWO, labelled=False))[:, 0]
    off = min(abs(seen[0] - 1), abs(seen[3] - 4))
    claim.measured("error at x_pred", off, equation="(62)").at_least(
        theorem(exact.rational("149/100"), "3/2 less a multiple of 2^−40")
    )


@pytest.mark.exact
def test_the_inputs_drawn_are_as_described(claim):
    """Length 10, segments of at least 2 points: nine layouts, each drawn."""
    import torch

    task, seen, wrong = tasks.Gravity(), set(), 0
    x = task.draw(torch.Generator().manual_seed(claim.seed("layouts")), 400).numpy()
    for flags, labels in zip(x[..., 3], x[..., 4], strict=True):
        ends = np.append(np.flatnonzero(flags), 10)
        seen.add(tuple((np.diff(ends) - 1).tolist()))
        wrong += int((labels != np.cumsum(flags) - 1).sum())
    claim.measured("wrong labels", wrong, equation="(60)").equals(0)
    claim.measured("layouts drawn", sorted(seen), equation="(60)").equals(sorted(task.layouts(10)))
    points, masses = x[x[..., 3] == 0][:, :2], x[x[..., 3] == 0][:, 2]
    for name, values, low in (("coordinates", points, -1.0), ("masses", masses, 0.1)):
        found, _ = np.histogram(values, 10, (low, 1.0))
        outside, empty = values.size - int(found.sum()), int((found == 0).sum())
        claim.measured(f"{name} out of range", outside, equation="Figure 5").equals(0)
        claim.measured(f"tenths of the range without {name}", empty, equation="Figure 5").equals(0)
    rest = int(np.count_nonzero(x[x[..., 3] == 1][:, :3]))
    claim.measured("numbers that a prediction token carries", rest, equation="(60)").equals(0)
    smallest = min(min(layout) for layout in seen)
    claim.measured("points of the shortest segment", smallest, equation="text below (62)").equals(2)
