"""Proposition 6.1 (jiang2024, 6.1; proof in D.2): a reordered target leaves the reach of RNNs.

If H is a convolution (75) with finite C_RNN, p a permutation of the times with some p(t') > t', and
H~_t(x o p) = H_t(x), then H~ is not in the RNN's space.

Proof, for every rho != 0 and p != id (repro/jiang2024/ordering.py). If s_0 is the first s with
rho(s) != 0, column j of H~ begins at p(j) + s_0; in a convolution it begins at j + const; so
p(j) - j is constant, hence 0. (p != id has a t' with p(t') > t' anyway.)
Edge case: for rho = 0, H~ = H = 0. A gap in the printed proof: that H~ is no longer causal needs
rho(0) != 0.

Checked, exactly: for all permutations of up to 5 or 6 times and kernels with every s_0, which H~
are convolutions on that horizon (those of the s_0! permutations that move the last s_0 times alone)
and how many are causal: (s_0 + 1)^(tau - s_0) s_0!. On N random permutations give no convolution.
The exact distance from all convolutions, for all permutations of 5 times and rho = 2^-s.

Reading: times 0, 1, 2, ... without end, as in D.1. On a horizon it is false for some rho != 0.
"""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from repro.bounds import exactly, theorem
from repro.jiang2024 import memory, ordering
from repro.numerics import exact

DISTANCE = "least mean square error of a convolution"


def kernels(tau, first):
    """Three kernels of `tau` values that begin at s_0 = first: a spike, a constant, a wild one."""
    zeros, rest = [0] * first, tau - first
    wild = [(-3) ** s + s * s for s in range(rest)]  # 1, -2, 13, -18, ...
    return [zeros + [1] + [0] * (rest - 1), zeros + [1] * rest, zeros + wild]


def cases(claim):
    """tau, s_0, and p with its target for all permutations p, for every kernel."""
    for tau in claim.at_scale(smoke=range(1, 6), laptop=range(1, 7), paper=range(1, 8)):
        for first, rho in ((s, rho) for s in range(tau) for rho in kernels(tau, s)):
            permutations = itertools.permutations(range(tau))
            yield tau, first, ((p, ordering.permuted(rho, p)) for p in permutations)


@pytest.mark.exact
def test_on_a_horizon_only_the_last_inputs_may_be_reordered(claim):
    """H~ is a convolution if and only if p(j) = j for all j < tau - s_0."""
    wrong = 0
    for tau, first, targets in cases(claim):
        for p, M in targets:
            stays = all(p[j] == j for j in range(tau - first))
            wrong += ordering.is_convolution(M) != stays
    claim.measured("permutations that break this rule", wrong, equation="(75)").equals(0)


@pytest.mark.exact
def test_causality_alone_leaves_many_permutations(claim):
    """There are (s_0 + 1)^(tau - s_0) s_0! of them, whatever the kernel is."""
    wrong = 0
    for tau, first, targets in cases(claim):
        causal = sum(ordering.is_causal(M) for _, M in targets)
        wrong += causal != (first + 1) ** (tau - first) * math.factorial(first)
    claim.measured("kernels with another number of causal H̃", wrong, equation="(84)-(85)").equals(0)


@pytest.mark.exact
def test_on_N_no_permutation_is_compatible_with_a_kernel_that_is_not_zero(claim):
    """p moves some of the first k times; the horizon k + s_0 + 1 shows what it did."""
    values = st.lists(st.integers(-3, 3), min_size=1, max_size=5).filter(any)
    moves = st.integers(2, 6).flatmap(lambda k: st.permutations(range(k)))
    cases = st.tuples(values, moves.filter(lambda p: p != sorted(p)))

    def compatible(case):
        values, p = case
        horizon = len(p) + len(values) + 1
        rho = values + [0] * (horizon - len(values))
        M = ordering.permuted(rho, [*p, *range(len(p), horizon)])
        upward = any(p[t] > t for t in range(len(p)))
        return int(ordering.is_convolution(M)) + int(not upward)

    search = {"examples": claim.at_scale(smoke=60, laptop=300, paper=20000)}
    name = "convolutions, or p ≠ id without p(t′) > t′"
    claim.for_all(name, cases, compatible, equation="Proposition 6.1", **search)


def halves(tau):
    return [exact.rational("1/2") ** s for s in range(tau)]


@pytest.mark.best_in_class
def test_every_permutation_of_five_times_has_its_distance(claim):
    """The least is 71/3200, for the first input put last: y(j) = x(j+1) asks for a delay more, but
    x(0) is still to come: 85/64 from the future, 1 + 1/4 + 1/16 + 1/64, and 1/320 from the diagonal
    (0, 0, 0, 0, 1/16), over 12 tau = 60."""
    rho, found = halves(5), {}
    for p in itertools.permutations(range(5)):
        found[p] = ordering.floor(ordering.permuted(rho, p), "free")
    unmoved = found.pop(tuple(range(5)))
    claim.measured("distance for the identity", unmoved, equation="(75)").equals(0)
    least = min(found, key=lambda p: found[p])
    claim.record("permutations", len(found))
    claim.record("largest", max(found.values()))
    claim.measured(DISTANCE, found[least], equation="Proposition 6.1").equals(Fraction(71, 3200))
    claim.measured("the nearest permutation", least, equation="Proposition 6.1").equals(
        (1, 2, 3, 4, 0)
    )


@pytest.mark.exact
def test_the_distances_by_hand(claim):
    """M = (0 1; 1 0), T = (a 0; b a). With free offsets |M - T|^2 = 2 a^2 + 1 + (1 - b)^2 is 1 at
    least, over 12 tau = 24. Without offsets 3 (1 - a)^2 + 3 (1 - a - b)^2 is added, which leaves
    56/23 at a = 12/23, b = 14/23; one offset c/2, in 3 (1 - a - c)^2 + 3 (1 - a - b - c)^2, leaves
    8/5 at a = 0, b = 2/5, c = 4/5. A causal model misses the entries above the diagonal."""
    M = exact.rationals([[0, 1], [1, 0]])
    by_hand = {"free": Fraction(1, 24), "constant": Fraction(1, 15), "none": Fraction(7, 69)}
    for offset, least in by_hand.items():
        found = claim.measured(DISTANCE, ordering.floor(M, offset), equation="(75)", offset=offset)
        found.equals(least)
    wide = exact.rationals([[1, 2, 3], [0, 1, 5], [0, 0, 1]])  # 4 + 9 + 25 over 12 tau = 36
    least = ordering.causal_floor(wide)
    claim.measured("least mean square error of a causal model", least, equation="(75)").equals(
        Fraction(19, 18)
    )


def distance_from_convolutions(rho, p):
    """Summed squares that no convolution can avoid for H~_t(y) = sum_j M_tj y(j), and 0."""
    from fractions import Fraction

    times, get = range(len(p)), dict(enumerate(rho)).get
    M = [[get(t - p[j], 0) for j in times] for t in times]
    future = sum(M[t][j] ** 2 for t in times for j in times if j > t)
    lags = [[M[t][t - s] for t in times if t >= s] for s in times]
    return future + sum((m - Fraction(sum(lag), len(lag))) ** 2 for lag in lags for m in lag), 0


def future_inputs(rho, p):
    """How many entries of M, in H~_t(y) = sum_j M_tj y(j), lie in the future; and 1."""
    times, get = range(len(p)), dict(enumerate(rho)).get
    return sum(get(t - p[j], 0) != 0 for t in times for j in times if j > t), 1


def least_error(rho, p):
    return ordering.floor(ordering.permuted(exact.rationals(rho), p), "none")


def test_printed_a_kernel_that_is_zero(claim):
    """rho = 0 has C_1 = 1, C_2 = 0 and lies in the space; so does H~ = 0, whatever p."""
    rho, p = [0, 0], [1, 0]
    zero = memory.C_RNN(memory.Kernel(rho))
    claim.measured("C_RNN of the zero kernel", zero, equation="(78)").equals(0)
    claim.counterexample(
        "the reordered target is not in the space of the RNN",
        input={"rho": rho, "p": "exchanges times 0 and 1"},
        measured=least_error(rho, p), expected=0, relation=">", equation="Proposition 6.1",
        program=distance_from_convolutions, rho=rho, p=p,
    )  # fmt: skip


def test_printed_the_reordered_target_can_be_causal(claim):
    """rho = delta_1, times 0 and 1 exchanged: H~_1 = y(1), H~_2 = y(0), H~_t = y(t-1) later."""
    rho, p = [0, 1, 0, 0, 0], [1, 0, 2, 3, 4]
    M = ordering.permuted(rho, p)
    claim.counterexample(
        "the reordered target is no longer causal: it depends on a future input",
        input={"rho": "delta_1", "p": "exchanges times 0 and 1"},
        measured=sum(M[t, j] != 0 for t in range(5) for j in range(t + 1, 5)),
        expected=1, relation=">=", equation="(84)-(85)",
        program=future_inputs, rho=rho, p=p,
    )  # fmt: skip
    still = ordering.is_convolution(M)
    claim.measured("it is a convolution", still, equation="Proposition 6.1").equals(False)


def test_reading_on_a_horizon_a_reordering_may_not_be_seen(claim):
    """Three times, rho = delta_2, the last two exchanged: H_t sees x(0) alone, and H~ = H."""
    rho, p = [0, 0, 1], [0, 2, 1]
    claim.counterexample(
        "on a finite horizon the reordered target is not in the space of the RNN",
        input={"tau": 3, "rho": rho, "p": "exchanges the second and the third time"},
        measured=least_error(rho, p), expected=0, relation=">", equation="Proposition 6.1",
        printed=False, program=distance_from_convolutions, rho=rho, p=p,
    )  # fmt: skip


def test_control_the_identity_leaves_the_target_where_it_is(claim):
    """p = id for p != id: the distance 71/3200 is missing."""
    least = exact.rational("71/3200")
    distance = ordering.floor(ordering.permuted(halves(5), range(5)), "none")
    claim.measured("distance missing", least - distance, equation="Proposition 6.1").at_least(
        theorem(least, "71/3200, the least distance for p ≠ id")
    )


def test_control_without_time_invariance_some_reorderings_can_be_followed(claim):
    """rho = delta_1, times 0 and 1 exchanged: a causal model has no error, a convolution has."""
    M = ordering.permuted(exact.rationals([0, 1, 0, 0]), [1, 0, 2, 3])
    causal, invariant = ordering.causal_floor(M), ordering.floor(M, "free")
    claim.measured("least mean square error of a causal model", causal, equation="(75)").equals(0)
    # Diagonal (0, 1, 0, 0): 3/4. Next (0, 0, 1): 2/3. Next (1, 0): 1/2. Over 12 tau = 48.
    expected = exact.rational("23/576")
    claim.measured(DISTANCE, invariant - causal, equation="Proposition 6.1").at_least(
        exactly(expected, "(3/4 + 2/3 + 1/2)/48")
    )
