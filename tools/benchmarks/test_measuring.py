"""What counts as a turn, that two ways must agree, and what the page shows."""

from types import SimpleNamespace

import pytest
import torch

from tools.benchmarks import measuring
from tools.benchmarks.measuring import Figure, identical, within

ONES = [torch.ones(3), torch.ones(2, 2)]


@pytest.fixture
def switched_on():
    return True


@pytest.fixture
def in_rounds():
    return lambda function, rounds: [function() for _ in range(rounds)]


@pytest.fixture
def figures():
    return []


@pytest.fixture
def write(figures):
    return figures.append


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


def test_a_ratio_is_that_of_the_median_turn_without_the_first(compare, taking, figures):
    """A turn has three calls of `fast`: of 2, 1 and 3 seconds, 2 each; and one of `slow`."""
    fast, slow = taking(100, 2, 1, 3, 2, 2, 2, 1, 1, 1), taking(1, 20, 10, 30)
    compare("a", fast=fast, slow=slow, same=agreeing, against="b", rounds=3, calls=3, n=7)
    (found,) = figures
    assert found.value == 10  # of 10, 5 and 30
    assert found.setting == {"seconds": "2 against 20", "turns": "3, from 5 to 30", "n": 7}


def test_two_ways_that_do_not_agree_have_no_ratio(compare, taking, figures):
    fast, slow = taking(1, result=[0 * ONES[0]]), taking(1, result=ONES[:1])
    with pytest.raises(AssertionError, match="apart by up to 1"):
        compare("a", fast=fast, slow=slow, same=identical, against="b")
    assert figures == []


def test_an_exponent_is_that_of_the_fastest_turns_without_the_first(growth, taking, figures):
    runs = {size: taking(0.5, 3 * size**2, size**2) for size in (1, 2, 4, 8)}
    growth("a", (1, 2, 4, 8), runs.get, right=agreeing, of="n", about=2, rounds=2)
    assert figures[0].value == pytest.approx(2)


@pytest.mark.parametrize("factor", [0.0, 0.98, 1.02, -1.0, float("nan")])
@pytest.mark.parametrize("place", [0, 1])
def test_what_is_further_off_than_allowed_is_seen_wherever_it_is(factor, place):
    found = [one.clone() for one in ONES]
    found[place].view(-1)[-1] *= factor
    with pytest.raises(AssertionError, match="apart"):
        within(0.01)(found, ONES)


def test_what_is_allowed_passes_but_not_if_zeros_would():
    within(0.01)([0.995 * one for one in ONES], ONES)
    with pytest.raises(AssertionError, match="zeros would agree"):
        within(1)(ONES, ONES)


@pytest.mark.parametrize(
    ("relation", "value", "met"),
    [(">=", 15, True), (">=", 14, False), ("<=", 15, True), ("<=", 16, False), ("≈", 15.2, True), ("≈", 15.3, False)],
)  # fmt: skip
def test_a_target_is_met_or_missed(relation, value, met):
    assert Figure("a", value, "s", "b", relation, 15).met is met
    assert Figure("a", value, "s", "b", relation, None).met is None


def test_the_page_shows_the_latest_of_each_name_and_a_miss(tmp_path):
    run = {"started": "today", "git": "abc", "processor": "P"}
    measuring.add(tmp_path, Figure("fine", 20, "×", "<autograd>", target=15, run=run))
    for value in (9.0, 5.0):
        page = measuring.add(tmp_path, Figure("a step", value, "×", "b", target=15, run=run))
    text = page.read_text()
    assert '<td class="number missed">5×</td><td class="number">≥ 15×</td>' in text
    assert "9×" not in text
    assert '<td class="number">20×</td>' in text
    assert "&lt;autograd&gt;" in text
