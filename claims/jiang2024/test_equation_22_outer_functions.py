"""Equation (22) (jiang2024, A.2): which functions come before the target.

Printed: there are inner functions psi_qs and outer functions g_q "such that any continuous f" on
the product is sum_q g_q(sum_s psi_qs(x_s)). The right side is then one function, and there are two.
Repaired, as Ostrand has it: inner functions first, then f, then outer functions that depend on it.

Checked: the counterexample; and the repaired order on the 49 pairs of numbers k/6, where Sprecher's
inner sums are all different: for every random f one outer function has its values, and none has
those of two f.

Not checked: Theorem A.1 itself, for all points at once: its own claim.
"""

import functools
import itertools
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from repro.bounds import exactly
from repro.numerics import superposition

PAIRS = list(itertools.product(range(7), repeat=2))
values = st.lists(
    st.fractions(min_value=-3, max_value=3, max_denominator=9),
    min_size=len(PAIRS),
    max_size=len(PAIRS),
)


@functools.cache
def inner_sums(lam=superposition.LAMBDA):
    """psi(x_1) + lam psi(x_2) at all pairs."""
    psi = superposition.psi
    return [psi(1, a) + lam * psi(1, b) for a, b in PAIRS]


def left(f, g):
    """How many values of f the outer function g misses."""
    return sum(g[y] != value for y, value in zip(inner_sums(), f, strict=True))


def outer(f):
    """g_0 for this f."""
    return dict(zip(inner_sums(), f, strict=True))


@pytest.mark.exact
def test_repaired_every_target_has_its_own_outer_function(claim):
    different = len(set(inner_sums()))
    claim.measured("different inner sums", different, equation="(22)").equals(49)
    name, examples = "values missed, of 49", claim.at_scale(smoke=10, laptop=30, paper=300)
    claim.for_all(name, values, lambda f: left(f, outer(f)), equation="(22)", examples=examples)


def values_of_two_targets(f_1, f_2):
    """Two constant functions at x = 0: the right side of (22) would have to equal both."""
    return f_2, f_1


def test_printed_one_set_of_outer_functions_for_all_targets(claim):
    """ "There are psi_qs and g_q such that any f ...": the right side of (22) is one function."""
    claim.counterexample(
        "the same g_q represent every f",
        input={"x": [0, 0]},
        measured=Fraction(1), expected=Fraction(0), equation="(22)", program=values_of_two_targets,
        f_1=0, f_2=1,
    )  # fmt: skip


def test_control_the_outer_function_of_another_target_misses(claim):
    """f_1 = x_1 and f_2 = x_2, in sixths: they agree at seven pairs only."""
    first, second = ([Fraction(pair[k], 6) for pair in PAIRS] for k in (0, 1))
    missed = left(second, outer(first))
    claim.measured("values of f_2 missed by the g of f_1", missed, equation="(22)").at_least(
        exactly(42, "49 pairs, 7 of them on the diagonal")
    )


def test_control_with_equal_weights_no_outer_function_serves(claim):
    """lam = 1: (a, b) and (b, a) have one sum, so that f = x_1 has two values there."""
    repeated = 49 - len(set(inner_sums(Fraction(1))))
    claim.measured("repeated inner sums", repeated, equation="(22)", lam=1).at_least(
        exactly(21, "21 pairs below the diagonal")
    )
