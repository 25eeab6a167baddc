"""What runs of claims cost: seconds, trainings and functions of each claim, memory of each test."""

import importlib
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import BuiltinImporter
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from demo import PASSES

from repro import files
from repro.training import Store
from tools.costs import __main__ as command
from tools.costs import claims as of_claims
from tools.costs import runs, sampling
from tools.costs.claims import WAITING, Samples

FILE = "claims/demo2025/test_lemma_1_demo.py"
ROOT = Path(__file__).parents[2]


# --- from results and samples --------------------------------------------------------------------


def stored(key, seconds, reason="computed: no entry", kind="fit"):
    return {"kind": kind, "key": key, "seconds": seconds, "reason": reason}


def a_claim(id, *tests):
    return {
        "id": id,
        "file": f"claims/{id}.py",
        "tests": [{"seconds": s, "store": list(e)} for s, e in tests],
    }


CLAIMS = [
    a_claim("p/a", (10.0, [stored("k", 100.0, "reused: computed yesterday")]), (1.0, [])),
    a_claim("p/b", (95.0, [])),
    a_claim("p/c", (57.0, [stored("m", 20.0), stored("n", 30.0, kind="other")])),
]


def seen(folder, *several):
    """Samples of processes, each told as [(claim, ours, library, function, seconds)], {test: bytes}."""
    for number, (spent, peaks) in enumerate(several):
        held = {"peaks": peaks, "added": {test: most - 4 for test, most in peaks.items()}}
        found = {"spent": spent, **held, "span": [10.0, 20.0 + number]}
        files.write_json(folder / f"costs/gw{number}.json", found)
    return Samples(folder)


def test_a_training_counts_for_the_claim_that_made_it_and_one_that_was_there_for_none():
    assert list(of_claims.trainings(CLAIMS)) == [("fit", 20.0), ("other", 30.0)]
    assert of_claims.busy(CLAIMS) == 10 + 1 + 95 + 7


def test_the_samples_of_all_processes_are_added_up(tmp_path):
    first = [("a", "f", "", "", 1.0), ("a", "g", "", "", 6.0)], {"a::t": 5, "a::u": 7}
    second = [("a", "f", "", "", 9.0), ("b", "f", "", "", 4.0)], {"b::v": 6}
    samples = seen(tmp_path, first, second)
    assert samples.functions("a") == [("f", 10 / 16), ("g", 6 / 16)]
    assert samples.functions("b") == [("f", 1.0)]
    assert samples.largest() == [("a::u", 3), ("b::v", 2)]
    assert max(samples.peaks.values()) == 7


def test_a_library_is_told_with_its_function_if_that_has_most_of_the_part(tmp_path):
    places = [("f", "torch", "backward", 5.0), ("f", "torch", "linear", 1.0), ("f", "", "", 3.0)]
    places += [("g", "json", "dumps", 1.0), ("g", "json", "loads", 1.0), ("", "_pytest", "x", 1.0)]
    samples = seen(tmp_path, ([("a", *place) for place in places], {}))
    assert samples.functions("a") == [
        ("f (torch: backward)", 6 / 12),
        ("f", 3 / 12),
        ("g (json)", 2 / 12),
        ("_pytest: x", 1 / 12),
    ]


def test_who_waits_for_a_training_pays_nothing_for_it(tmp_path):
    b = "claims/p/b.py"
    spent = [
        (b, "f", "", "", 3.0),
        (b, WAITING, "filelock", "acquire", 90.0),
        (b, "g", "", "", 1.0),
    ]
    rows = of_claims.spent(CLAIMS, seen(tmp_path, (spent, {})))
    found = {row["id"]: row["seconds"] for row in rows}
    assert list(found.items()) == [("p/c", 57.0), ("p/a", 11.0), ("p/b", 5.0)]
    assert rows[0]["trainings"] == {"other": 30.0, "fit": 20.0}
    assert rows[-1]["functions"] == [("f", 0.75), ("g", 0.25)]


def test_the_place_where_the_store_waits_is_still_called_so():
    code = Store._hold.__wrapped__.__code__  # type: ignore[attr-defined]
    assert f"repro/training/{Path(code.co_filename).name}: {code.co_qualname}" == WAITING


def test_the_seconds_of_a_run_by_what_is_done_in_them(tmp_path):
    spent = [
        ("a", "repro/numerics/l1.py: best", "scipy", "x", 2.0),
        ("a", "repro/jiang2024/trained_vit.py: Images.moments", "", "", 3.0),
        ("b", "repro/jiang2024/rate.py: f", "", "", 1.0),
        ("b", "repro/numerics/exact.py: f", "", "", 5.0),
        ("b", "repro/numerics/arrays.py: inner", "", "", 1.0),
        ("b", "repro/harness/claim.py: _search", "hypothesis", "x", 0.75),
        ("b", WAITING, "filelock", "acquire", 90.0),
        ("b", "", "_pytest", "x", 0.5),
    ]
    judged, constructions, numerics, drawn, *_ = of_claims.KINDS
    found = seen(tmp_path, (spent[:3], {}), (spent[3:], {})).kinds()
    wanted = {numerics: 7.0, judged: 3.0, constructions: 2.0, drawn: 0.75, "other": 0.5}
    assert list(found.items()) == list(wanted.items())


def test_every_kind_names_files_and_functions_that_are_there():
    for place in itertools.chain(*of_claims.KINDS.values()):
        file, _, function = place.partition(": ")
        found = list(ROOT.glob(f"{file}*"))
        assert found, place
        assert not function or f"def {function}(" in found[0].read_text(), place


def test_the_table_keeps_the_dearest_ten_and_their_largest_functions():
    rows = [{"id": str(k), "functions": [("f", 0.1)] * 9} for k in range(20)]
    kept = of_claims.dearest(rows)
    assert [row["id"] for row in kept] == [str(k) for k in range(10)]
    assert {len(row["functions"]) for row in kept} == {of_claims.FUNCTIONS}


# --- looking at a thread -------------------------------------------------------------------------


WITHIN_A_LIBRARY = """
import re
def work(place):
    found = []
    re.sub("a", lambda match: found.append(place(sys._getframe(1))) or "", "a")
    return found[0]
"""
WITHIN_A_SEARCH = """
import hypothesis
def work(place):
    found = []
    @hypothesis.settings(max_examples=1, database=None)
    @hypothesis.given(hypothesis.strategies.just(0))
    def search(case):
        found.append(place(sys._getframe(1)))
    search()
    return found[0]
"""
ALONE = """
def work(place):
    return (lambda: place(sys._getframe()))()
"""


def placed(root, file, source):
    """Where a look finds this module, as if it lay in that file; in a thread: nothing calls it."""
    names = {"sys": sys}
    exec(compile(source, str(file), "exec"), names)
    with ThreadPoolExecutor() as threads:
        return threads.submit(names["work"], sampling.Sampler(root).place).result()  # type: ignore[arg-type]


def test_a_function_of_a_library_counts_for_ours_that_called_it(tmp_path):
    file = tmp_path / "claims/p/test_x.py"
    found = placed(tmp_path, file, WITHIN_A_LIBRARY)
    assert found == ("claims/p/test_x.py: work", "re", "sub")
    assert placed(tmp_path, file, ALONE) == ("claims/p/test_x.py: work", "", "")


def test_a_search_counts_for_the_function_that_makes_it(tmp_path):
    """And not for one that hypothesis puts around it and that no file has."""
    ours, library, _ = placed(tmp_path, tmp_path / "claims/p/test_x.py", WITHIN_A_SEARCH)
    assert (ours, library) == ("claims/p/test_x.py: work", "hypothesis")


def test_ours_is_no_library_where_it_is_installed_like_one(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "LIBRARIES", [str(tmp_path)])
    found = placed(tmp_path, tmp_path / "claims/p/test_installed.py", ALONE)
    assert found == ("claims/p/test_installed.py: work", "", "")


def test_code_that_is_not_ours_counts_for_the_library_it_is_in(tmp_path):
    file = tmp_path / "elsewhere.py"
    assert placed(tmp_path, file, WITHIN_A_LIBRARY) == ("", "re", "sub")
    assert placed(tmp_path, file, ALONE) == ("", "", "")


def test_a_library_is_named_by_its_package_and_files_elsewhere_have_no_name():
    torch = Path(sampling.LIBRARIES[0]) / "torch/nn/modules/linear.py"
    assert sampling.library(str(torch)) == "torch"
    assert sampling.library(subprocess.__file__) == "subprocess"
    assert sampling.library(importlib.import_module.__code__.co_filename) == "importlib"
    assert sampling.library(BuiltinImporter.find_spec.__code__.co_filename) == "importlib"
    assert sampling.library("/somewhere/else.py") == ""


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_the_time_since_the_last_look_goes_to_the_function_at_work(tmp_path):
    before = signal.getsignal(signal.SIGALRM)
    sampler = sampling.Sampler(tmp_path)
    sampler._ours = {Path(__file__).parent: "tests"}
    sampler.start()
    spin(0.3)
    sampler.claim = "claims/a.py"
    spin(0.5)
    time.sleep(0.2)
    sampler.claim = ""
    spin(0.3)
    sampler.end()
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    spent = sampler.spent.pop("claims/a.py")
    assert not sampler.spent, "between two claims nothing counts"
    assert max(spent, key=lambda place: spent[place])[0] == "tests/test_costs.py: spin"
    assert spent["tests/test_costs.py: spin", "", ""] > 0.4
    assert {place[0] for place in spent} <= {
        "tests/test_costs.py: spin",
        "tests/test_costs.py: test_the_time_since_the_last_look_goes_to_the_function_at_work",
    }


def test_time_counts_for_the_claim_whose_test_runs_and_for_none_between_two(tmp_path):
    watch = sampling.Watch(tmp_path, tmp_path / "out")
    for file in ("claims/a.py", "claims/b.py"):
        item = cast(pytest.Item, SimpleNamespace(nodeid=f"{file}::test_it"))
        running = watch.pytest_runtest_protocol(item)
        next(running)
        assert watch.sampler.claim == file
        with pytest.raises(StopIteration):
            next(running)
        assert watch.sampler.claim == ""


# --- runs ----------------------------------------------------------------------------------------


LARGE = PASSES.replace("claim.at_most", "x = bytearray(300 << 20)\n    claim.at_most")
WORKS = (
    PASSES.replace("claim.at_most", "spin()\n    claim.at_most")
    + """
import time

def spin():
    end = time.process_time() + 0.7
    while time.process_time() < end:
        pass
"""
)


@pytest.fixture
def all_functions(monkeypatch):
    """Not only the largest: which they are depends on what else the machine does."""
    monkeypatch.setattr(of_claims, "FUNCTIONS", None)


def test_a_warm_run_tells_its_work_its_functions_and_whose_memory_is_largest(demo, all_functions):
    demo.claim("lemma-1", LARGE)
    file = str(demo.claim("lemma-2", WORKS).relative_to(demo.root))
    found = runs.warm_run(demo.root, 1, "claims")
    assert (found["tests"], found["exit"]) == (4, 0)
    rows = {row["id"]: row for row in found["dearest"]}
    row = rows["demo2025/lemma-2"]
    assert row["trainings"] == {}
    assert found["busy"][file] == pytest.approx(row["seconds"])
    assert f"{file}: spin" in dict(row["functions"])
    for one, other in ((row, FILE), (rows["demo2025/lemma-1"], file)):
        assert not [name for name, _ in one["functions"] if name.startswith(other)], "another's"
    assert sum(share for _, share in row["functions"]) == pytest.approx(1)
    (test, most), (_, less) = found["largest"]
    assert test == f"{FILE}::test_holds"
    assert less + (200 << 20) < most < 400 << 20, "what the test took, not what was there before"
    assert most < found["peak"]
    assert found["left out"] == 0


TRAINS = """
import time
from dataclasses import dataclass
from typing import ClassVar
import pytest
from repro.training import Outcome, Spec

@dataclass(frozen=True)
class Small(Spec):
    kind: ClassVar[str] = "demo"
    version: ClassVar[int] = 1

def slow(spec, workspace):
    end = time.process_time() + 0.7
    while time.process_time() < end:
        pass
    return Outcome({"value": 3})

@pytest.mark.train
def test_holds(claim):
    stored = claim.train(Small(), slow)
    claim.equals(stored.outcome.numbers["value"], 3, "value", equation="(1)")
"""


def test_a_cold_run_makes_the_trainings_and_says_what_they_spend(demo, all_functions):
    demo.claim("lemma-1", TRAINS, evidence=["train"])
    found = runs.cold_run(demo.root, "smoke", "claims")
    (row,) = found["dearest"]
    assert list(row["trainings"]) == ["demo"]
    assert f"{FILE}: slow" in dict(row["functions"])
    assert found["work"] == found["work without data"] == row["seconds"]
    assert not (demo.root / "store").exists(), "its store is gone with it"


def test_a_warm_run_without_its_trainings_says_what_it_left_out(demo):
    demo.claim("lemma-1", TRAINS, evidence=["train"])
    found = runs.warm_run(demo.root, 1, "claims")
    assert (found["left out"], found["exit"]) == (1, 0)


def test_claims_that_need_data_are_told_apart():
    claims = [
        {"id": "p/a", "data": ["images"], "tests": [{"seconds": 50.0}, {"seconds": 1.0}]},
        {"id": "p/b", "data": [], "tests": [{"seconds": 7.0}, {"seconds": None}]},
    ]
    rows = [{"id": "p/a", "seconds": 40.0}, {"id": "p/b", "seconds": 6.0}]
    assert runs.with_and_without_data(claims, rows) == {
        "work": 46.0, "longest": 50.0, "work without data": 6.0, "longest without data": 7.0,
    }  # fmt: skip


def test_what_two_workers_reach_and_lose():
    """80 s of work, and 90 s in all, by one; 100 s of it in 62.5 s by two: 90 of 125 s reached."""
    idle = {"before": 10.0, "after": 5.0}
    together = {"workers": 2, "seconds": 62.5, "busy": {"a": 60.0, "b": 40.0}, "idle": idle, "controller": 5.0}  # fmt: skip
    alone = {"workers": 1, "seconds": 90.0, "busy": {"a": 50.0, "b": 30.0}}
    found = runs.Shared.of({"together": together, "alone": alone})
    assert found.reached == pytest.approx(90 / 125)
    assert found.longer == pytest.approx(100 / 80)
    assert found.controller == pytest.approx(5 / 62.5)
    parts = {"before": 10 / 125, "after": 5 / 125, "between two": 10 / 125}
    assert found.without_a_test == pytest.approx(parts)
    assert "20.0 % of the workers' time passes without a test: 8.0 % before" in found.told


def test_claims_are_run_by_two_workers_and_by_one(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(runs, "warm_run", lambda root, *given: asked.append(given) or {"exit": 0})
    found = runs.measured_run(tmp_path)
    assert asked == [(2, "claims"), (1, "claims")]
    assert list(found) == ["together", "alone"]
    assert len(runs.all_in(found)) == 2


def test_a_run_tells_what_passes_before_the_first_test_and_after_the_last(demo):
    """Events of one clock, in their order: the run begins, tests begin and end, the run ends."""
    demo.claim("lemma-1")
    found = runs.timed(demo.root, 2, "claims")
    assert found.samples.spans
    assert list(found.idle) == ["before a worker's first test", "after its last"]
    assert min(found.idle.values()) > 0
    assert sum(found.idle.values()) < 2 * found.seconds
    if Path("/proc/self/stat").exists():
        assert found.controller > 0


def test_an_ordinary_run_is_not_watched(demo):
    demo.claim("lemma-1")
    demo.run("-q", "claims")
    assert not (demo.artifacts / sampling.FOLDER).exists()


def test_runs_that_are_timed_keep_compiled_files_beside_the_sources_or_all_in_a_folder(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "one.py").write_text("")
    for environment in (runs.keeping_compiled(tmp_path), runs.keeping_compiled()):
        assert not (tmp_path / "__pycache__").exists()
        command = [sys.executable, "-c", "import one"]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
        assert [file.name[:4] for file in (tmp_path / "compiled").rglob("one.*")] == ["one."]
    assert (tmp_path / "__pycache__").is_dir()


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"exit": 0, "left out": 0}, ""),
        ({"seconds": 3.0}, ""),
        ({"exit": 0, "left out": 2}, "2 tests had no training or no data set"),
        ({"exit": 3, "left out": 0}, "pytest ended with 3"),
        ({"exit": 1, "left out": 0, "red": ["a::b"]}, "pytest ended with 1, a::b"),
    ],
)  # fmt: skip
def test_a_run_that_is_not_whole_says_why(run, said):
    assert runs.not_whole(run) == said


def test_red_tests_are_named():
    states = ("passed", "failed", "error", "not-run")
    tests = [{"test": name, "state": name, "message": f"{name}!\n\nmore"} for name in states]
    assert of_claims.red([{"file": "claims/a.py", "tests": tests}]) == [
        "claims/a.py::failed (failed: failed!)",
        "claims/a.py::error (error: error!)",
    ]


def test_tests_without_training_or_data_are_left_out():
    def test(reason="reused: yesterday", message=None):
        return {"store": [{"reason": reason}], "message": message}

    whole = [test(), test(message="needs --scale paper")]
    lacking = [test("missing"), test("damaged"), test(message="needs make data (cifar-10)")]
    assert of_claims.left_out([{"tests": whole}]) == 0
    assert of_claims.left_out([{"tests": whole}, {"tests": lacking}]) == 3


def test_a_claim_without_its_data_says_so_in_those_words(demo):
    body = PASSES.replace("(claim):", "(claim):\n    claim.data('cifar-10')", 1)
    demo.claim("lemma-1", body)
    found = runs.warm_run(demo.root, 1, "claims", f"--data={demo.root / 'nothing'}")
    assert (found["left out"], found["exit"]) == (1, 0)


# --- the command ---------------------------------------------------------------------------------


def test_the_command_prints_the_table_of_a_file_and_keeps_nothing(demo, monkeypatch, capsys):
    demo.claim("lemma-1", PASSES.replace("claim.at_most", "time.sleep(0.3)\n    claim.at_most"))
    file = demo.root / FILE
    file.write_text(file.read_text().replace("import pytest", "import time\n\nimport pytest"))
    monkeypatch.chdir(demo.root)
    monkeypatch.setattr(command, "SHOWN", None)
    assert command.main([FILE]) == 0
    printed = capsys.readouterr().out
    assert re.match(r"demo2025/lemma-1: \d+\.\d s\n", printed)
    assert f"%  {FILE}: test_holds\n" in printed
    assert re.search(rf"GB {FILE}::test_(holds|control_of_it)\n", printed), "whichever is larger"
    assert not (demo.artifacts / runs.FILE).exists()


def test_a_file_that_is_not_there_and_one_without_claims(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        command.main(["nonexist.py"])
    assert ended.value.code == 2
    assert "there is no nonexist.py here: name claim files" in capsys.readouterr().err
    (tmp_path / "test_other.py").touch()
    nothing = runs.Timed(1, 1.0, 5, [], Samples(tmp_path), 0, {})
    monkeypatch.setattr(runs, "timed", lambda root, workers, *arguments: nothing)
    assert command.main(["test_other.py"]) == 2
    said = capsys.readouterr()
    assert said.out.startswith("no claim has run")
    assert "pytest ended with 5" in said.err


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path, monkeypatch):
    """`| head`: what reads is gone before the table is written."""
    reading, writing = os.pipe()
    os.close(reading)
    nothing = runs.Timed(1, 1.0, 0, [], Samples(tmp_path), 0, {})
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert command._show(nothing) == 2


def test_without_arguments_it_says_what_there_is(capsys):
    assert command.main([]) == 0
    printed = capsys.readouterr().out
    assert "--cold" in printed
    assert "FILE ..." in printed


def test_what_is_measured_is_kept_beside_what_was_known(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    files.write_json(tmp_path / "artifacts" / runs.FILE, {"cold": {"smoke": 1}, "run": {}})
    monkeypatch.setattr(
        runs,
        "warm_run",
        lambda root, *_: {"workers": 1, "busy": {"a": 5.0}, "exit": 1, "left out": 0, "red": []},
    )
    assert command.main(["--run"]) == 0
    kept = files.read_json(tmp_path / "artifacts" / runs.FILE)
    assert kept["cold"] == {"smoke": 1}
    assert set(kept["run"]) == {"header", "together", "alone"}
    assert {"id", "started", "git", "machine"} <= set(kept["run"]["header"])
    assert "pytest ended with 1" in capsys.readouterr().err
