"""python -m repro diff: what matters, what only moved, and what is not compared."""

import copy
import json
import subprocess
import sys

import pytest
from repro.harness.differences import defect, differences, settings

CHECK = {"test": "test_a", "name": "error", "params": {"n": 2}, "measured": 0.5, "relation": "<=",
         "allowed": 1, "tolerance": None, "ok": True, "margin": 2.0}  # fmt: skip
CLAIM = {
    "id": "p/lemma-1",
    "verdict": "holds",
    "checks": [CHECK, CHECK | {"measured": 0.25}],
    "controls": [CHECK | {"test": "test_control_b", "measured": 7.0, "relation": ">="}],
    "table": [
        {"row": "A", "column": "MSE", "paper": 1.0, "ours": 1.1},
        {"row": "A", "column": "RUN TIME", "paper": 10, "ours": 3.0},
    ],
    "counterexamples": [{"refutes": "it", "measured": "1/3", "relation": "=", "expected": "0"}],
    "tests": [
        {"test": "test_a", "state": "passed", "records": {"slope": -2.0}, "seconds": 3.0},
        {"test": "test_b", "state": "passed"},
    ],
    "evidence": ["exact"],
    "solid": True,
    "figures": [{"svg": "claims/p/lemma-1/a.svg", "caption": "A"}],
}


def changed(change):
    """(what, matters) of each difference after `change` has been done to the claim."""
    claim = copy.deepcopy(CLAIM)
    change(claim)
    found = differences({"claims": [CLAIM]}, {"claims": [claim]})
    return {(one.what, one.matters) for one in found}


ERROR = 'test_a: error {"n": 2}'


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: c.update(verdict="failed"), {("verdict", True)}),
        (lambda c: c["checks"][0].update(measured=0.6), {(ERROR, False)}),
        (lambda c: c["checks"][1].update(measured=0.6), {(f"{ERROR} #2", False)}),
        (lambda c: c["checks"][0].update(ok=False), {(f"{ERROR}, ok", True)}),
        (lambda c: c["checks"][0].update(allowed=2), {(f"{ERROR}, allowed", True)}),
        (lambda c: c["checks"][0].update(allowed=1.0001), {(f"{ERROR}, allowed", False)}),
        (lambda c: c["checks"].pop(), {(f"check {ERROR} #2", True)}),
        (
            lambda c: c["checks"].append(CHECK | {"name": "new"}),
            {('check test_a: new {"n": 2}', False)},
        ),
        (lambda c: c["controls"].pop(), {('check test_control_b: error {"n": 2}', True)}),
        (lambda c: c["table"][0].update(ours=1.2), {("A, MSE", False)}),
        (lambda c: c["table"][0].update(paper=1.2), {("A, MSE, paper", True)}),
        (lambda c: c["counterexamples"].clear(), {("counterexample it", True)}),
        (
            lambda c: c["tests"][0]["records"].update(slope=-2.1),
            {("test_a: recorded slope", False)},
        ),
        (lambda c: c["tests"][0]["records"].clear(), {("number test_a: recorded slope", True)}),
        (
            lambda c: c["tests"][0]["records"].update(more=1),
            {("number test_a: recorded more", False)},
        ),
        (lambda c: c["checks"][0].update(measured="nan"), {(ERROR, True)}),
        (lambda c: c["tests"][1].update(state="failed"), {("test_b, state", True)}),
        (lambda c: c["tests"].pop(), {("test test_b", True)}),
        (lambda c: c.update(evidence=[]), {("evidence", True)}),
        (lambda c: c.update(solid=False), {("solid", True)}),
        (lambda c: c["figures"].pop(), {("figure claims/p/lemma-1/a.svg", True)}),
    ],
)
def test_every_kind_of_difference_is_named_and_weighed(change, expected):
    assert changed(change) == expected


def test_times_and_margins_are_not_compared():
    def change(claim):
        claim["table"][1]["ours"] = 99.0
        claim["tests"][0]["seconds"] = 99.0
        claim["checks"][0]["margin"] = 9.0

    assert changed(change) == set()


def test_runs_of_other_settings_cannot_be_compared_silently():
    old = {"run": {"scale": "smoke", "seed": 0, "device": "cpu", "started": "then"}}
    new = {"run": {"scale": "laptop", "seed": 0, "device": "cpu", "started": "now"}}
    assert settings(old, old) == []
    (one,) = settings(old, new)
    assert str(one) == "the run: scale: smoke -> laptop"
    assert one.matters


def test_a_claim_that_is_there_twice_is_no_result():
    assert defect({"claims": [CLAIM, CLAIM]}) == "'p/lemma-1' is there twice"
    assert defect({"claims": [CLAIM]}) == ""


def test_nothing_reaches_the_terminal_that_it_would_obey():
    (one,) = differences({"claims": [CLAIM]}, {"claims": [CLAIM | {"verdict": "\x1b[2J\a"}]})
    assert str(one) == r"p/lemma-1: verdict: holds -> \x1b[2J\x07"


def test_a_claim_that_is_gone_matters_and_a_new_one_does_not():
    other = CLAIM | {"id": "p/lemma-2"}
    (gone,) = differences({"claims": [CLAIM, other]}, {"claims": [CLAIM]})
    (new,) = differences({"claims": [CLAIM]}, {"claims": [CLAIM, other]})
    assert (gone.claim, gone.matters, new.matters) == ("p/lemma-2", True, False)


def diff(*paths):
    command = [sys.executable, "-m", "repro", "diff", *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_says_what_moved_and_ends_with_1_if_it_matters(tmp_path):
    old, near, far = (tmp_path / f"{name}.json" for name in ("old", "near", "far"))
    moved = {**CLAIM, "checks": [CHECK | {"measured": 0.4}, CLAIM["checks"][1]]}
    for path, claim in ((old, CLAIM), (near, moved), (far, CLAIM | {"verdict": "failed"})):
        path.write_text(json.dumps({"schema": 1, "claims": [claim]}))
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
