"""The fixtures of the benchmarks: what counts as a turn, and that two ways must agree."""

from types import SimpleNamespace

import pytest
import torch

from tools.benchmarks import measuring
from tools.benchmarks import page as benchmarks
from tools.benchmarks import test_recurrent as recurrent
from tools.benchmarks import test_same_error as same_error
from tools.benchmarks.measuring import agree, identical, within
from tools.benchmarks.test_same_error import Found
from tools.costs import runs

PART = 1


@pytest.fixture
def switched_on():
    return True


@pytest.fixture
def in_rounds():
    return lambda function, rounds: [function() for _ in range(rounds)]


@pytest.fixture
def entries():
    return []


@pytest.fixture
def recorder(entries):
    class Recorder:
        @staticmethod
        def add(entry, by=None):
            entries.append({**entry, "by": by})

    return Recorder


@pytest.fixture
def taking(monkeypatch):
    """A function that takes these seconds when it is first called, at its second call and so on."""
    now = 0.0
    monkeypatch.setattr(measuring, "time", SimpleNamespace(perf_counter=lambda: now))

    def taking(*seconds, result=None):
        left = iter(seconds)

        def function():
            nonlocal now
            now += next(left)
            return result

        return function

    return taking


def agreeing(found, wanted):
    pass


def test_a_ratio_is_that_of_the_median_turn_without_the_first(compare, taking, entries):
    fast, slow = taking(100, 1, 2, 1), taking(1, 10, 10, 30)
    compare("a", fast=fast, slow=slow, same=agreeing, against="b", rounds=3)
    assert entries[0]["value"] == 10  # of 10, 5 and 30
    assert entries[0]["params"] == {"seconds": "1 against 10", "turns": "3, from 5 to 30"}


def test_what_may_take_longer_tells_how_many_times_as_long(compare, taking, entries):
    compare("a", fast=taking(9, 3, 4, 5), slow=taking(9, 2, 2, 2), same=agreeing, against="b", at_most=1.5, rounds=3)  # fmt: skip
    entry = entries[0]
    assert (entry["value"], entry["relation"], entry["target"], entry["unit"]) == (2, "<=", 1.5, "")
    assert entry["params"]["turns"] == "3, from 1.5 to 2.5"


def test_the_limit_is_warmed_up_too(compare, taking, entries):
    compare("a", fast=taking(9, 2), slow=taking(9, 8), limit=taking(9, 1), same=agreeing, against="b", rounds=1)  # fmt: skip
    assert (entries[0]["value"], entries[0]["limit"]) == (4, 8)


def test_the_shares_of_parts_stand_in_the_reason(compare, taking, entries):
    """3 of 4, 1 of 4 and 2 of 4 seconds, beside 1 of 4; the first turn is not timed."""
    fast, slow, part, limit = taking(9, 4, 4, 4), taking(*[8] * 4), taking(9, 3, 1, 2), taking(9, 1, 1, 1)  # fmt: skip
    compare(
        "a", fast=fast, slow=slow, part=part, limit=limit, same=agreeing, against="b", rounds=3,
        why="{part} of it is c, {limit} is d",
    )  # fmt: skip
    assert entries[0]["why"] == "50 % of it is c, 25 % is d"
    assert entries[0]["limit"] == 8


def test_what_makes_several_steps_at_once_tells_seconds_of_one(compare, taking, entries):
    compare("a", fast=taking(1, 4), slow=taking(1, 12), same=agreeing, against="b", rounds=1, repeats=4)  # fmt: skip
    assert entries[0]["value"] == 3
    told = {"seconds": "1 against 3 a step", "turns": "1 of 4 steps, from 3 to 3"}
    assert entries[0]["params"] == told


def test_what_is_over_too_soon_is_called_several_times_a_turn(compare, taking, entries):
    """Three calls of 2, 1 and 3 seconds are 2 each; `slow` is called once."""
    fast, slow, limit = taking(9, 2, 1, 3), taking(9, 20), taking(9, 1, 1, 1)
    compare("a", fast=fast, slow=slow, limit=limit, same=agreeing, against="b", rounds=1, calls=3)
    assert (entries[0]["value"], entries[0]["limit"]) == (10, 20)


def test_what_is_compared_are_the_results_of_what_is_timed(compare, taking, entries):
    seen = []

    def same(*results):
        seen.append(results)

    compare("a", fast=taking(1, 1, result="f"), slow=taking(1, 1, result="s"), same=same, against="b", rounds=1)  # fmt: skip
    assert seen == [("f", "s")]


def test_two_ways_that_do_not_agree_have_no_ratio(compare, taking, entries):
    ones = [torch.ones(2)]
    fast, slow = taking(1, result=[0 * ones[0]]), taking(1, result=ones)
    with pytest.raises(AssertionError, match="apart by up to 1"):
        compare("a", fast=fast, slow=slow, same=identical, against="b")
    assert entries == []


def test_an_exponent_is_that_of_the_fastest_turns_without_the_first(growth, taking, entries):
    runs = {size: taking(0.5, 3 * size**2, size**2) for size in (1, 2, 4, 8)}
    growth("a", (1, 2, 4, 8), runs.get, right=agreeing, of="n", rounds=2)
    assert entries[0]["value"] == pytest.approx(2)
    assert entries[0]["params"] == {"seconds": "1 to 64", "n": [1, 2, 4, 8]}


def test_wrong_results_have_no_exponent(growth, taking, entries):
    def right(size, result):
        assert result == size

    runs = {size: taking(*[1] * 9, result=min(size, 4)) for size in (1, 2, 4, 8)}
    with pytest.raises(AssertionError, match="4 == 8"):
        growth("a", (1, 2, 4, 8), runs.get, right=right, of="n")
    assert entries == []


def test_a_figure_says_whether_it_is_a_lower_bound(measured, entries):
    for at_least in (True, False):
        measured("a", 5, unit="×", relation=">=", target=5, against="b", at_least=at_least)
    assert [entry["at_least"] for entry in entries] == [True, False]


# --- figures of earlier runs ---------------------------------------------------------------------

NOW, THEN = ({"id": id, "started": id, "machine": {}} for id in ("now", "then"))


def test_a_figure_of_an_earlier_run_is_recorded_as_such(measured, entries):
    for by in (THEN, None):
        measured("a", 5, unit="s", relation="<=", target=6, against="b", by=by)
    assert [entry["by"] for entry in entries] == [THEN, None]


def test_it_is_written_under_the_header_of_the_run_that_measured_it(tmp_path):
    said = []
    recorder = measuring.Recorder(tmp_path, NOW, said.append)
    figure = {"part": 6, "value": 5.0, "unit": "s", "relation": "<=", "target": 4.0}
    recorder.add({**figure, "name": "a"}, by=THEN)
    recorder.add({**figure, "name": "b"})
    document = benchmarks.read(tmp_path)
    assert {entry["name"]: entry["run"] for entry in document["ratios"]} == {
        "a": "then",
        "b": "now",
    }
    assert document["runs"] == {"then": THEN, "now": NOW}
    assert "a: 5 s (<= 4: MISSED)" in said[0]


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({}, "has not been run here"),
        ({"run": {"together": {"exit": 1}}}, "was not whole: pytest ended with 1"),
        ({"run": {"together": {"left out": 2}}}, "was not whole: 2 tests had no training"),
        ({"run": {"together": {}, "alone": {"exit": 3}}}, "ended with 3"),
    ],
)
def test_a_run_that_was_not_made_here_or_was_not_whole_has_no_figure(
    earlier, monkeypatch, known, why
):
    monkeypatch.setattr(runs, "own", lambda folder: known)
    with pytest.raises(pytest.skip.Exception, match=why):
        earlier("run", command="make costs")


def test_a_whole_run_has_one(earlier, monkeypatch):
    whole = {"together": {"exit": 0, "left out": 0}, "alone": {"exit": 0}}
    cold = {"smoke": {"exit": 1}, "laptop": {"exit": 0}}
    monkeypatch.setattr(runs, "own", lambda folder: {"run": whole, "cold": cold})
    assert earlier("run", command="make costs") == whole
    assert earlier("cold", "laptop", command="--cold") == cold
    with pytest.raises(pytest.skip.Exception, match="pytest ended with 1"):
        earlier("cold", "smoke", command="--cold")


# --- two ways agree ------------------------------------------------------------------------------

ONES = [torch.ones(3), torch.ones(2, 2)]


@pytest.mark.parametrize("factor", [0.0, 0.98, 1.02, -1.0, float("nan")])
@pytest.mark.parametrize("place", [0, 1])
def test_what_is_further_off_than_allowed_is_seen_wherever_it_is(factor, place):
    found = [one.clone() for one in ONES]
    found[place].view(-1)[-1] *= factor
    with pytest.raises(AssertionError, match="apart"):
        within(0.01)(found, ONES)


def test_what_is_allowed_passes():
    within(0.01)([0.995 * one for one in ONES], ONES)
    identical(ONES, ONES)


def test_other_shapes_do_not_agree():
    with pytest.raises(AssertionError):
        agree([torch.ones(1)], [torch.ones(2)], [0.1])
    with pytest.raises(ValueError, match="longer"):
        agree([], ONES, [])


def test_a_check_that_zeros_would_pass_is_refused():
    with pytest.raises(AssertionError, match="zeros would agree"):
        agree([torch.ones(2)], [torch.ones(2)], [1.0])


# --- time until the same error -------------------------------------------------------------------


def test_a_recipe_that_was_given_up_is_slower_by_at_least_its_time():
    assert Found(spent=2.0, wanted=0.1, theirs=11.0, least=0.2).times == 5.5
    assert Found(spent=2.0, wanted=0.1, theirs=11.0, least=0.2).given_up
    assert not Found(spent=2.0, wanted=0.1, theirs=8.0, least=0.1).given_up


def test_the_clock_adds_up_and_stands_still_while_we_look(monkeypatch):
    """It runs from 0 to 2 and from 7 to 10."""
    now = iter([0.0, 2.0, 7.0, 10.0])
    monkeypatch.setattr(same_error.Clock, "_now", staticmethod(lambda: next(now)))
    clock = same_error.Clock()
    assert clock.stop() == 2.0
    clock.go()
    assert clock.stop() == 5.0


def test_a_part_of_a_step_is_timed_as_often_as_the_step():
    made, weight = [], torch.ones(1, requires_grad=True)
    recurrent.repeated(32, lambda: made.append("part"))()
    parts = len(made)
    recurrent.steps(32, [weight], lambda: made.append("step") or weight, torch.sum)()
    assert (parts, len(made)) == (32, 64)


@pytest.mark.parametrize(("patience", "looks", "least"), [(100, 3, 0.1), (5, 2, 0.5)])
def test_a_training_is_watched_until_it_is_as_good_or_too_late(patience, looks, least, monkeypatch):
    """Errors 0.9, 0.5, 0.1 at looks after 0, 6 and 12 s; 0.1 is wanted."""
    errors, seconds = iter([0.9, 0.5, 0.1]), iter([0.0, 6.0, 12.0])
    monkeypatch.setattr(same_error.Clock, "stop", lambda self: next(seconds))
    watch = same_error.Watch(lambda model: next(errors), wanted=0.1, patience=patience)
    with pytest.raises(same_error.Over):
        list(map(watch, range(3 * same_error.EVERY)))
    assert next(watch.steps) == (looks - 1) * same_error.EVERY + 1
    assert watch.least == least
