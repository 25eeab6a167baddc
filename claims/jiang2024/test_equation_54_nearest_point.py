"""Equations (54)-(56) (jiang2024, Appendix B.1, task one): the nearest point of a set.

Tokens x(t) = (u_t, v_t); y(t) is the point of V nearest to u(t), and
    y(t) = sum_s sigma_H[-|u(t) - v(.)|](s) v(s),
of form (8) with the hard maximum sigma_H in the place of the softmax.

The hard maximum puts all weight on the largest of its arguments, here on the least distance: this
is (54). The target jumps, so it is only a limit of targets of form (8): with softmax weights of
-beta |u - v| and a gap g between the least and the next distance the error is at most
(tau - 1) e^(-beta g) diam V. Proof. A point that is not nearest has at most e^(-beta g) times the
weight of a nearest one, hence at most e^(-beta g); there are at most tau - 1 of them; and each
moves the average by at most its weight times diam V. Several nearest points share the rest equally,
as in y.                                                                                        QED

Misprint: the text has "rho(u, v) = |u - v|", without the sign of (55); it picks the farthest point.

Checked, in rationals: the hard maximum against the nearest point; F o f is the projection
(u, v) -> v, which the text calls the identity; the bound. The rate is not uniform: at
beta g = log 2 a third of the diameter is left.

Reading: at a tie sigma_H shares its weight equally.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import model, tasks
from repro.numerics import exact, logarithms

small = st.integers(-6, 6)
planar = st.lists(st.tuples(small, small, small, small), min_size=1, max_size=5)
linear = st.lists(st.tuples(small, small), min_size=2, max_size=5)


def nearest(u, V):
    """(54) by definition; several nearest points share equally."""
    distances = [sum((a - b) ** 2 for a, b in zip(u, v, strict=True)) for v in V]
    best = [v for v, d in zip(V, distances, strict=True) if d == min(distances)]
    return [Fraction(sum(column), len(best)) for column in zip(*best, strict=True)]


def hard(d, x):
    """y(t) by the attention of repro/jiang2024/tasks.py."""
    task = tasks.Nearest(d=d, tau=len(x))
    tokens = exact.rationals(x)
    return task.weights(tokens) @ tokens[:, d:]


@pytest.mark.exact
def test_the_hard_maximum_of_the_negative_distance_is_the_nearest_point(claim):
    def wrong(x):
        V = [token[2:] for token in x]
        stated = [nearest(token[:2], V) for token in x]
        return int((hard(2, x) != exact.rationals(stated)).sum())

    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    claim.for_all("wrong coordinates", planar, wrong, equation="(55)", examples=examples)


@pytest.mark.exact
def test_the_readout_is_the_projection_to_v(claim):
    """A constant sequence gives F o f; here (u, v) gives v, whatever u is: the identity on V."""

    def wrong(token):
        u, v = token
        return hard(1, [[u, v]] * 3)[0, 0] - v

    examples = claim.at_scale(smoke=15, laptop=120, paper=2000)
    pairs = st.tuples(small, small)
    claim.for_all("output less v", pairs, wrong, equation="text below (56)", examples=examples)


def softmax_error(x, k):
    """Largest |y_beta - y| for e^beta = 2^k, and the bound (tau - 1) 2^(-k g) D, d = 1."""
    task = tasks.Nearest(d=1, tau=len(x))
    tokens = exact.rationals(x)
    off = abs(task.target(logarithms.Log(2**k))(tokens) - hard(1, x))[:, 0]
    V = [v for _, v in x]
    bounds = []
    for u, _ in x:
        first, *others = sorted({abs(u - v) for v in V})
        gap = others[0] - first if others else 0
        bounds.append((len(x) - 1) * (max(V) - min(V)) * Fraction(1, 2 ** (k * gap)))
    return off, bounds


@pytest.mark.exact
def test_the_softmax_converges_as_stated(claim):
    """Integers, no two v at one distance of a u."""

    def excess(case):
        x, k = case
        V = [v for _, v in x]
        if any(len({abs(u - v) for v in V}) < len(V) for u, _ in x):
            return 0
        off, bounds = softmax_error(x, k)
        return sum(o > exact.rational(b) for o, b in zip(off, bounds, strict=True))

    cases = st.tuples(linear, st.integers(1, 8))
    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    name = "outputs with an error above (τ − 1) D e^(−βg)"
    claim.for_all(name, cases, excess, equation="(55)", examples=examples)


@pytest.mark.exact
def test_near_is_meant_in_the_euclidean_norm(claim):
    """u = 0, v = (5, 0), (4, 4), (6, 1): |v|^2 = 25, 32, 37. In the norm of the largest coordinate,
    or of fourth powers, (4, 4) would be nearest, in that of the sum (5, 0) again."""
    V = [[5, 0], [4, 4], [6, 1]]
    y = list(hard(2, [[0, 0, *v] for v in V])[0])
    claim.measured("nearest point", y, equation="(54)").equals([5, 0])


@pytest.mark.exact
def test_the_target_jumps(claim):
    """v = (0, 1), u = 1/2 -+ 1e-9: y is 0, then 1. A continuous map errs by 1/2 somewhere there."""
    step = Fraction(1, 10**9)
    left, right = (hard(1, [[Fraction(1, 2) + side * step, 0], [0, 1]])[0, 0] for side in (-1, 1))
    claim.measured("y(1) on both sides of 1/2", [left, right], equation="(54)").equals([0, 1])


@pytest.mark.construct
def test_errors_against_the_sharpness(claim):
    """u = 0, v = 1, the next on the other side at -1 - g, four at -3, in float64; D = 4."""
    import torch

    task, betas = tasks.Nearest(d=1, tau=6), np.geomspace(0.5, 4096, 27)
    for gap in (1.0, 0.1, 0.01):
        v = torch.tensor([1, -1 - gap, -3, -3, -3, -3], dtype=torch.float64)
        x = torch.stack([torch.zeros(6, dtype=torch.float64), v], dim=-1).to(claim.device)
        off = [abs(float(task.target(float(b))(x)[0, 0]) - 1) for b in betas]
        bound = [5 * 4 * np.exp(-b * gap) for b in betas]
        worst = max(e / (b + 1e-15) for e, b in zip(off, bound, strict=True))
        claim.measured("largest error over its bound", worst, equation="(55)", gap=gap).at_most(
            theorem(1, "(τ − 1) D e^(−βg); 1e-15 for round-off")
        )


def farthest_and_nearest(u, V):
    return max(V, key=lambda v: abs(u - v)), min(V, key=lambda v: abs(u - v))


def test_printed_the_coupling_without_its_sign_is_the_farthest_point(claim):
    """u = 0, v = (1, 2): (54) asks for 1; the hard maximum of |u - v| gives 2."""
    x = exact.rationals([[0, 1], [0, 2]])
    task = tasks.Nearest(d=1, tau=2)
    weights = model.hard_max(task.distances(x, x))
    claim.counterexample(
        "(55) is of form (8) with ρ(u, v) = |u − v|",
        input={"t": 1},
        measured=(weights @ x[:, 1:])[0, 0], expected=1, equation="text below (56)",
        program=farthest_and_nearest, u=0, V=[1, 2],
    )  # fmt: skip
    signed = hard(1, [[0, 1], [0, 2]])[0, 0]
    claim.measured("output with the sign of (55)", signed, equation="(55)").equals(1)


def test_control_without_a_gap_a_third_is_left(claim):
    """beta g = log 2, two points at distance D: the error is 1/3 D for every beta."""
    for k in (1, 5, 40):  # beta = k log 2, and the second point is farther by 1/k
        x = [[0, k], [0, -k - 1]]  # all lengths times k, so that distances are integers
        off, _ = softmax_error(x, 1)
        least = exact.rational(Fraction(2 * k + 1, 3 * k))
        claim.measured("error", off[0] / k, equation="(55)", beta=f"{k} log 2").at_least(
            theorem(least, "the weights are 2/3 and 1/3")
        )


def test_control_the_other_sign_over_random_points(claim):
    """No two coordinates are the same, so that the farthest point is not the nearest."""
    rng, wrong, task = claim.rng("points"), 0, tasks.Nearest(d=1, tau=4)
    for _ in range(20):
        x = (rng.choice(101, (4, 2), replace=False) - 50).tolist()
        tokens = exact.rationals(x)
        other = model.hard_max(task.distances(tokens, tokens)) @ tokens[:, 1:]
        wrong += bool((other != hard(1, x)).any())
    claim.measured("sets out of 20 with another output", wrong, equation="(55)").at_least(
        theorem(20, "three of four points have two distances from a point u at least")
    )
