"""Checks: green and red, nan and infinity, what is refused, margins as docs/results.md has them."""

import math
from decimal import Decimal
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

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
from repro.harness.checks import at_least, at_most, equals, is_exact, refutes, within

nan, inf = math.nan, math.inf
q, pi = flint.fmpq, flint.arb.pi()
x, y = flint.fmpq_mpoly_ctx.get(("x", "y"), "lex").gens()


def named(*cases):
    """Parameters whose ids show the call: at_most(1.0, 2.0)."""
    return [
        pytest.param(check, values, wanted, id=f"{check.__name__}{values}")
        for check, values, wanted in cases
    ]


@pytest.mark.parametrize(
    ("check", "values", "ok"),
    named(
        (at_most, (1.0, 2.0), True),
        (at_most, (2.0, 2.0), True),
        (at_most, (np.nextafter(2.0, 3.0), 2.0), False),
        (at_most, (Fraction(1, 3), Fraction(1, 3)), True),
        (at_most, (q(34, 100), q(1, 3)), False),
        (at_most, (q(1, 3), 0.5), True),
        (at_most, (q(1, 3), Fraction(1, 2)), True),
        (at_most, (pi, q(22, 7)), True),
        (at_most, (q(3), pi), True),
        (at_least, (2.0, 1.0), True),
        (at_least, (2.0, 2.0), True),
        (at_least, (np.nextafter(2.0, 1.0), 2.0), False),
        (at_least, (-3, -2), False),
        (at_least, (q(1, 3), q(1, 3)), True),
        (at_least, (pi, q(22, 7)), False),
        (within, (1.5, 2.0, 0.5), True),
        (within, (2.5, 2.0, 0.5), True),
        (within, (1.25, 2.0, 0.5), False),
        (within, (2.75, 2.0, 0.5), False),
        (within, (3, 3, 0), True),
        (within, (q(1, 2), q(1, 3), q(1, 6)), True),
        (within, (q(1, 2), q(1, 3), q(1, 7)), False),
        # A measurement that is not finite is red even on the right side.
        *[(check, (bad, *rest), False)
          for bad in (inf, -inf, nan, np.float32("nan"), torch.tensor(nan))
          for check, rest in ((at_most, (1e308,)), (at_least, (-1e308,)), (within, (1.0, 1e308)))],
    ),
)  # fmt: skip
def test_a_check_is_green_or_red_as_the_numbers_say(check, values, ok):
    assert check(*values).ok is ok
    assert math.isfinite(values[0]) or check(*values).margin is None


@pytest.mark.parametrize(
    ("check", "values", "word"),
    named(
        (at_most, (1.0, inf), "inf"),
        (at_most, (1.0, nan), "nan"),
        (at_most, (inf, inf), "inf"),
        (at_most, (1, flint.arb("inf")), "inf"),
        (at_most, (1, np.longdouble("inf")), "inf"),
        (at_most, (1, Decimal("inf")), "Infinity"),
        (at_least, (1.0, -inf), "-inf"),
        (at_least, (1.0, np.float32("nan")), "nan"),
        (within, (1.0, 2.0, inf), "inf"),
        (within, (1.0, 2.0, torch.tensor(nan)), "nan"),
        (within, (inf, inf, 1.0), "inf"),
        (within, (1.0, nan, 1.0), "nan"),
    ),
)
def test_a_bound_that_is_no_number_is_refused(check, values, word):
    with pytest.raises(ValueError, match=rf"allowed is .*{word}.*: such a check could not fail"):
        check(*values)


SEVERAL = {
    "numpy": np.array([1.0, 2.0]),
    "numpy of one": np.array([1.0]),
    "torch": torch.ones(2),
    "objects": np.array([q(1)], dtype=object),
    "list": [1.0],
    "tuple": (1.0, 2.0),
    "set": {1.0},
    "dict": {"error": 1.0},
}


@pytest.mark.parametrize("several", SEVERAL.values(), ids=SEVERAL)
def test_several_numbers_in_one_check_are_refused(several):
    for check, values in [
        (at_most, (several, 1.0)),
        (at_most, (1.0, several)),
        (at_least, (several, 1.0)),
        (at_least, (1.0, several)),
        (within, (several, 1.0, 1.0)),
        (within, (1.0, several, 1.0)),
        (within, (1.0, 1.0, several)),
    ]:
        with pytest.raises(TypeError, match=r"compares one number, got .*: reduce it first"):
            check(*values)


INEXACT = {
    "float": 0.5,
    "nan": nan,
    "complex": 1j,
    "float32": np.float32(0.5),
    "0-d array": np.array(0.5),
    "torch": torch.tensor(0.5),
    "bfloat16": torch.tensor(0.5, dtype=torch.bfloat16),
    "Decimal": Decimal("0.5"),
    "list": [1, 0.5],
    "set": {0.5},
    "dict": {"x": 1, "y": [0.5]},
}


@pytest.mark.parametrize("value", INEXACT.values(), ids=INEXACT)
def test_equals_refuses_floating_point_numbers_on_either_side(value):
    assert not is_exact(value)
    for pair in [(value, 1), (1, value)]:
        with pytest.raises(TypeError, match=r"compares exact values, got the .* needs `within`"):
            equals(*pair)


EXACT = {
    "int": (3, 3, 4),
    "large int": (10**400, 10**400, 10**400 + 1),
    "bool": (True, True, False),
    "word": ("word", "word", "words"),
    "Fraction": (Fraction(1, 3), Fraction(2, 6), Fraction(1, 4)),
    "Fraction and int": (Fraction(4, 2), 2, 3),
    "fmpq": (q(1, 3), q(2, 6), q(1, 4)),
    "fmpq and int": (q(4, 2), 2, 3),
    "fmpq and Fraction": (q(1, 2), Fraction(1, 2), Fraction(1, 3)),
    "fmpz and Fraction": (flint.fmpz(1), Fraction(1), Fraction(1, 2)),
    "ball and fmpq": (flint.arb(0.5), q(1, 2), q(1, 3)),
    "ball and Fraction": (flint.arb(0.5), Fraction(1, 2), Fraction(1, 3)),
    "polynomial": (flint.fmpq_poly([1, 2]), flint.fmpq_poly([1, 2]), flint.fmpq_poly([1])),
    "polynomial in two": ((x + y) ** 2, x**2 + 2 * x * y + y**2, x**2 + y**2),
    "polynomial and fmpq": (x - x + q(1, 2), q(1, 2), 0),
    "numpy": (np.int64(3), 3, 4),
    "torch": (torch.tensor(3), 3, 4),
    "in mixed lists": ([q(1, 2), Fraction(1, 3), "a"], [Fraction(1, 2), q(1, 3), "a"], [1, 2, "a"]),
}


@pytest.mark.parametrize(("value", "same", "other"), EXACT.values(), ids=EXACT)
def test_equals_takes_exact_values_and_tells_them_apart(value, same, other):
    assert is_exact(value)
    for a, b in [(value, same), (same, value)]:
        assert equals(a, b).ok is True
        assert refutes(a, "=", b).ok is False
    assert equals(value, other).ok is False
    assert equals(value, same).margin is None


@pytest.mark.parametrize("several", [np.array([3]), torch.tensor([3, 3])], ids=["numpy", "torch"])
def test_arrays_of_integers_are_exact_and_no_single_number(several):
    assert is_exact(several)
    with pytest.raises(TypeError, match="compares one number"):
        equals(several, several)


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
    found = [refutes(number(a), relation, number(b)) for a, b in pairs]
    assert tuple(outcome.ok for outcome in found) == false
    assert {outcome.relation for outcome in found} == {f"not {relation}"}


def test_a_ball_that_leaves_it_open_refutes_nothing_and_passes_no_check():
    """Neither as what was measured nor as what is allowed: only what is certain is green."""
    wide, narrow = flint.arb(3, 1), flint.arb(3, 2**-60)
    assert not any(refutes(wide, relation, 3).ok for relation in FALSE)
    assert not refutes(pi, "<", pi).ok
    for a, b in [(wide, 3), (3, wide), (wide, wide + 1), (narrow, q(3))]:
        assert not at_most(a, b).ok
        assert not at_least(b, a).ok
        assert not at_least(a, b).ok
        assert not equals(a, b).ok
    for a, b, tolerance in [(wide, 3, q(1, 2)), (3, wide, q(1, 2)), (q(7, 2), 3, flint.arb(1, 1))]:
        assert not within(a, b, tolerance).ok
    assert at_most(wide, 5).ok
    assert at_least(wide, 1).ok
    assert within(wide, 3, 2).ok


INFINITE = {
    "inf": inf,
    "-inf": -inf,
    "nan": nan,
    "ball": flint.arb("inf"),
    "no ball": flint.arb("nan"),
}


@pytest.mark.parametrize("bad", INFINITE.values(), ids=INFINITE)
@pytest.mark.parametrize("relation", FALSE)
def test_what_is_not_finite_on_either_side_refutes_nothing(relation, bad):
    for pair in [(bad, 1), (1, bad), (bad, bad)]:
        with pytest.raises(ValueError, match="what is not finite refutes nothing"):
            refutes(pair[0], relation, pair[1])


HALVES = {
    "float32": np.float32(0.5),
    "0-d array": np.array(0.5),
    "bfloat16": torch.tensor(0.5, dtype=torch.bfloat16),
    "with gradient": torch.tensor(0.5, requires_grad=True),
}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_scalars_of_numpy_and_torch_become_python_numbers(half):
    for outcome in [at_most(half, half), at_least(half, half), within(half, half, half)]:
        assert type(outcome.measured) is type(outcome.allowed) is float
        assert outcome.measured == 0.5
        assert outcome.ok is True
    assert type(within(half, half, half).tolerance) is float


@pytest.mark.parametrize(
    ("check", "values", "margin"),
    named(
        (at_most, (0.5, 2.0), 4.0),
        (at_most, (2.0, 0.5), 0.25),
        (at_most, (0, 1), inf),
        (at_most, (0, 0), None),
        (at_most, (1, 0), 0.0),
        (at_most, (-1, 1), None),
        (at_most, (1, -1), None),
        (at_most, (q(1, 3), q(1, 2)), 1.5),
        (at_most, (flint.fmpz(2), 3), 1.5),
        (at_most, (10**400, 10**401), 10.0),
        (at_most, (q(1, 10**400), q(10, 10**400)), 10.0),
        (at_least, (2.0, 0.5), 4.0),
        (at_least, (1, 0), inf),
        (at_least, (0, 1), 0.0),
        (at_least, (-1, -2), None),
        (at_least, (q(1, 2), q(1, 3)), 1.5),
        (within, (1.75, 2.0, 0.5), 2.0),
        (within, (3.0, 2.0, 0.5), 0.5),
        (within, (-2.25, -2.0, 0.5), 2.0),
        (within, (2.0, 2.0, 0.5), inf),
        (within, (2, 2, 0), None),
        (within, (2.5, 2.0, 0.0), 0.0),
        (within, (2.5, 2.0, -1.0), None),
        (within, (q(1, 2), q(1, 3), q(1, 4)), 1.5),
        (equals, (2, 3), None),
    ),
)
def test_the_margin_is_the_factor_by_which_it_holds(check, values, margin):
    found = check(*values)
    assert found.margin == margin
    assert found.ratio == (1 / margin if margin else None)
    if margin:  # below one exactly if red
        assert found.ok is (margin >= 1)


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
    for kind, verb in VERBS.items():
        assert verb(2, "so") == Bound(2, (Source(kind, 2, "so"),))


def test_bounds_add_up_and_keep_their_terms():
    both = theorem(q(1, 3), "(4)") + rounding_error(0.25, "two products")
    assert both.value == q(7, 12)
    assert [str(source) for source in both.sources] == ["theorem: (4)", "roundoff: two products"]
    assert [source.value for source in both.sources] == [q(1, 3), 0.25]
    assert (theorem(1, "a") + stderr(2.5, "b") + grid_error(Fraction(1, 2), "c")).value == 4
    with pytest.raises(TypeError):
        theorem(1, "a") + 1  # pyright: ignore[reportOperatorIssue]


def test_a_bound_without_a_reason_or_of_no_kind_is_refused():
    with pytest.raises(ValueError, match="must say why"):
        chosen(2, "  ")
    with pytest.raises(ValueError, match="is unknown: there is exact, theorem"):
        Source("guess", 1, "so")
