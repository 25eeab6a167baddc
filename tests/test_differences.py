"""python -m repro diff: what matters, what only moved, and what is not compared."""

import copy
import subprocess
import sys
from dataclasses import replace

import pytest

from repro.results import codec
from repro.results.differences import differences
from repro.results.types import (
    Cell,
    Check,
    Counterexample,
    Erratum,
    Figure,
    Number,
    Result,
    Results,
    Run,
)
from repro.results.types import Test as Tested

CHECK = Check(test="test_a", name="error", params={"n": 2}, measured=0.5, relation="<=", allowed=1,
              ok=True, margin=2.0)  # fmt: skip
BALL = Check(test="test_c", name="ball", measured="[0.5, 0.6]", relation="<=",
             allowed="[1.0, 1.0002]", ok=True)  # fmt: skip
SLIP = Erratum(statement="p/lemma-1", grade="misprint", where="statement", place="(1)",
               printed="It is so.", corrected="It is not.", survives="all", why="0")  # fmt: skip
PASSED = Tested(test="test_b", state="passed", role="claim", evidence="exact", run="r")
CLAIM = Result(
    id="p/lemma-1",
    paper="p",
    kind="lemma",
    number="1",
    verdict="holds",
    solid=True,
    evidence=["exact"],
    checks=[CHECK, replace(CHECK, measured=0.25), BALL],
    controls=[replace(CHECK, test="test_control_b", measured=7.0, relation=">=")],
    cells=[
        Cell(row="A", column="MSE", paper=1.0, ours=1.1, outcome="same order"),
        Cell(row="A", column="RUN TIME", paper=10, ours=3.0),
    ],
    counterexamples=[
        Counterexample(
            refutes="it", printed=True, input={}, measured="1/3", relation="=", expected="0"
        )
    ],
    errata=(SLIP,),
    figures=[Figure(svg="claims/p/lemma-1/a.svg", png="", caption="A", alt="A")],
    tests=[
        replace(PASSED, test="test_a", numbers=[Number(name="slope", value=-2.0)]),
        PASSED,
    ],
)


def results(*claims, **settings):
    return Results(title="T", run=Run(id="r", **settings), claims=list(claims))


def found(change):
    """The differences after `change` has been done to the claim."""
    claim = copy.deepcopy(CLAIM)
    change(claim)
    return differences(results(CLAIM), results(claim))


def put(key, number, **fields):
    """A change of one entry of a list of the claim."""

    def change(claim):
        entries = getattr(claim, key)
        entries[number] = replace(entries[number], **fields)

    return change


ERROR = 'test_a: error {"n": 2}'
MORE = [Number(name="slope", value=-2.0), Number(name="more", value=1)]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: setattr(c, "verdict", "failed"), ("verdict", True)),
        (lambda c: setattr(c, "evidence", []), ("evidence", True)),
        (lambda c: setattr(c, "solid", False), ("solid", True)),
        (put("checks", 0, measured=0.6), (ERROR, False)),
        (put("checks", 1, measured=0.6), (f"{ERROR} #2", False)),
        (put("checks", 0, measured="nan"), (ERROR, True)),
        (put("checks", 0, ok=False), (f"{ERROR}, ok", True)),
        (put("checks", 0, allowed=2), (f"{ERROR}, allowed", True)),
        (put("checks", 0, allowed=1.0001), (f"{ERROR}, allowed", False)),
        (lambda c: c.checks.pop(1), (f"check {ERROR} #2", True)),
        (
            lambda c: c.checks.append(replace(CHECK, name="new")),
            ('check test_a: new {"n": 2}', False),
        ),
        (lambda c: c.controls.pop(), ('check test_control_b: error {"n": 2}', True)),
        (put("cells", 0, ours=1.2), ("A, MSE", False)),
        (put("cells", 0, paper=1.2), ("A, MSE, paper", True)),
        (put("cells", 0, outcome="differs"), ("A, MSE, outcome", True)),
        (
            lambda c: setattr(c, "errata", (replace(SLIP, grade="false"),)),
            ("(1) (It is so.), grade", True),
        ),
        (lambda c: setattr(c, "errata", ()), ("erratum (1) (It is so.)", True)),
        (put("checks", 2, allowed="[1.0, 1.0001]"), ("test_c: ball {}, allowed", False)),
        (put("checks", 2, allowed="[1.1, 1.1001]"), ("test_c: ball {}, allowed", True)),
        (lambda c: c.counterexamples.clear(), ("counterexample it", True)),
        (
            put("tests", 0, numbers=[Number(name="slope", value=-2.1)]),
            ("test_a: slope {}", False),
        ),
        (put("tests", 0, numbers=[]), ("number test_a: slope {}", True)),
        (put("tests", 0, numbers=MORE), ("number test_a: more {}", False)),
        (put("tests", 1, state="failed"), ("test_b, state", True)),
        (lambda c: c.tests.pop(), ("test test_b", True)),
        (lambda c: c.figures.pop(), ("figure claims/p/lemma-1/a.svg", True)),
    ],
)
def test_every_kind_of_difference_is_named_and_weighed(change, expected):
    assert [(one.what, one.matters) for one in found(change)] == [expected]


@pytest.mark.parametrize(
    "change",
    [
        put("cells", 1, ours=99.0),
        put("tests", 0, seconds=99.0),
        put("checks", 0, margin=9.0),
    ],
    ids=["a column of times", "seconds", "margin"],
)
def test_times_and_margins_are_not_compared(change):
    assert found(change) == []


def test_a_check_that_was_renamed_is_found_by_what_it_says_or_by_its_place_in_its_test():
    names = ("error for n = 2", "error for n = 4")
    old, new = copy.deepcopy(CLAIM), copy.deepcopy(CLAIM)
    old.checks = [replace(CHECK, name=name, params={}) for name in names]
    new.checks = [replace(CHECK, params={"n": n}) for n in (2, 4)]
    assert differences(results(old), results(new)) == []
    new.checks[1] = replace(new.checks[1], ok=False)
    (red,) = differences(results(old), results(new))
    assert (red.what, red.matters) == ('test_a: error {"n": 4}, ok', True)
    new.checks.pop()
    (lost,) = differences(results(old), results(new))
    assert (lost.what, lost.matters) == ("check test_a: error for n = 4 {}", True)


def test_two_checks_that_changed_places_and_one_name_are_the_same():
    first, second = replace(CHECK, name="error"), replace(CHECK, name="error", measured=0.25)
    old, new = copy.deepcopy(CLAIM), copy.deepcopy(CLAIM)
    old.checks, new.checks = [first, second], [second, replace(first, name="least error")]
    assert differences(results(old), results(new)) == []


def test_runs_of_other_settings_cannot_be_compared_silently():
    old, new = (results(scale=scale, started=scale) for scale in ("smoke", "laptop"))
    (one,) = differences(old, new)
    assert str(one) == "the run: scale: smoke -> laptop"
    assert one.matters


def test_nothing_reaches_the_terminal_that_it_would_obey():
    (one,) = found(lambda claim: setattr(claim, "verdict", "\x1b[2J\a"))
    assert str(one) == r"p/lemma-1: verdict: holds -> \x1b[2J\x07"


def test_a_claim_that_is_gone_matters_and_a_new_one_does_not():
    one, two = results(CLAIM), results(CLAIM, replace(CLAIM, id="p/lemma-2"))
    (gone,), (new,) = differences(two, one), differences(one, two)
    assert (gone.claim, gone.matters, new.matters) == ("p/lemma-2", True, False)


def diff(*paths):
    command = [sys.executable, "-m", "repro", "diff", *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_says_what_moved_and_ends_with_1_if_it_matters(tmp_path):
    old, near, far = (tmp_path / f"{name}.json" for name in ("old", "near", "far"))
    moved = replace(CLAIM, checks=[replace(CHECK, measured=0.4), *CLAIM.checks[1:]])
    for path, claim in ((old, CLAIM), (near, moved), (far, replace(CLAIM, verdict="failed"))):
        codec.write(path, results(claim))
    assert diff(old, old).stdout == "0 that matter, 0 others\n"
    done = diff(old, near)
    assert done.returncode == 0
    assert f"number  p/lemma-1: {ERROR}: 0.5 -> 0.4 (0.2 of it)" in done.stdout
    done = diff(old, far)
    assert done.returncode == 1
    assert "MATTERS p/lemma-1: verdict: holds -> failed" in done.stdout


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "bad.json").write_text("{")
    done = diff(tmp_path / "bad.json", tmp_path / "bad.json")
    assert done.returncode == 2
    assert "bad.json" in done.stderr
    assert "arguments are required: NEW" in diff(tmp_path / "bad.json").stderr
