"""The runner, on a small project; what it believes; and the audit of controls."""

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.mutants import alone, children, controls, equivalents, report, results, session
from tools.mutants.reach import Reach

ROOT = Path(__file__).parents[2]
PYPROJECT = """
[tool.pytest]
pythonpath = ["."]
addopts = ["-p", "repro.plugin", "--import-mode=importlib"]
"""
CODE = """
from functools import cache
SCALE = 3

class Line:
    def at(self, x, slope=2):
        return slope * x + self.start()

    def start(self):
        return 1

@cache
def area(r):
    return SCALE * r * r

def unused(x):
    return x + 1

def forever(n):
    while n > 0:
        n = n - 1
    return n

def doubled(n):
    return n + n

EIGHT = doubled(4)
"""
TESTS = """
import code_of_it
from code_of_it import Line, area

def test_line():
    assert Line().at(2) == 5

def test_area():
    assert area(2) == 12

def test_forever():
    assert code_of_it.forever(1) == 0

def test_eight():
    assert code_of_it.EIGHT == 8
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "code_of_it.py").write_text(CODE)
    (tmp_path / "tests" / "test_it.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    return tmp_path


def python(project, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )


def run(project, *arguments, file="code_of_it.py"):
    return python(project, "-m", "tools.mutants", file, "--patience=3", *arguments)


def known(project):
    found = results.read(project / "artifacts/mutants/results.jsonl").values()
    return {(one.scope, one.operator, one.before, one.after): one for one in found}


def test_every_mutant_meets_the_tests_that_reach_it(project):
    done = run(project)
    assert done.returncode == 1, done.stdout + done.stderr
    found = known(project)
    assert found["Line.at", "sign", "slope * x + self.start()", "slope * x - self.start()"].by == (
        "tests/test_it.py::test_line"
    )
    by_area = "tests/test_it.py::test_area"
    assert found["area", "factor", "SCALE * r", "SCALE"].by == by_area
    assert found["", "constant", "3", "6"].by == by_area, "evaluated at import"
    assert found["Line.at", "constant", "2", "4"].state == "killed", "a default"
    slow = found["forever", "sign", "n - 1", "n + 1"]
    assert (slow.state, slow.by) == ("too slow", "tests/test_it.py::test_forever")
    assert found["doubled", "sign", "n + n", "n - n"].by == "tests/test_it.py::test_eight"
    assert found["unused", "sign", "x + 1", "x - 1"].state == "not reached"
    assert "not reached: code_of_it.py:17 sign: x + 1  ->  x - 1" in done.stdout


def test_what_is_known_is_kept_until_the_function_or_its_tests_change(project):
    """And claims are looked at for what tests do not see."""
    claim = project / "claims/demo2025/test_lemma_1.py"
    claim.parent.mkdir(parents=True)
    claim.write_text("import code_of_it\n\ndef test_it():\n    assert code_of_it.unused(1) == 2\n")
    first = run(project, "--only", "term")
    assert "claims/demo2025/test_lemma_1.py" in first.stdout
    unused = {one.by for one in known(project).values() if one.scope == "unused"}
    assert unused == {"claims/demo2025/test_lemma_1.py::test_it"}
    assert " 0 to settle" in run(project, "--only", "term").stdout
    log = project / "artifacts/mutants/results.jsonl"
    log.write_text(log.read_text() + '{"key": "cut o')
    (project / "code_of_it.py").write_text("\n" + CODE.replace("x + 1", "x + 2"))
    again = run(project, "--only", "term")
    assert " 2 to settle" in again.stdout, "those of unused"
    (project / "tests/test_it.py").write_text(TESTS.replace("at(2) == 5", "at(2)"))
    done = run(project, "--only", "term")
    assert "survived: code_of_it.py:8 term: slope * x + self.start()" in done.stdout


def test_tests_that_are_red_as_they_are_see_nothing_nor_does_a_run_without_time(project):
    none = run(project, "--budget", "0.001")
    assert none.returncode == 2
    assert known(project) == {}
    (project / "tests/test_it.py").write_text(TESTS.replace("== 12", "== 13"))
    done = run(project, "--only", "factor")
    assert "not used, red as they are: tests/test_it.py" in done.stdout
    assert {one.state for one in known(project).values()} == {"not reached"}
    missing = run(project, file="other.py")
    assert "no such module here: other.py (run from the project's root)" in missing.stderr


# --- what is believed ----------------------------------------------------------------------------


def judge(folder, seconds, deadline=float("inf")):
    reach = Reach({}, seconds)
    return session.Job(folder, folder, [], reach, deadline=deadline, patience=3, whole=True)


@pytest.mark.parametrize(
    ("with_it", "without", "expected"),
    [
        ((0, "a", 1.0), None, ("survived", "")),
        ((1, "a", 1.0), (0, "a", 1.0), ("killed", "a")),
        ((1, "a", 1.0), (1, "a", 1.0), ("not reached", "")),  # red as it is
        ((None, "a", 40.0), (0, "a", 1.0), ("too slow", "a")),
        ((None, "a", 40.0), (0, "a", 30.0), ("not reached", "")),  # the machine is slow
        ((-9, "", 1.0), None, ("not reached", "")),  # ended from outside, before a test began
        ((-11, "a", 1.0), (0, "a", 1.0), ("killed", "a")),
    ],
)
def test_what_a_test_says_counts_only_beside_what_it_says_without_the_mutant(
    tmp_path, with_it, without, expected
):
    def run(tests, mutated):
        return children.Ended(*(with_it if mutated else without))

    assert judge(tmp_path, {"a": 1.0}).judged(["a"], run) == expected


def test_a_crash_that_does_not_happen_again_has_seen_nothing(tmp_path):
    codes = iter([-9, 0])

    def run(tests, mutated):
        return children.Ended(next(codes) if mutated else 0, "a", 1.0)

    assert judge(tmp_path, {"a": 1.0}).judged(["a"], run) == ("not reached", "")


def test_a_test_is_late_by_its_own_time_and_tells_nothing_when_the_time_is_up(tmp_path):
    job = judge(tmp_path, {"quick": 0.1, "slow": 100.0})
    assert [job.late(*one) for one in [("quick", 3.4), ("quick", 3.6), ("slow", 60)]] == [
        False, True, False,
    ]  # fmt: skip
    over = judge(tmp_path, {"a": 1.0}, deadline=time.time())
    with pytest.raises(session.TimeIsUp):
        over.judged(["a"], lambda tests, mutated: children.Ended(None, "a", 1.0))


# --- what a claim sees by itself, and the page ---------------------------------------------------

ON_ITS_OWN = """
from pathlib import Path
from tools.mutants import alone, run

alone.modules = lambda root: ["code_of_it.py"]
here = run.Run(Path.cwd(), Path.cwd() / "artifacts/mutants", workers=1, patience=3)
alone.go(here, alone.claims(here.root), alone.mistakes(here.root), 50)
"""


def test_a_claim_meets_mutants_of_what_it_runs_without_other_tests(project, monkeypatch):
    claim = project / "claims/demo2025/test_lemma_1.py"
    claim.parent.mkdir(parents=True)
    claim.write_text(
        "import code_of_it\n\ndef test_it():\n    assert code_of_it.Line().at(1) == 3\n"
    )
    done = python(project, "-c", ON_ITS_OWN)
    assert "1 claims, 1 to try on 50" in done.stdout, done.stderr
    folder = project / "artifacts/mutants"
    states = alone.read(project, folder)["claims/demo2025/test_lemma_1.py"]
    places = {place.key: place for place in results.places(project, "code_of_it.py")}
    state = {places[key].mutant.after: state for key, state in states.items()}
    assert all(places[key].scope in ("Line.at", "Line.start") for key in states)
    assert state["slope"] == "survived", "at 1 nobody sees the factor, test_line does"
    assert state["slope * x - self.start()"] == "killed"
    monkeypatch.setattr(equivalents, "read", list)
    seen, alive = (p for p in places.values() if p.mutant.after in ("n + 1", "x - 1"))
    tests = ["tests/test_it.py::test_line"]
    log = {
        seen.key: results.result(seen, "survived", tests, project),
        alive.key: results.result(alive, "killed", tests, project, by=tests[0]),
    }
    every = alone.found(project, folder, places.values())
    assert (len(every), every[0].tried) == (1, len(states))
    text = "code_of_it.py Line.at: slope * x -> slope"
    assert text in [alone.named(place) for place, _ in every[0].missed]
    (project / "unseen").write_text(f"demo2025/test_lemma_1.py\n    {text}\n        x is 1\n")
    reasons = alone.unseen(project / "unseen")
    assert reasons == {("claims/demo2025/test_lemma_1.py", text): "x is 1"}
    monkeypatch.setattr(alone, "unseen", lambda: reasons)
    assert "x is 1" in [why for _, why in alone.found(project, folder, places.values())[0].missed]
    assert alone.told(every) == 1, "a survivor without a reason"
    page = report.write(project, folder, ["code_of_it.py"], log).read_text()
    assert "see 1 of" in page
    assert f"1 survive, {len(places) - 2} are not settled" in page, "not tried is not seen"
    assert "return x - 1" in page
    assert claim.name in page


# --- controls ------------------------------------------------------------------------------------

CLAIM = """
import pytest

def error(M):
    return max(0, 3 - M)

@pytest.mark.construct
def test_holds(claim):
    claim.measured("error", error(3), equation="(1)").at_most(theorem(0, "invented"))

def test_control_M_too_small(claim):
    claim.measured("error", error(3 / 2), equation="(1)").at_least(theorem(1, "invented"))

def test_control_that_shows_nothing(claim):
    claim.measured("error", error(1) + 1, equation="(1)").at_least(theorem(1, "invented"))

def test_control_that_needs_more(claim):
    if error(2) == 0:
        pytest.skip("needs --scale laptop")
"""


def audit(demo, **entries):
    """Of the controls of lemma-1 with these mends, in a process of its own."""
    demo.claim("lemma-1", CLAIM)
    listed = [
        controls.Entry(f"demo2025/test_lemma_1_demo.py::test_control_{name}", mend)
        for name, mend in entries.items()
    ]
    program = (
        "from pathlib import Path; from tools.mutants import controls as c; "
        "from tools.mutants.controls import Entry; "
        f"m = c.run(Path.cwd(), {listed!r}); "
        "print('FOUND', (m.red, m.passed, m.errors, [one.test for one in m.not_run]))"
    )
    done = python(demo.root, "-c", program)
    line = next(line for line in done.stdout.splitlines() if line.startswith("FOUND"))
    return ast.literal_eval(line.removeprefix("FOUND "))


def test_a_control_without_its_break_is_red_or_bad(demo):
    red, passed, errors, not_run = audit(
        demo, M_too_small=("3 / 2", "3"), that_shows_nothing=("error(1)", "error(3)"),
        that_needs_more=("error(2)", "error(3)"),
    )  # fmt: skip
    assert [test.split("::")[1] for test in not_run] == ["test_control_that_needs_more"]
    assert [told.split(": ")[0].split("::")[1] for told in red] == ["test_control_M_too_small"]
    assert len(passed) == 1
    assert "test_control_that_shows_nothing" in passed[0]
    assert errors == {}


def test_an_entry_that_does_not_fit_is_an_error_and_not_a_pass(demo):
    red, passed, errors, _ = audit(
        demo, M_too_small=("3 / 4", "3"), that_shows_nothing=("error(1)", "unknown(1)"),
        M_too_smal=("3 / 2", "3"),
    )  # fmt: skip
    assert (red, passed) == ([], [])
    for said in ("stands 0 times", "NameError", "no such test"):
        assert any(said in error for error in errors.values())


def test_every_control_of_this_project_has_an_entry():
    """Whether they are red without their breaks is shown by python -m tools.mutants.controls."""
    listed = controls.read()
    assert {entry.test for entry in listed} == set(controls.controls(ROOT / "claims"))
    for entry in listed:
        assert (entry.mend is None) == (len(entry.why.split()) >= 3), entry
        if entry.mend is not None:
            path = ROOT / "claims" / entry.file
            controls.mended(path.read_text(), str(path), entry)
