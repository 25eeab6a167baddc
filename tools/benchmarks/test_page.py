"""What counts as a turn, that two ways must agree, and what the page shows."""

from types import SimpleNamespace

import pytest
import torch

from tools.benchmarks import measuring, page
from tools.benchmarks.measuring import agree, identical, within
from tools.benchmarks.page import Figure

ONES = [torch.ones(3), torch.ones(2, 2)]
NOW, THEN = ({"id": id, "started": id, "git": "abc", "machine": {"processor": "P"}} for id in "ab")


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
    fast, slow = taking(100, 1, 2, 1), taking(1, 10, 10, 30)
    compare("a", fast=fast, slow=slow, same=agreeing, against="b", rounds=3, n=7)
    (found,) = figures
    assert found.value == 10  # of 10, 5 and 30
    assert found.params == {"seconds": "1 against 10", "turns": "3, from 5 to 30", "n": 7}


def test_what_is_over_too_soon_is_called_several_times_a_turn(compare, taking, figures):
    """Three calls of 2, 1 and 3 seconds are 2 each, of four steps; `slow` is called once."""
    fast, slow = taking(9, 2, 1, 3), taking(9, 20)
    compare("a", fast=fast, slow=slow, same=agreeing, against="b", rounds=1, calls=3, repeats=4)
    assert figures[0].value == 10
    assert figures[0].params["seconds"] == "0.5 against 5"


def test_two_ways_that_do_not_agree_have_no_ratio(compare, taking, figures):
    fast, slow = taking(1, result=[0 * ONES[0]]), taking(1, result=ONES[:1])
    with pytest.raises(AssertionError, match="apart by up to 1"):
        compare("a", fast=fast, slow=slow, same=identical, against="b")
    assert figures == []


def test_an_exponent_is_that_of_the_fastest_turns_without_the_first(growth, taking, figures):
    runs = {size: taking(0.5, 3 * size**2, size**2) for size in (1, 2, 4, 8)}
    growth("a", (1, 2, 4, 8), runs.get, right=agreeing, of="n", rounds=2)
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
    identical(ONES, ONES)
    with pytest.raises(AssertionError, match="zeros would agree"):
        agree(ONES, ONES, [1.0, 1.0])


@pytest.mark.parametrize(
    ("relation", "value", "met"),
    [(">=", 15, True), (">=", 14, False), ("<=", 15, True), ("<=", 16, False), ("≈", 15.2, True), ("≈", 15.3, False)],
)  # fmt: skip
def test_a_target_is_met_or_missed(relation, value, met):
    assert Figure("p", "a", value, "s", "b", relation, 15).met is met
    assert Figure("p", "a", value, "s", "b", relation, None).met is None


def test_the_page_shows_a_miss_and_the_value_before(tmp_path):
    for run, value in ((THEN, 9.0), (NOW, 7.0), (NOW, 5.0)):
        page.add(tmp_path, run, Figure("the part", "a step", value, "×", "<autograd>", target=15))
    page.add(tmp_path, NOW, Figure("the part", "fine", 20, "×", "b", target=15, at_least=True))
    text = page.write(tmp_path).read_text()
    assert "1 of 2 targets are met" in text
    assert '<td class="number missed">5×</td><td class="number">≥ 15×</td>' in text
    assert '<td class="number quiet">9×</td>' in text, "of the run before"
    assert "≥ 20×" in text
    assert "&lt;autograd&gt;" in text
