"""Mutants: every operator does what its table says, and a child sees the change and nobody else."""

import ast
import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from repro.harness import ledger
from repro.mutants import __main__ as runner
from repro.mutants import (
    alone,
    children,
    controls,
    equivalents,
    operators,
    report,
    results,
    session,
)
from repro.mutants.reach import Reach
from repro.mutants.reach import read as read_reach
from repro.mutants.run import SNAPSHOT, Run, modules

ROOT = Path(__file__).parent.parent


def changes(source):
    return {(one.operator, one.before, one.after) for one in operators.mutants(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a + b", {("sign", "a + b", "a - b"), ("term", "a + b", "a"), ("term", "a + b", "b")}),
        ("a - b", {("sign", "a - b", "a + b"), ("term", "a - b", "a"), ("term", "a - b", "-b")}),
        (
            "a * b",
            {("inverse", "a * b", "a / b"), ("factor", "a * b", "a"), ("factor", "a * b", "b")},
        ),
        ("a / b", {("inverse", "a / b", "a * b"), ("factor", "a / b", "a")}),
        ("a // b", {("factor", "a // b", "a")}),
        ("a % b", {("factor", "a % b", "a")}),
        ("x += a", {("sign", "a", "-a")}),
        ("x *= a", {("inverse", "a", "1 / a")}),
        ("a and b", {("branch", "a and b", "a or b")}),
        ("where(c, a, b)", {("branch", "where(c, a, b)", "where(c, b, a)")}),
        ("x.lower()", {("extreme", "x.lower()", "x.upper()")}),
        ("x[1]", {("index", "x[1]", "x[2]")}),
        (
            "range(0, n)",
            {("index", "range(0, n)", "range(1, n)"), ("index", "range(0, n)", "range(0, n + 1)")},
        ),
        ("a ** b", {("exponent", "a ** b", "a ** (b + 1)")}),
        ("-a", {("sign", "-a", "a")}),
        ("x = 3", {("constant", "3", "6")}),
        ("x = 0.0", {("constant", "0.0", "1")}),
        ("x[i]", {("index", "x[i]", "x[i + 1]")}),
        ("x[:k]", {("index", "x[:k]", "x[:k + 1]")}),
        ("range(n)", {("index", "range(n)", "range(n + 1)")}),
        ("a < b", {("inequality", "a < b", "a >= b"), ("edge", "a < b", "a <= b")}),
        ("a == b", {("inequality", "a == b", "a != b")}),
        ("a if c else b", {("branch", "a if c else b", "b if c else a")}),
        ("if c:\n    x", {("branch", "c", "not c")}),
        ("min(a, b)", {("extreme", "min(a, b)", "max(a, b)")}),
        ("x.max()", {("extreme", "x.max()", "x.min()")}),
        ("A.mT @ b", {("transposed", "A.mT", "A")}),
    ],
)
def test_an_operator_does_what_its_table_says(source, expected):
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring, 1 + 1."""',
        "def f(x: Array[3]) -> Array[3]:\n    return x",
        "raise ValueError(f'{a + b}')",
        "if TYPE_CHECKING:\n    x = 1",
        "@cache(3)\ndef f():\n    return x",
    ],
)
def test_what_is_not_computed_is_left_alone(source):
    assert changes(source) == set()


@pytest.mark.parametrize(
    ("source", "after", "whole"),
    [
        ("d - (a + b) * c", "a + b", "d - (a + b)"),
        ("d - c * (a + b)", "a + b", "d - (a + b)"),
        ("c * -(a + b)", "a + b", "c * (a + b)"),
        ("x = not (a and b)", "a or b", "x = not (a or b)"),
        ("(a + b) * c", "a - b", "(a - b) * c"),
    ],
)
def test_what_is_put_in_binds_as_what_was_there(source, after, whole):
    found = [
        ast.unparse(ast.parse(one.source))
        for one in operators.mutants(source)
        if one.after == after
    ]
    assert whole in found


def test_only_the_place_changes_and_letters_of_several_bytes_do_no_harm():
    source = "größe = 1  # eins\nα = (größe +\n     x) * y\n"
    found = {one.after: one.source for one in operators.mutants(source)}
    assert found["größe - x"] == "größe = 1  # eins\nα = (größe - x) * y\n"
    assert found["2"] == source.replace("1", "2")


def test_every_mutant_of_the_package_can_be_compiled():
    for file in ("repro/jiang2024/output_floor.py", "repro/harness/checks.py"):
        for one in operators.mutants((ROOT / file).read_text()):
            compile(one.source, file, "exec")


# --- a small project -----------------------------------------------------------------------------

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
    (tmp_path / "pyproject.toml").write_text('[tool.pytest]\npythonpath = ["."]\n')
    return tmp_path


def run(project, *arguments, file="code_of_it.py"):
    command = [sys.executable, "-m", "repro.mutants", file, "--patience=3", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )


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
    assert found["forever", "edge", "n > 0", "n >= 0"].state == "killed"
    assert found["doubled", "sign", "n + n", "n - n"].by == "tests/test_it.py::test_eight"
    assert found["unused", "sign", "x + 1", "x - 1"].state == "not reached"
    assert "not reached: code_of_it.py:17 sign: x + 1  ->  x - 1" in done.stdout


def test_a_change_that_a_living_function_cannot_take_is_imported(project):
    """1[0] is a warning when it is compiled, and warnings are errors in this project's tests."""
    (project / "code_of_it.py").write_text("def rest(v):\n    return (1 - v)[0]\n")
    (project / "tests/test_it.py").write_text(
        "import numpy\nimport code_of_it\n\n"
        "def test_rest():\n    assert code_of_it.rest(numpy.ones(1)) == 0\n"
    )
    with (project / "pyproject.toml").open("a") as settings:
        settings.write('filterwarnings = ["error"]\n')
    assert run(project, "--only", "term").returncode == 0
    assert known(project)["rest", "term", "1 - v", "1"].state == "killed"


def test_claims_are_looked_at_for_what_tests_do_not_see(project):
    claim = project / "claims/demo2025/test_lemma_1.py"
    claim.parent.mkdir(parents=True)
    claim.write_text("import code_of_it\n\ndef test_it():\n    assert code_of_it.unused(1) == 2\n")
    seen = run(project, "--lines", "14-14")
    assert seen.returncode == 0, seen.stdout
    assert "test_lemma_1" not in seen.stdout
    both = run(project, "--lines", "14-17")
    assert "1/1 claims/demo2025/test_lemma_1.py" in both.stdout
    unused = {one.by for one in known(project).values() if one.scope == "unused"}
    assert unused == {"claims/demo2025/test_lemma_1.py::test_it"}
    assert both.returncode == 0, both.stdout
    assert "0 to settle" in run(project, "--lines", "14-17").stdout


def test_tests_that_import_it_only_through_others_are_looked_at_for_what_is_left(project):
    (project / "between.py").write_text("import code_of_it\n\nunused = code_of_it.unused\n")
    test = "import between\n\ndef test_far():\n    assert between.unused(1) == 2\n"
    (project / "tests/test_far.py").write_text(test)
    assert "test_far" not in run(project, "--lines", "14-14").stdout
    assert "1/1 tests/test_far.py" in run(project, "--lines", "14-17").stdout
    assert {one.by for one in known(project).values() if one.scope == "unused"} == {
        "tests/test_far.py::test_far"
    }


def test_a_constant_meets_tests_that_only_read_it(project):
    (project / "tests/test_it.py").write_text(TESTS.replace("== 12", "> 0"))
    test = "import code_of_it\n\ndef test_scale():\n    assert code_of_it.SCALE == 3\n"
    (project / "tests/test_constants.py").write_text(test)
    run(project, "--lines", "3-3")
    seen = known(project)["", "constant", "3", "6"].by
    assert seen == "tests/test_constants.py::test_scale"


def test_what_is_known_is_kept_until_the_function_or_its_tests_change(project):
    quick = ["--only", "sign", "--lines", "5-15"]
    assert "1 mutants, 1 to settle" in run(project, *quick).stdout
    assert "1 mutants, 0 to settle" in run(project, *quick).stdout
    log = project / "artifacts/mutants/results.jsonl"
    log.write_text(log.read_text() + '{"key": "cut o')
    (project / "code_of_it.py").write_text("\n\n" + CODE.replace("x + 1", "x + 2"))
    moved = ["--only", "sign", "--lines", "7-17"]
    assert "1 mutants, 0 to settle" in run(project, *moved).stdout, "another function has changed"
    (project / "code_of_it.py").write_text(CODE.replace("slope * x + self", "x * slope + self"))
    assert "1 mutants, 1 to settle" in run(project, *quick).stdout
    tests = project / "tests/test_it.py"
    tests.write_text(TESTS.replace("area(2) == 12", "area(3) == 27  # more") + "\n# a comment\n")
    assert "1 mutants, 0 to settle" in run(project, *quick).stdout, "another test has changed"
    tests.write_text(TESTS.replace("Line().at(2) == 5", "Line().at(2)"))
    done = run(project, *quick)
    assert "1 mutants, 1 to settle" in done.stdout
    assert "survived: code_of_it.py:7 sign: x * slope + self.start()" in done.stdout


def test_a_result_rests_on_its_test_and_on_what_the_file_has_for_all(tmp_path):
    file = tmp_path / "test_it.py"

    def digest(text, test="test_a[1::x]"):
        file.write_text(text)
        os.utime(file, ns=(0, next(moments)))  # the next moment of the clock
        return results.digest(tmp_path, [f"test_it.py::{test}"])

    moments = iter(range(1, 100))
    text = "SIZE = 3\n\ndef test_a():\n    assert SIZE\n\ndef test_b():\n    pass\n"
    before = digest(text)
    assert digest(text.replace("pass", "assert 0")) == before
    assert digest(text.replace("SIZE = 3", "SIZE = 4")) != before
    assert digest(text.replace("assert SIZE", "assert not SIZE")) != before
    assert digest(text.replace("test_a", "test_c")) != before
    assert digest(text, "test_b") != before
    file.unlink()
    assert results.digest(tmp_path, ["test_it.py::test_a"]) != before


def test_what_was_never_tried_comes_first_and_what_was_seen_last(project):
    log = project / "artifacts/mutants/results.jsonl"
    (project / "tests/test_it.py").write_text(TESTS.replace("Line().at(2) == 5", "Line().at(2)"))
    assert run(project, "--only", "factor").returncode == 1
    before = {one["key"]: one["state"] for one in map(json.loads, log.read_text().splitlines())}
    assert {"killed", "survived"} <= set(before.values())
    (project / "tests/test_it.py").write_text(f"CHANGED = True\n{TESTS}")
    run(project, "--workers", "1")
    order = [json.loads(line)["key"] for line in log.read_text().splitlines()[len(before) :]]
    turns = [before.get(key, "new") for key in order]
    assert turns == sorted(turns, key=["new", "survived", "killed"].index)


def test_what_is_known_can_be_taken_to_another_clone(project, tmp_path):
    places = results.places(project, "code_of_it.py")
    here, packed, there = (tmp_path / name for name in ("here", "reference/packed", "there"))
    for place in places[:3]:
        results.append(here, results.result(place, "killed", [], project))
    results.keep(here, packed, [place.key for place in places[1:]])
    results.begin(there, packed)
    assert list(results.read(there)) == sorted(place.key for place in places[1:3])
    there.write_text("")
    results.begin(there, packed)
    assert results.read(there) == {}, "what is known here is not written over"


def test_tests_that_are_red_as_they_are_see_nothing(project):
    (project / "tests/test_it.py").write_text(TESTS.replace("== 12", "== 13"))
    done = run(project, "--only", "factor")
    assert "not used, red as they are: tests/test_it.py" in done.stdout
    assert {one.state for one in known(project).values()} == {"not reached"}


def test_a_budget_ends_the_run_and_the_next_goes_on(project):
    none = run(project, "--budget", "0.001")
    assert none.returncode == 2
    assert "0 tried now: 0 seen, 0 not" in none.stdout
    assert known(project) == {}
    assert run(project, "--only", "constant").returncode == 1
    assert ("Line.start", "constant", "1", "2") in known(project)


def test_a_file_that_is_not_there_is_said(project):
    done = run(project, file="other.py")
    assert done.returncode == 1
    assert "no such module here: other.py (run from the project's root)" in done.stderr


WRONG = {
    "--only squared": "choose from 'sign'",
    "--lines five": "'five' is neither a line, such as 7, nor 7-12",
    "--tests nope.py": "no such module here: nope.py",
    "--tests pyproject.toml": "no such module here: pyproject.toml",
    "--workers 0": "0 is not 1, 2, 3, ...",
    "--alone -3": "-3 is not 1, 2, 3, ...",
    "--budget -5": "-5 is not above 0",
}


@pytest.mark.parametrize(("options", "says"), WRONG.items(), ids=WRONG)
def test_options_that_make_no_sense_are_refused(options, says, capsys, monkeypatch):
    """Instead of a run of no mutants, which looks like a pass."""
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as refused:
        runner.main(options.split())
    assert says in capsys.readouterr().err + str(refused.value)


# --- controls ------------------------------------------------------------------------------------

CLAIM = """
import pytest

def error(M):
    return max(0, 3 - M)

@pytest.mark.construct
def test_holds(claim):
    claim.at_most(error(3), 0, "error", equation="(1)", source="theorem: invented")

def test_control_M_too_small(claim):
    claim.at_least(error(3 / 2), 1, "error", equation="(1)", source="theorem: invented")

def test_control_that_shows_nothing(claim):
    claim.at_least(error(1) + 1, 1, "error", equation="(1)", source="theorem: invented")

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
        "import sys; from pathlib import Path; from repro.mutants import controls as c; "
        "from repro.mutants.controls import Entry; "
        f"m = c.run(Path.cwd(), {listed!r}); "
        "print('FOUND', (m.red, m.passed, m.errors, [one.test for one in m.not_run]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=demo.root, capture_output=True, text=True, check=False
    )
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


def test_an_entry_that_does_not_fit_its_test_is_an_error(demo):
    red, passed, errors, _ = audit(
        demo, M_too_small=("3 / 4", "3"), that_shows_nothing=("error(1)", "unknown(1)")
    )
    assert (red, passed) == ([], [])
    assert any("stands 0 times" in error for error in errors.values())
    assert any("NameError" in error for error in errors.values())


def test_an_entry_that_fits_no_test_is_an_error_and_not_a_pass(demo):
    red, passed, errors, _ = audit(demo, M_too_smal=("3 / 2", "3"))
    assert (red, passed) == ([], [])
    assert [error.split(",")[0] for error in errors.values()] == ["no such test"]


def test_a_name_that_no_control_has_is_refused():
    """Instead of "0 controls, 0 not red", which looks like a pass."""
    with pytest.raises(SystemExit, match="no control's name begins with wang2025"):
        controls.main(["wang2025"])


def test_every_control_of_this_project_has_an_entry():
    """Whether they are red without their breaks is shown by python -m repro.mutants.controls."""
    listed = controls.read()
    assert {entry.test for entry in listed} == set(controls.controls(ROOT / "claims"))
    for entry in listed:
        assert (entry.mend is None) == (len(entry.why.split()) >= 3), entry
        if entry.mend is not None:
            path = ROOT / "claims" / entry.file
            controls.mended(path.read_text(), str(path), entry)


# --- what a claim sees by itself -----------------------------------------------------------------


ON_ITS_OWN = """
import sys
from pathlib import Path
from repro.harness import ledger
from repro.mutants import alone, run

alone.modules = lambda root: ["code_of_it.py"]
here = run.Run(Path.cwd(), Path.cwd() / "artifacts/mutants", workers=1, patience=3)
alone.go(here, alone.claims(here.root), int(sys.argv[1]))
alone.keep(here.folder, here.root)
"""


def on_its_own(project, count):
    done = subprocess.run(
        [sys.executable, "-c", ON_ITS_OWN, str(count)],
        cwd=project, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_test_is_late_by_its_own_time(tmp_path):
    job = judge(tmp_path, {"quick": 0.1, "slow": 100.0})
    assert [job.late(*one) for one in [("quick", 3.4), ("quick", 3.6), ("slow", 60)]] == [
        False,
        True,
        False,
    ]
    assert not job.late("", 17), "before the first test all is imported"


def judge(folder, seconds, deadline=float("inf")):
    reach = Reach({}, seconds)
    return session.Job(folder, folder, [], reach, deadline=deadline, patience=3, whole=True)


def test_when_the_time_is_up_a_test_is_ended_and_tells_nothing(tmp_path):
    def run(tests, mutated):
        return children.Ended(None, "a", 1.0)

    over = judge(tmp_path, {"a": 1.0}, deadline=time.time())
    assert over.late("a", 0.0)
    with pytest.raises(session.TimeIsUp):
        over.judged(["a"], run)


@pytest.mark.parametrize(
    ("with_it", "without", "expected"),
    [
        ((0, "a", 1.0), None, ("survived", "")),
        ((1, "a", 1.0), (0, "a", 1.0), ("killed", "a")),
        ((1, "a", 1.0), (1, "a", 1.0), ("not reached", "")),  # red as it is
        ((None, "a", 40.0), (0, "a", 1.0), ("too slow", "a")),
        (
            (None, "a", 40.0),
            (0, "a", 30.0),
            ("not reached", ""),
        ),  # the machine is slow, not the mutant
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


def test_what_is_left_of_the_tests_decides_when_one_is_not_believed(tmp_path):
    def run(tests, mutated):
        return children.Ended(1 if "broken" in tests else 0, tests[0], 1.0)

    assert judge(tmp_path, {}).judged(["broken", "good"], run) == ("survived", "")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a killed run leaves its children")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_or_interrupted_leaves_nothing_running(how, project):
    (project / "tests/test_it.py").write_text(TESTS.replace("forever(1)", "forever(-1)"))
    (project / "tests/test_slow.py").write_text(
        "import os, time\n\ndef test_slow():\n"
        "    import code_of_it\n    open('began', 'w').write(str(os.getpid()))\n    time.sleep(600)\n"
    )
    command = [sys.executable, "-m", "repro.mutants", "code_of_it.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # not in the background
    with subprocess.Popen(
        command, cwd=project, env=environment, preexec_fn=heard, **pipes
    ) as process:
        began = project / "began"
        wait_until(lambda: began.exists() and began.read_text())
        process.send_signal(how)
        said, complained = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted: what is known is kept" in said
        assert complained == ""
    child = int(began.read_text())
    wait_until(lambda: not Path(f"/proc/{child}").exists())


def wait_until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)


def test_a_claim_meets_some_mutants_of_what_it_runs_without_other_tests(project):
    claim = project / "claims/demo2025/test_lemma_1.py"
    claim.parent.mkdir(parents=True)
    claim.write_text(
        "import code_of_it\n\ndef test_it():\n    assert code_of_it.Line().at(1) == 3\n"
    )
    said = on_its_own(project, 50)
    (found,) = alone.read(project)
    places = {place.key: place for place in results.places(project, "code_of_it.py")}
    state = {places[key].mutant.after: state for key, state in found.states.items()}
    assert found.claim == "claims/demo2025/test_lemma_1.py"
    assert found.functions == {("code_of_it.py", name) for name in ("Line.at", "Line.start")}
    assert all(places[key].scope in ("Line.at", "Line.start") for key in found.states)
    assert state["slope"] == "survived", "at 1 nobody sees the factor, test_line does"
    assert state["slope * x - self.start()"] == "killed"
    assert "1 claims, 1 to try on 50" in said
    assert "1 claims, 0 to try on 3" in on_its_own(project, 3), "more is known"
    claim.unlink()
    assert alone.read(project) == [], "a claim that is gone"


def test_what_a_claim_imports_while_it_runs_is_not_what_it_executes(tmp_path):
    """Claims import late: without care the first of their tests would execute whole modules."""
    claim = ROOT / "claims/wang2024/test_finding_dot_product_constant.py"
    program = (
        "import sys; from pathlib import Path; from repro.mutants import reach; "
        "root, folder, claim = map(Path, sys.argv[1:]); assert not reach.look(root, folder, claim)"
    )
    command = [sys.executable, "-c", program, str(ROOT), str(tmp_path), str(claim)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    found = read_reach(ROOT, tmp_path, [claim])
    assert "repro/wang2024/pointer.py" in found.lines
    assert "repro/wang2024/targets.py" not in found.lines, "it makes targets when it is imported"
    assert found.imported["repro/wang2024/targets.py"]


def test_every_claim_has_its_own_draw_and_always_the_same(project):
    places = [one for one in results.places(project, "code_of_it.py") if one.inside]
    lines = sorted({one.mutant.line for one in places})
    known = Reach({"code_of_it.py": {"test": lines}}, {"test": 0.1})

    def drawn(claim, count, places=places):
        return [one.key for one in alone.drawn(places, known, claim, count)]

    first = drawn("claims/a.py", 5)
    assert len(set(first)) == 5 < len(places)
    assert first == drawn("claims/a.py", 9)[:5] == drawn("claims/a.py", 5, places[::-1])
    assert first != drawn("claims/b.py", 5)


def test_the_report_has_a_row_for_each_claim(project, monkeypatch):
    monkeypatch.setattr(equivalents, "read", list)
    seen, alive = place_of(project, "sign", "n - 1"), place_of(project, "sign", "x + 1")
    functions = frozenset({("code_of_it.py", "forever"), ("code_of_it.py", "gone")})
    states = {seen.key: "killed", alive.key: "survived", "of code that has changed": "killed"}
    one = alone.Alone("claims/demo2025/test_lemma_1.py", functions, states)
    monkeypatch.setattr(alone, "read", lambda root: [one])
    by = "tests/test_it.py::test_forever"
    log = {seen.key: results.result(seen, "killed", [], project, by=by)}
    made = report.made(project, ["code_of_it.py"], log)
    (row,) = made.claims
    inside = [p for p in results.places(project, "code_of_it.py") if p.scope == "forever"]
    assert (row.mutants, row.killed) == (len(inside), 1)
    assert (row.tried, row.missed) == (2, [alive])
    text = report.markdown(made)
    assert "All claims together: 1 of 2." in text
    line = alive.mutant.line
    told = f"- {one.claim}: code_of_it.py:{line}, `x + 1` becomes `x - 1`"
    assert told in text
    assert report.ClaimRow("claim").alone == "runs none of it"


def test_what_was_seen_by_a_test_that_has_changed_is_not_settled(project, monkeypatch):
    monkeypatch.setattr(equivalents, "read", list)
    by = "tests/test_it.py::test_forever"
    seen = place_of(project, "sign", "n - 1")
    log = {seen.key: results.result(seen, "killed", [], project, by=by)}
    assert report.made(project, ["code_of_it.py"], log).total.killed == 1
    (project / "tests/test_it.py").write_text(TESTS.replace("forever(1)", "forever(2)"))
    total = report.made(project, ["code_of_it.py"], log).total
    assert (total.killed, total.untried) == (0, total.mutants)


# --- no mistakes, and the report -----------------------------------------------------------------


def place_of(project, operator, before):
    return next(
        place
        for place in results.places(project, "code_of_it.py")
        if (place.mutant.operator, place.mutant.before) == (operator, before)
    )


def same(**changes):
    entry = {
        "file": "code_of_it.py",
        "function": "area",
        "line": "return SCALE * r * r",
        "before": "SCALE * r",
        "after": "SCALE",
        "reason": "r is 1",
    }
    return equivalents.Same(**{**entry, **changes})


def test_an_entry_stands_for_its_line_and_change_only(project):
    places = results.places(project, "code_of_it.py")
    wanted = place_of(project, "factor", "SCALE * r")
    assert equivalents.standing_for(project, places, [same()]) == {wanted.key: same()}
    for other in ({"function": "at"}, {"line": "return r"}, {"after": "x"}):
        assert equivalents.standing_for(project, places, [same(**other)]) == {}
        assert equivalents.stale(project, places, [same(), same(**other)]) == [same(**other)]


def test_an_entry_with_a_place_stands_for_one_of_several(tmp_path):
    (tmp_path / "code_of_it.py").write_text("def f(x):\n    return x[1] + x[1] + x[1]\n")
    places = results.places(tmp_path, "code_of_it.py")
    line = {"function": "f", "line": "return x[1] + x[1] + x[1]", "before": "x[1]", "after": "x[2]"}
    alike = [place.key for place in places if place.mutant.before == "x[1]"]
    assert len(alike) == 3
    assert list(equivalents.standing_for(tmp_path, places, [same(**line)])) == alike
    assert list(equivalents.standing_for(tmp_path, places, [same(**line, place=2)])) == [alike[1]]
    assert equivalents.stale(tmp_path, places, [same(**line, place=4)]) == [same(**line, place=4)]


def test_every_entry_of_this_project_stands_for_a_mutant():
    listed = equivalents.read()
    files = sorted({one.file for one in listed})
    places = [place for file in files for place in results.places(ROOT, file)]
    assert equivalents.stale(ROOT, places, listed) == []
    assert all(len(one.reason.split()) >= 3 for one in listed)
    assert len({(one.name, one.place) for one in listed}) == len(listed), "an entry stands twice"


def test_no_test_has_seen_a_mutant_that_is_listed(tmp_path):
    results.begin(tmp_path / "known", ROOT / SNAPSHOT)
    known = results.read(tmp_path / "known")
    places = [place for file in modules(ROOT) for place in results.places(ROOT, file)]
    listed = equivalents.standing_for(ROOT, places, equivalents.read())
    assert [key for key in listed if key in known and known[key].state in results.SEEN] == []


def test_those_listed_are_tried_only_if_asked_for(project, monkeypatch):
    monkeypatch.setattr(equivalents, "read", lambda: [same()])
    (one,) = Run(project, project, listed=True)._places("code_of_it.py")
    assert one == place_of(project, "factor", "SCALE * r")
    others = Run(project, project)._places("code_of_it.py")
    assert {one, *others} == set(results.places(project, "code_of_it.py"))
    assert one not in others


def test_every_finding_names_a_statement():
    known = set(ledger.read(ROOT / "claims/ledger.toml").statements)
    found = {one.finding for one in equivalents.read() if one.finding}
    assert found
    assert found <= known


def test_the_report_counts_and_shows_survivors(project, monkeypatch):
    monkeypatch.setattr(equivalents, "read", lambda: [same(finding="demo2025/lemma-1")])
    seen, alive = place_of(project, "sign", "n - 1"), place_of(project, "sign", "x + 1")
    tests = ["tests/test_it.py::test_line"]
    log = {
        seen.key: results.result(seen, "killed", tests, project, by=tests[0]),
        alive.key: results.result(alive, "survived", tests, project),
    }
    made = report.made(project, ["code_of_it.py"], log)
    (row,) = made.rows
    assert (row.killed, row.survived, row.equivalent) == (1, 1, 1)
    assert row.share == 1 / (row.mutants - 1), "what has not been tried has not been seen"
    assert row.untried == row.mutants - 3
    text = report.markdown(made)
    assert "-    return x + 1\n+    return x - 1" in text
    assert "| tests/test_it.py | 1 |" in text
    change = "in `return SCALE * r * r`, `SCALE * r` becomes `SCALE`"
    assert f"### code_of_it.py\n\n- r is 1\n  - area, {change}\n" in text
    assert f"- demo2025/lemma-1, {change}" in text
    report.write(made, project / "artifacts")
    page = (project / "artifacts/mutants.html").read_text()
    assert f"Of {row.mutants - 1} such mistakes, 1 turned" in page
    assert f"{row.untried} are not settled yet" in page
    assert "return x - 1" in page
