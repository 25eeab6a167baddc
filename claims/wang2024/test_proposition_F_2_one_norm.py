"""Proposition F.2 (wang2024, Appendix F.2): B_p = B_infinity, with equal norms, for all p >= 1.

Proof, for every probability measure rho that represents f. Let s = |a| t with t = |b|_1 + |c|, and
S = E_rho s. For finitely many neurons this is `rebalanced` in repro/numerics/barron.py.
1. Let 0 < S < infinity. The density s/S makes rho a probability measure. Move each of its points,
   where s > 0, to (S sign a, b/t, c/t), and call the result rho'. All of its sizes are S.
2. rho' represents f: E_rho'[a relu(b.x + c)] = E_rho[(s/S) S sign(a) relu((b.x + c)/t)], and since
   relu is homogeneous this is E_rho[|a| sign(a) relu(b.x + c)] = f(x).
3. So |f|_(B_infinity) <= S for every rho with finite S (for S = 0, f = 0), and thus
   |f|_(B_infinity) <= |f|_(B_1). By Jensen's inequality B_1 <= B_p <= B_infinity for every measure.

Checked: in rationals, for random measures on finitely many neurons: each
rebalanced neuron times its probability is the old product, so f is the same everywhere; f agrees at
a point; every moment E s^p is S^p. For an example, the four norms before and after.
Controls: a measure left as it is; rebalancing with relu^2 in place of relu.

Not checked by computation: measures with infinitely many neurons, which the proof covers.
"""

import math

import pytest
from hypothesis import strategies as st

from repro.bounds import exactly, rounding_error
from repro.numerics import barron, exact

weights = st.integers(-20, 20).map(lambda k: exact.rational(k) / 4)


@st.composite
def measures(draw):
    """(measure, point): one to five neurons in R^1 to R^3; weights may be 0, neurons may agree."""
    d = draw(st.integers(1, 3))
    vectors = st.lists(weights, min_size=d, max_size=d)
    neurons = draw(st.lists(st.tuples(weights, vectors, weights), min_size=1, max_size=5))
    shares = [draw(st.integers(0, 9)) for _ in neurons]
    shares[0] += 1
    total = sum(shares)
    atoms = [(exact.rational(k) / total, *n) for k, n in zip(shares, neurons, strict=True)]
    return barron.Measure.of(atoms), draw(vectors)


def examples(claim):
    return claim.at_scale(smoke=60, laptop=300, paper=10_000)


def products(rho):
    """p a (b, c) of each neuron that is not 0; with its ray, all that matters to f."""
    kept = rho.probabilities * rho.sizes() > 0
    p, a, b, c = (part[kept] for part in (rho.probabilities, rho.a, rho.b, rho.c))
    return [[q * w * v for v in (*row, e)] for q, w, row, e in zip(p, a, b, c, strict=True)]


def rays(rho):
    """(b, c) of each neuron that is not 0, scaled to |b|_1 + |c| = 1."""
    kept = rho.probabilities * rho.sizes() > 0
    rows = [(*b, c) for b, c in zip(rho.b[kept], rho.c[kept], strict=True)]
    return [[v / sum(map(abs, row)) for v in row] for row in rows]


@pytest.mark.exact
def test_rebalancing_does_not_change_the_function(claim):
    def changed(case):
        rho, x = case
        new = rho.rebalanced()
        if rho.moment(1) == 0:
            return rho(x) - new(x)
        moved = products(rho) != products(new) or rays(rho) != rays(new)
        moved |= len(new.a) != len(rays(rho))  # a neuron of weight 0 is none
        return int(moved) + abs(rho(x) - new(x))

    what = "neurons that moved, and f(x) after − before"
    claim.for_all(what, measures(), changed, equation="F.2", examples=examples(claim))


@pytest.mark.exact
def test_after_rebalancing_all_norms_are_the_first(claim):
    def wrong(case):
        rho, _ = case
        new, S = rho.rebalanced(), rho.moment(1)
        unequal = sum(new.moment(p) != S**p for p in range(1, 7)) + (new.largest() != S)
        return unequal + (sum(new.probabilities) != 1)

    what = "norms of the new measure that are not B_1 of the old"
    claim.for_all(what, measures(), wrong, equation="B_p = S", examples=examples(claim))


def example():
    atoms = [("3/10", 1, [1, 1], 0), ("1/2", -2, ["1/2", 0], "1/4"), ("1/5", 3, [0, -2], 1)]
    return barron.Measure.of(atoms)


@pytest.mark.exact
def test_norms_before_and_after_of_an_example(claim):
    """Sizes 2, 3/2, 9 with probabilities 3/10, 1/2, 1/5: S = 63/20."""
    rho = example()
    new = rho.rebalanced()
    for p in (1, 2, 4, math.inf):
        label = "∞" if p == math.inf else p
        claim.record("B_p before", rho.norm(p), p=label)
        claim.record("B_p after", new.norm(p), p=label)
    stated = exact.rationals([2, "3/2", 9]).tolist()
    claim.measured("sizes", rho.sizes().tolist(), equation="|a|(|b|₁ + |c|)").equals(stated)
    S = exact.rational("63/20")
    claim.measured("B_1 before", rho.moment(1), equation="|a|(|b|₁ + |c|)").equals(S)
    claim.measured("B_∞ after", new.largest(), equation="B_∞ = B_1").equals(S)
    shares = exact.rationals(["4/21", "5/21", "12/21"]).tolist()
    found = new.probabilities.tolist()
    claim.measured("probabilities after", found, equation="p s / S").equals(shares)
    # E s² = 3/10 · 4 + 1/2 · 9/4 + 1/5 · 81 = 18.525, and 4.30406784² = 18.525
    second = claim.measured("B_2 before", rho.norm(2), equation="B_2")
    second.within(4.30406784, rounding_error(5e-9, "worked out to nine digits"))
    # relu(2), relu(3/4) and relu(−1) at (1, 1): 3/10 · 2 − 1/2 · 2 · 3/4
    both = [rho([1, 1]), new([1, 1])]
    claim.measured("f(1, 1)", both, equation="f").equals([exact.rational("-3/20")] * 2)


@pytest.mark.exact
def test_a_weight_below_zero_is_no_probability(claim):
    for shares in (("3/2", "-1/2"), ("1/2", "1/3")):
        try:
            barron.Measure.of([(p, 1, [1], 0) for p in shares])
        except ValueError:
            refused = True
        else:
            refused = False
        claim.measured("refused", refused, equation="F.2", shares=str(shares)).equals(True)


def test_control_without_rebalancing_the_norms_differ(claim):
    """The measure as it is: B_inf = 9 and B_1 = 63/20, a factor of more than 2."""
    ratio, least = example().largest() / example().moment(1), exact.rational(2)
    limit = exactly(least, "9 / (63/20) = 20/7")
    claim.measured("B_∞ / B_1", ratio, equation="B_∞ = B_1").at_least(limit)


def test_control_an_activation_that_is_not_homogeneous(claim):
    """relu^2 in place of relu: t^2 relu^2 is not t relu^2, and rebalancing changes the function."""

    def squares(rho, x):
        z = rho.b @ exact.rationals(x) + rho.c
        return rho.probabilities @ (rho.a * [max(v, 0) ** 2 for v in z])

    rho, x = example(), [1, -1]
    change = abs(squares(rho, x) - squares(rho.rebalanced(), x))
    least = exactly(3, "387/80 becomes 21/20")
    claim.measured("change of f(1, −1)", change, equation="F.2").at_least(least)
