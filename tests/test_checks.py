"""Checks: green and red, nan and infinity, what is refused, margins as docs/results.md has them."""

import math
from decimal import Decimal
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch
from demo import recorder

from repro.bounds import (
    KINDS,
    Bound,
    Source,
    as_printed,
    chosen,
    exactly,
    grid_error,
    rounding_error,
    stderr,
    theorem,
)
from repro.data.sets import Registry
from repro.harness import checks
from repro.harness.checks import (
    ClaimFailed,
    at_least,
    at_most,
    equals,
    is_exact,
    within,
)
from repro.harness.claim import Claim
from repro.harness.ledger import Statement
from repro.harness.project import ClaimTest

nan, inf = math.nan, math.inf
q = flint.fmpq
x, y = flint.fmpq_mpoly_ctx.get(("x", "y"), "lex").gens()


def named(*cases):
    """Parameters whose ids show the call: at_most(1.0, 2.0)."""
    return [
        pytest.param(check, values, wanted, id=f"{check.__name__}{values}")
        for check, values, wanted in cases
    ]


# --- green and red -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "values", "ok"),
    named(
        (at_most, (1.0, 2.0), True),
        (at_most, (2.0, 2.0), True),
        (at_most, (np.nextafter(2.0, 3.0), 2.0), False),
        (at_most, (-3, -2), True),
        (at_most, (Fraction(1, 3), Fraction(1, 3)), True),
        (at_most, (q(34, 100), q(1, 3)), False),
        (at_least, (2.0, 1.0), True),
        (at_least, (2.0, 2.0), True),
        (at_least, (np.nextafter(2.0, 1.0), 2.0), False),
        (at_least, (-3, -2), False),
        (at_least, (q(1, 3), q(1, 3)), True),
        (within, (1.5, 2.0, 0.5), True),
        (within, (2.5, 2.0, 0.5), True),
        (within, (1.25, 2.0, 0.5), False),
        (within, (2.75, 2.0, 0.5), False),
        (within, (3, 3, 0), True),
        (within, (q(1, 2), q(1, 3), q(1, 6)), True),
        (within, (q(1, 2), q(1, 3), q(1, 7)), False),
        (equals, (3, 3), True),
        (equals, (3, 4), False),
        (equals, ("word", "word"), True),
        (equals, ("word", "words"), False),
    ),
)
def test_a_check_is_green_or_red_as_the_numbers_say(check, values, ok):
    assert check(*values).ok is ok


@pytest.mark.parametrize(
    ("check", "values", "relation"),
    named(
        (at_most, (1, 2), "<="),
        (at_least, (1, 2), ">="),
        (within, (1, 2, 3), "≈"),
        (equals, (1, 2), "="),
    ),
)
def test_an_outcome_says_what_was_compared_and_how(check, values, relation):
    outcome = check(*values)
    assert (outcome.relation, outcome.measured, outcome.allowed) == (relation, 1, 2)
    assert outcome.tolerance == (3 if check is within else None)


NANS = {"float": nan, "numpy": np.float32("nan"), "torch": torch.tensor(nan)}


@pytest.mark.parametrize("bad", NANS.values(), ids=NANS)
def test_a_nan_is_never_within_anything(bad):
    outcomes = [at_most(bad, 1.0), at_least(bad, -1.0), within(bad, 1.0, 1e308)]
    assert [outcome.ok for outcome in outcomes] == [False] * 3
    assert [outcome.margin for outcome in outcomes] == [None] * 3


@pytest.mark.parametrize(
    ("check", "values", "margin"),
    named(
        (at_most, (inf, 1e308), None),
        (at_most, (-inf, 0.0), None),
        (at_least, (inf, 1e308), None),
        (at_least, (-inf, 0.0), None),
        (within, (inf, 1.0, 1e308), None),
        (within, (-inf, 1.0, 1e308), None),
    ),
)
def test_an_infinite_measurement_is_red_even_on_the_right_side(check, values, margin):
    assert check(*values).ok is False
    assert check(*values).margin is margin


@pytest.mark.parametrize(
    ("check", "values", "word"),
    named(
        (at_most, (1.0, inf), "inf"),
        (at_most, (1.0, nan), "nan"),
        (at_most, (inf, inf), "inf"),
        (at_least, (1.0, -inf), "-inf"),
        (at_least, (1.0, np.float32("nan")), "nan"),
        (within, (1.0, 2.0, inf), "inf"),
        (within, (1.0, 2.0, torch.tensor(nan)), "nan"),
        (within, (inf, inf, 1.0), "inf"),
        (within, (1.0, nan, 1.0), "nan"),
    ),
)
def test_a_bound_that_is_no_number_is_refused(check, values, word):
    with pytest.raises(ValueError, match=f"allowed is {word}: such a check could not fail, or not"):
        check(*values)


@pytest.mark.parametrize(
    "bound",
    [flint.arb("inf"), np.longdouble("inf"), Decimal("inf")],
    ids=["arb", "long", "Decimal"],
)
def test_an_infinite_bound_of_another_type_is_refused(bound):
    with pytest.raises(ValueError, match="such a check could not fail"):
        at_most(1, bound)


# --- refused -------------------------------------------------------------------------------------

SEVERAL = {
    "numpy": np.array([1.0, 2.0]),
    "numpy of one": np.array([1.0]),
    "torch": torch.ones(2),
    "torch of one": torch.ones(1),
    "objects": np.array([q(1)], dtype=object),
    "list": [1.0],
    "tuple": (1.0, 2.0),
    "set": {1.0},
    "dict": {"error": 1.0},
}


@pytest.mark.parametrize("several", SEVERAL.values(), ids=SEVERAL)
@pytest.mark.parametrize(
    "check", [at_most, at_least, within], ids=["at most", "at least", "within"]
)
def test_several_numbers_in_one_check_are_refused(check, several):
    rest = (1.0,) if check is within else ()
    for values in [(several, 1.0, *rest), (1.0, several, *rest)]:
        with pytest.raises(TypeError, match=r"compares one number, got .*: reduce it first"):
            check(*values)


def test_a_tolerance_per_entry_is_refused():
    with pytest.raises(TypeError, match="compares one number, got an array"):
        within(1.0, 1.0, np.array([0.1, 0.2]))


INEXACT = {
    "float": 0.5,
    "nan": nan,
    "complex": 1j,
    "float64": np.float64(0.5),
    "float32": np.float32(0.5),
    "0-d array": np.array(0.5),
    "torch": torch.tensor(0.5),
    "bfloat16": torch.tensor(0.5, dtype=torch.bfloat16),
}


@pytest.mark.parametrize("float_", INEXACT.values(), ids=INEXACT)
def test_equals_refuses_floating_point_numbers_on_either_side(float_):
    assert not is_exact(float_)
    for pair in [(float_, 1), (1, float_)]:
        with pytest.raises(TypeError, match=r"compares exact values, got the .* needs `within`"):
            equals(*pair)


EXACT = {
    "int": (3, 3, 4),
    "large int": (10**400, 10**400, 10**400 + 1),
    "bool": (True, True, False),
    "word": ("a", "a", "b"),
    "Fraction": (Fraction(1, 3), Fraction(2, 6), Fraction(1, 4)),
    "Fraction and int": (Fraction(4, 2), 2, 3),
    "fmpq": (q(1, 3), q(2, 6), q(1, 4)),
    "fmpq and int": (q(4, 2), 2, 3),
    "fmpz": (flint.fmpz(3), 3, 4),
    "polynomial": (flint.fmpq_poly([1, 2]), flint.fmpq_poly([1, 2]), flint.fmpq_poly([1])),
    "polynomial in two": ((x + y) ** 2, x**2 + 2 * x * y + y**2, x**2 + y**2),
    "polynomial and 0": (x - x, 0, 1),
}


@pytest.mark.parametrize(("value", "same", "other"), EXACT.values(), ids=EXACT)
def test_equals_takes_exact_values_and_tells_them_apart(value, same, other):
    assert is_exact(value)
    assert equals(value, same).ok is True
    assert equals(value, other).ok is False
    assert equals(value, same).margin is None


def test_equal_rationals_of_two_libraries_are_equal():
    assert equals(q(1, 2), Fraction(1, 2)).ok


@pytest.mark.parametrize("other", [0.5, Fraction(1, 2)], ids=["float", "Fraction"])
def test_a_rational_is_compared_with_numbers_of_other_types(other):
    assert at_most(q(1, 3), other).ok


TRUE = {
    "1/2 = 1/2": (q(1, 2), "=", Fraction(1, 2)),
    "pi = pi": (flint.arb.pi(), "=", flint.arb.pi()),
    "pi <= pi": (flint.arb.pi(), "<=", flint.arb.pi()),
    "pi >= pi": (flint.arb.pi(), ">=", flint.arb.pi()),
    "2 < 3": (2, "<", 3),
    "3 > 2": (q(3), ">", 2),
    "pi < pi, undecided": (flint.arb.pi(), "<", flint.arb.pi()),
}


@pytest.mark.parametrize(("measured", "relation", "expected"), TRUE.values(), ids=TRUE)
def test_a_true_statement_is_never_refuted(measured, relation, expected, tmp_path):
    statement = Statement("demo2025/lemma-1", "lemma", "1", "1", "It", "So.", ("exact",), "refuted")
    name = ClaimTest(statement, tmp_path / "test_lemma_1.py", "test_printed_form_fails")
    record = recorder(tmp_path / "record.json")
    settings = {"scale": "smoke", "base_seed": 0, "params": {}, "lease": None, "store": None}
    claim = Claim(name, record, artifacts=tmp_path, data=Registry([], tmp_path), **settings)
    with pytest.raises((ClaimFailed, TypeError), match="counterexample"):
        claim.counterexample(
            "itself",
            input={},
            measured=measured,
            relation=relation,
            expected=expected,
            equation="(1)",
        )


@pytest.mark.parametrize("relation", ["<", ">"])
def test_equality_refutes_what_is_strict(relation):
    assert checks.refutes(3, relation, q(3)).ok is True
    assert checks.refutes(*((3, "<", 2) if relation == "<" else (2, ">", 3))).ok is True


FALSE = {  # relation: whether it is false of 2 and 3, of 3 and 3, of 3 and 2
    "<": (False, True, True),
    "<=": (False, False, True),
    "=": (True, False, True),
    ">=": (True, False, False),
    ">": (True, True, False),
}


@pytest.mark.parametrize("number", [int, Fraction, q, flint.arb], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(("relation", "false"), FALSE.items(), ids=FALSE)
def test_exactly_what_is_false_is_refuted(relation, false, number):
    pairs = [(2, 3), (3, 3), (3, 2)]
    found = [checks.refutes(number(a), relation, number(b)) for a, b in pairs]
    assert tuple(outcome.ok for outcome in found) == false
    assert {outcome.relation for outcome in found} == {f"not {relation}"}


def test_a_ball_that_leaves_it_open_refutes_nothing():
    wide = flint.arb(3, 1)
    assert not any(checks.refutes(wide, relation, 3).ok for relation in FALSE)


def test_a_ball_that_leaves_it_open_passes_no_check():
    """Neither as what was measured nor as what is allowed: only what is certain is green."""
    wide, narrow = flint.arb(3, 1), flint.arb(3, 2**-60)
    for a, b in [(wide, 3), (3, wide), (wide, wide + 1), (narrow, q(3))]:
        assert not at_most(a, b).ok
        assert not at_least(b, a).ok
        assert not at_least(a, b).ok
        assert not checks.equals(a, b).ok
    for a, b, tolerance in [(wide, 3, q(1, 2)), (3, wide, q(1, 2)), (q(7, 2), 3, flint.arb(1, 1))]:
        assert not within(a, b, tolerance).ok
    assert at_most(wide, 5).ok
    assert at_least(wide, 1).ok
    assert within(wide, 3, 2).ok


ALIKE = {
    "ball and fmpq": (flint.arb(0.5), q(1, 2)),
    "ball and Fraction": (flint.arb(0.5), Fraction(1, 2)),
    "fmpz and Fraction": (flint.fmpz(1), Fraction(1)),
    "polynomial and fmpq": (x - x + q(1, 2), q(1, 2)),
    "polynomial and Fraction": (x - x + q(1, 2), Fraction(1, 2)),
    "in lists": ([q(1, 2)], [Fraction(1, 2)]),
    "in mixed lists": ([q(1, 2), Fraction(1, 3)], [Fraction(1, 2), q(1, 3)]),
}


@pytest.mark.parametrize(("a", "b"), ALIKE.values(), ids=ALIKE)
def test_equal_numbers_of_different_types_do_not_refute_each_other(a, b):
    for pair in [(a, b), (b, a)]:
        assert not checks.refutes(pair[0], "=", pair[1]).ok
        assert equals(*pair).ok


def test_a_ball_is_compared_with_rationals():
    assert at_most(flint.arb.pi(), q(22, 7)).ok is True
    assert at_least(flint.arb.pi(), q(22, 7)).ok is False
    assert at_most(q(3), flint.arb.pi()).ok is True


@pytest.mark.parametrize(
    "holder", [[1, 0.5], (0.5,), {0.5}, {"x": [0.5]}, {"x": 1, "y": 0.5}, [[1], [0.5]]], ids=repr
)
def test_equals_refuses_floats_in_containers(holder):
    with pytest.raises(TypeError, match="equals compares exact values"):
        equals(holder, holder)
    assert equals([1, (q(1, 2), "a")], [1, (q(1, 2), "a")]).ok


@pytest.mark.parametrize("three", [np.int64(3), torch.tensor(3)], ids=["numpy", "torch"])
def test_equals_takes_integers_of_numpy_and_torch(three):
    assert equals(three, 3).ok is True
    assert equals(three, 4).ok is False


@pytest.mark.parametrize(
    "several", [np.array([3, 3]), np.array([3]), torch.tensor([3, 3])], ids=["two", "one", "torch"]
)
def test_equals_refuses_arrays_of_integers(several):
    with pytest.raises(TypeError, match=r"compares (one number|exact values)"):
        equals(several, several)


@pytest.mark.parametrize(
    "value",
    [
        np.int64(3),
        np.uint8(3),
        np.bool_(True),
        np.array([3, 4]),
        torch.tensor(3),
        torch.tensor([True, False]),
    ],
    ids=["int64", "uint8", "bool of numpy", "array", "torch", "bools of torch"],
)
def test_integers_and_truth_values_of_numpy_and_torch_are_exact(value):
    assert is_exact(value)
    assert is_exact([value])
    assert not is_exact([value, 0.5])


@pytest.mark.parametrize(
    "bad",
    [inf, -inf, nan, flint.arb("inf"), flint.arb("nan")],
    ids=["inf", "-inf", "nan", "ball of inf", "ball of nan"],
)
@pytest.mark.parametrize("relation", ["<", "<=", "=", ">=", ">"])
def test_what_is_not_finite_on_either_side_refutes_nothing(relation, bad):
    for pair in [(bad, 1), (1, bad), (bad, bad)]:
        with pytest.raises(ValueError, match="what is not finite refutes nothing"):
            checks.refutes(pair[0], relation, pair[1])


@pytest.mark.parametrize("scale", [10**400, q(1, 10**400)], ids=["huge", "tiny"])
def test_margins_of_exact_numbers_beyond_the_floats_are_right(scale):
    assert at_most(scale, 10 * scale).margin == 10.0


# --- unwrapping ----------------------------------------------------------------------------------


HALVES = {
    "float64": np.float64(0.5),
    "float32": np.float32(0.5),
    "0-d array": np.array(0.5),
    "torch": torch.tensor(0.5),
    "bfloat16": torch.tensor(0.5, dtype=torch.bfloat16),
    "with gradient": torch.tensor(0.5, requires_grad=True),
}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_scalars_of_numpy_and_torch_become_python_numbers(half):
    for outcome in [at_most(half, half), at_least(half, half), within(half, half, half)]:
        assert type(outcome.measured) is float
        assert type(outcome.allowed) is float
        assert outcome.measured == 0.5
        assert outcome.ok is True
    assert type(within(half, half, half).tolerance) is float


def test_an_outcome_is_a_plain_truth_value_also_for_numpy():
    assert type(at_most(np.float64(1), np.float64(2)).ok) is bool
    assert type(equals(x, y).ok) is bool


# --- margins -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "values", "margin"),
    named(
        (at_most, (0.5, 2.0), 4.0),
        (at_most, (2.0, 0.5), 0.25),
        (at_most, (0, 1), inf),
        (at_most, (0, 0), None),
        (at_most, (1, 0), 0.0),
        (at_most, (-1, 1), None),
        (at_most, (-2, -1), None),
        (at_most, (1, -1), None),
        (at_most, (q(1, 3), q(1, 2)), 1.5),
        (at_most, (Fraction(1, 3), Fraction(1, 2)), 1.5),
        (at_most, (q(1, 3), 1), 3.0),
        (at_most, (flint.fmpz(2), 3), 1.5),
        (at_least, (2.0, 0.5), 4.0),
        (at_least, (0.5, 2.0), 0.25),
        (at_least, (1, 0), inf),
        (at_least, (0, 1), 0.0),
        (at_least, (0, 0), None),
        (at_least, (-1, -2), None),
        (at_least, (1, -1), None),
        (at_least, (q(1, 2), q(1, 3)), 1.5),
        (within, (1.75, 2.0, 0.5), 2.0),
        (within, (2.25, 2.0, 0.5), 2.0),
        (within, (3.0, 2.0, 0.5), 0.5),
        (within, (-2.25, -2.0, 0.5), 2.0),
        (within, (2.0, 2.0, 0.5), inf),
        (within, (2, 2, 0), None),
        (within, (2.5, 2.0, 0.0), 0.0),
        (within, (2.5, 2.0, -1.0), None),
        (within, (q(1, 2), q(1, 3), q(1, 4)), 1.5),
        (equals, (2, 2), None),
        (equals, (2, 3), None),
    ),
)
def test_the_margin_is_the_factor_by_which_it_holds(check, values, margin):
    assert check(*values).margin == margin


def test_a_margin_below_one_is_exactly_a_red_check():
    numbers = [0.1, 0.5, 1.0, 1.5, 7.0]
    for outcome in [check(a, b) for check in (at_most, at_least) for a in numbers for b in numbers]:
        assert isinstance(outcome.margin, float)
        assert (outcome.margin >= 1) is outcome.ok


@pytest.mark.parametrize(
    ("check", "values", "ratio"),
    named(
        (at_most, (0.0625, 0.05), 1.25),
        (at_most, (0.05, 0.1), 0.5),
        (at_most, (0, 1), 0.0),
        (at_most, (-1, 1), None),
    ),
)
def test_the_ratio_says_how_far_off(check, values, ratio):
    found = check(*values).ratio
    assert found == (None if ratio is None else pytest.approx(ratio, rel=1e-12))


# --- bounds --------------------------------------------------------------------------------------


VERBS = {
    "exact": exactly,
    "theorem": theorem,
    "roundoff": rounding_error,
    "printed": as_printed,
    "stderr": stderr,
    "grid": grid_error,
    "chosen": chosen,
}


def test_every_kind_of_bound_has_a_word_for_it():
    assert list(VERBS) == list(KINDS)
    assert {kind: verb(2, "so") for kind, verb in VERBS.items()} == {
        kind: Bound(2, (Source(kind, 2, "so"),)) for kind in KINDS
    }


def test_bounds_add_up_and_keep_their_terms():
    both = theorem(q(1, 3), "(4)") + rounding_error(0.25, "two products")
    assert both.value == q(7, 12)
    assert [str(source) for source in both.sources] == ["theorem: (4)", "roundoff: two products"]
    assert [source.value for source in both.sources] == [q(1, 3), 0.25]
    assert (theorem(1, "a") + stderr(2.5, "b") + grid_error(Fraction(1, 2), "c")).value == 4
    with pytest.raises(TypeError):
        theorem(1, "a") + 1  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize("why", ["", "  "])
def test_a_bound_without_a_reason_is_refused(why):
    with pytest.raises(ValueError, match="must say why"):
        chosen(2, why)
    with pytest.raises(ValueError, match="is unknown: there is exact, theorem"):
        Source("guess", 1, "so")
