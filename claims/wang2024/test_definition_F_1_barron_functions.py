"""Definition F.1 (wang2024, Appendix F.2): Barron functions and their norms.

f(x) = E_rho[a relu(b.x + c)] for a probability measure rho, and |f|_(B_p) is the infimum of
(E_rho[|a|^p (|b|_1 + |c|)^p])^(1/p) over all rho that represent f.

Checked: in rationals, for measures on finitely many neurons (repro/numerics/barron.py). For one
measure the p-means grow with p; the infimum is needed, one function has many; it is 1 for relu(x)
and |b|_1 for relu(b.x), by a lower bound that holds for every rho: f changes by at most
B_1 |x - y|_inf, and on |x|_inf <= 1 it is at most B_1. B_1 of a sum is at most the sum.
Control: the square root, whose slopes no B_1 bounds.

Not checked: measures with infinitely many neurons.

Readings: for p = infinity the mean is the essential supremum. The domain X is left open, and the
norm depends on it: |x| has norm 1 on [0, 1] and 2 on [-1, 1].
"""

import numpy as np
import pytest

from repro.bounds import theorem
from repro.numerics import barron, exact


def measure(*atoms):
    return barron.Measure.of(atoms)


def drawn(rng, d, atoms=5):
    """Neurons with small rational weights and probabilities."""
    shares = rng.integers(1, 10, atoms).tolist()
    p = [exact.rational(share) / sum(shares) for share in shares]
    a, c = (rng.integers(-6, 7, atoms).tolist() for _ in range(2))
    return measure(*zip(p, a, rng.integers(-6, 7, (atoms, d)).tolist(), c, strict=True))


@pytest.mark.exact
def test_two_measures_by_hand(claim):
    """2 relu(x - y) and -3 relu(y + 1/2), 1/2 each: sizes 2 (1 + 1) = 4 and 3 (1 + 1/2) = 9/2, and
    at (3, 1) the function is 2 - 9/4. Sizes 1, 2, 0 with 1/2, 1/4, 1/4: an atom of probability 0
    and size 7 does not count; relu(x)/2 - relu(-x)/2 at 2 and -2 is 1 and -1.
    """
    rho = measure(("1/2", 2, [1, -1], 0), ("1/2", -3, [0, 1], "1/2"))
    idle = measure(("1/2", 1, [1], 0), ("1/4", -2, [-1], 0), ("1/4", 0, [3], 1), (0, 7, [1], 0))
    for one, x, stated in (
        (rho, [3, 1], ("-1/4", "17/4", "145/8", "9/2")),
        (idle, [2], (1, 1, "3/2", 2)),
        (idle, [-2], (-1, 1, "3/2", 2)),
    ):
        found = [one(x), one.moment(1), one.moment(2), one.largest()]
        number = claim.measured("f(x), B_1, B_2², B_∞", found, equation="Definition F.1", x=x)
        number.equals(exact.rationals(stated).tolist())
    for p in (("1/2", "1/3"), ("3/2", "-1/2")):
        with pytest.raises(ValueError, match="needs probabilities that sum to 1"):
            measure((p[0], 1, [1], 0), (p[1], 1, [1], 0))


@pytest.mark.exact
def test_the_means_grow_with_p(claim):
    rng, wrong = claim.rng("measures"), 0
    for _ in range(claim.at_scale(smoke=20, laptop=200, paper=5000)):
        rho = drawn(rng, 2)
        for p in range(1, 7):  # B_p <= B_(p+1), both to the power p(p+1); then B_p <= B_inf
            wrong += rho.moment(p) ** (p + 1) > rho.moment(p + 1) ** p
            wrong += rho.moment(p) > rho.largest() ** p
    claim.measured("pairs p < p′ with B_p > B_p′", wrong, equation="B_p ≤ B_p′").equals(0)


@pytest.mark.exact
def test_no_measure_has_less_than_the_slopes_of_f(claim):
    """|f(x) - f(y)| <= B_1 |x - y|_inf, and |f(x)| <= B_1 max(1, |x|_inf)."""
    rng, wrong = claim.rng("slopes"), 0
    for _ in range(claim.at_scale(smoke=50, laptop=500, paper=10_000)):
        rho = drawn(rng, 3, atoms=2)
        x, y = exact.rationals(rng.integers(-4, 5, (2, 3)).tolist()) / 2
        bound = rho.moment(1)
        wrong += abs(rho(x) - rho(y)) > bound * max(abs(x - y))
        wrong += abs(rho(x)) > bound * max(1, *abs(x))
    claim.measured("violations", wrong, equation="Lip f ≤ B_1").equals(0)


@pytest.mark.exact
def test_one_function_has_many_measures_and_the_infimum_is_attained(claim):
    """relu(x) on [0, 1]: alone, split in two scales, and with a part that cancels."""
    half = "1/2"
    measures = {
        "alone": measure((1, 1, [1], 0)),
        "another scale": measure((half, half, [2], 0), (half, 3, ["1/3"], 0)),
        "one heavy neuron": measure(("1/10", 10, [1], 0), ("9/10", 0, [1], 0)),
        "with cancellation": measure((half, 3, [1], 0), (half, -1, [1], 0)),
    }
    norms = {"alone": 1, "another scale": 1, "one heavy neuron": 1, "with cancellation": 2}
    largest = {"alone": 1, "another scale": 1, "one heavy neuron": 10, "with cancellation": 3}
    points = exact.rationals([[-1], [0], ["1/3"], [1]])
    for name, rho in measures.items():
        values = [rho(x) for x in points]
        found = claim.measured("values at −1, 0, 1/3, 1", values, equation="relu(x)", measure=name)
        found.equals([max(x[0], 0) for x in points])
        first = claim.measured("B_1", rho.moment(1), equation="E|a|(|b|₁ + |c|)", measure=name)
        first.equals(norms[name])
        last = claim.measured("B_∞", rho.largest(), equation="sup |a|(|b|₁ + |c|)", measure=name)
        last.equals(largest[name])
    lower = measures["alone"]([1]) - measures["alone"]([0])
    least = min(rho.moment(1) for rho in measures.values())
    found = claim.measured("f(1) − f(0), which no B_1 is below", lower, equation="|relu(x)|_B = 1")
    found.equals(least)


@pytest.mark.exact
def test_the_norm_of_one_neuron(claim):
    """relu(b.x) has norm |b|_1: at x = sign(b) it is |b|_1, at 0 it is 0."""
    rng = claim.rng("neurons")
    for d in (1, 2, 5):
        b = rng.integers(-9, 10, d).tolist()
        rho = measure((1, 1, b, 0))
        lower = rho(np.sign(b).tolist()) - rho([0] * d)
        rise = claim.measured("f(sign b) − f(0)", lower, equation="B_1 = |b|₁", d=d)
        rise.equals(rho.moment(1))


@pytest.mark.exact
def test_a_sum_has_at_most_the_sum_of_the_norms(claim):
    """Half of the neurons of each, with 2a for a: B_1 adds up exactly, and so do the functions."""
    rng, wrong = claim.rng("sums"), 0
    for _ in range(claim.at_scale(smoke=20, laptop=200, paper=2000)):
        f, g = drawn(rng, 2), drawn(rng, 2)
        both = barron.Measure(
            np.concatenate([f.probabilities, g.probabilities]) / 2,
            2 * np.concatenate([f.a, g.a]),
            np.concatenate([f.b, g.b]),
            np.concatenate([f.c, g.c]),
        )
        x = exact.rationals(rng.integers(-9, 10, 2).tolist()) / 4
        wrong += both(x) != f(x) + g(x)
        wrong += both.moment(1) != f.moment(1) + g.moment(1)
    claim.measured(
        "sums that do not add up", wrong, equation="B_1(f + g) ≤ B_1(f) + B_1(g)"
    ).equals(0)


@pytest.mark.exact
def test_the_norm_depends_on_the_domain(claim):
    """f(1) + f(-1) - 2 f(0) = 2 for |x|. For a neuron the same is at most |a| |b|: relu(c + b) +
    relu(c - b) - 2 relu(c) is relu(|b| - |c|). So no measure on [-1, 1] has B_1 < 2; on [0, 1],
    |x| = relu(x).
    """
    both = measure(("1/2", 2, [1], 0), ("1/2", 2, [-1], 0))
    second = both([1]) + both([-1]) - 2 * both([0])
    claim.measured("f(1) + f(−1) − 2f(0)", second, equation="||x||_B = 2").equals(both.moment(1))
    alone = measure((1, 1, [1], 0))
    same = [both(x) == alone(x) for x in ([0], ["1/3"], [1])]
    stated = [True] * 3
    claim.measured("equal at 0, 1/3, 1", same, equation="|x| = relu(x) on [0, 1]").equals(stated)
    norms = [both.moment(1), alone.moment(1)]
    claim.measured("norm of |x| on [−1, 1] and on [0, 1]", norms, equation="x ∈ X").equals([2, 1])


@pytest.mark.parametrize("Q", [1, 10, 1000], ids="Q={}".format)
def test_control_the_square_root_has_no_norm(Q, claim):
    """Continuous, but between 0 and h = 1/(4 Q^2) its slope is 2Q: no measure with B_1 <= Q.

    Here that of neurons which bend at h, 4h, ..., 1 and have the root's values there.
    """
    values = exact.rationals(range(2 * Q + 1)) / (2 * Q)
    places = values**2
    slopes = np.diff(values) / np.diff(places)
    bends, each = np.diff(slopes, prepend=0), exact.rational(1) / len(slopes)
    rho = measure(*((each, a / each, [1], -x) for a, x in zip(bends, places[:-1], strict=True)))
    claim.measured("value at h", rho([places[1]]), equation="√h").equals(values[1])
    least = theorem(2 * Q, "|f(x) − f(y)| ≤ B_1 |x − y|, here by a factor 2")
    claim.measured("B_1", rho.moment(1), equation="Lip f ≤ B_1 ≤ Q").at_least(least)
