"""What the claims on Sections 4 to 6 measure with: small cases by hand."""

from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.numerics import exact
from repro.wang2024 import budgets, chains, fixed, following, necessity, nested, targets
from repro.wang2024 import width as widths


def test_the_exponent_of_the_width_and_its_error_by_hand():
    curves = widths.Curves((32, 128))
    for error in (4.0, 12.0, 3.0, 5.0):  # two draws at each width
        curves.add("drawn", error, 2 * error)
    for m in (32, 128):
        curves.add("spread", 1 / m, 1.0)
    exponent, error = curves.exponent()  # means 8 and 4; relative errors 4/8 and 1/4
    assert exponent == pytest.approx(-1 / 2)
    assert error == pytest.approx(3 * np.hypot(1 / 2, 1 / 4) / np.log(4))
    assert curves.means("drawn")[1].tolist() == [16.0, 8.0]
    kinds = [kind for kind, _, _ in widths.networks((4, 8), 2, np.random.default_rng(0))]
    assert kinds == ["drawn", "drawn", "spread"] * 2


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_a_past_that_two_heads_do_not_see(rpe):
    slopes, z = necessity.unseen(rpe, 3, (2, 3))
    assert z[3] == 1
    assert 0 not in z
    for base in (2, 3):
        assert sum(v / (base**s if rpe == "lin" else s**base) for s, v in z.items()) == 0
    alphas = exact.rationals([[5], [-7]])
    plus, minus = fixed.of_two_pasts(rpe, slopes, alphas, z, 3)
    assert plus == minus
    assert fixed.of_two_pasts(rpe, slopes, alphas, {**z, 2: z[2] + 1}, 3)[0] != plus


def test_what_is_left_out_stays_0():
    level = exact.rational("1/100")
    blocks, _, errors = fixed.exactly(targets.SPARSE_PARITY, "lin", 2, level, 5, left_out=1)
    assert (blocks[0], blocks[2], len(errors)) == (0, 1, 1)
    assert blocks[1] <= errors[0] <= level


def test_impulses_show_the_kernel():
    impulses = np.eye(4, dtype=int)[::-1]
    phi = fixed.attended("log", [2, 3], exact.rationals([[1], [2]]), impulses)[:, 1:]
    assert phi[:, 0].tolist() == [0, *(flint.fmpq(s + 2, s**3) for s in (1, 2, 3))]


def test_shares_of_heads_that_are_not_the_best_are_noticed(monkeypatch):
    case = ([1, 3], 4, 2)
    assert budgets.allocation_is_best(6, [Fraction(1), Fraction(3)], 2)
    assert budgets.allocation_faults(case) == 0
    monkeypatch.setattr("repro.wang2024.budgets.allocate", lambda H, costs, n: [H - 1, 1])
    assert not budgets.allocation_is_best(6, [Fraction(1), Fraction(3)], 2)
    assert budgets.allocation_faults(case) == 2  # not the best, and beyond the factor


def test_bounds_for_every_H_are_seen_to_fail(monkeypatch):
    assert [budgets.most_heads(rpe, 4) for rpe in ("lin", "log")] == [5, 7]
    for nests in (True, False):
        lacking, wrong = budgets.cases("lin", nests, 50, np.random.default_rng(0))
        assert lacking > 10
        assert wrong == 0
    monkeypatch.setattr(
        "repro.wang2024.budgets.smallest_constant", lambda n, more: flint.arb(1) / 10**9
    )
    assert budgets.cases("lin", True, 50, np.random.default_rng(0))[1] > 5
    assert budgets.cases("lin", False, 50, np.random.default_rng(0))[1] > 5


def test_pointers_are_rounded_in_balls():
    assert [nested.rounded_log(3, off) for off in (0, Fraction(1, 12), Fraction(1, 4))] == [3, 3, 4]
    assert nested.wrong_logs(20) == 0
    assert float(nested.log_centre(2)) == pytest.approx(2 ** np.log(2))


def test_what_no_readout_can_tell_by_hand():
    assert nested.readout_floor(targets.NESTED, fetched=1) == 1
    assert nested.readout_floor(targets.NESTED, fetched=2) == 0
    assert nested.readout_floor(chains.relay(4, 3), 3) == 0


def test_a_wrong_pointer_and_a_wrong_estimate_are_seen(monkeypatch):
    assert nested.exactly("K=1, M=2", 4).wrong == [0, 0]
    monkeypatch.setitem(nested.EXAMPLES, "moved", replace(targets.NESTED, K=2))
    states = nested.exact_states("moved", 4)
    states[-2][0, 2, 3] += 1  # t_1 at the first position that counts
    assert nested.exactly("moved", 4).wrong == [1, 0]


def test_a_pointer_off_by_nothing_fetches_its_token():
    level = "1/100"
    assert following.off_pointer("follow", 0, level, 3) <= exact.rational(level)
    assert following.off_pointer("follow", 1, level, 3) > 1
