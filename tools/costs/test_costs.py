"""What a run costs, from what was seen of it."""

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from demo import PASSES

from repro.training import Store
from tools.costs import __main__ as command
from tools.costs import runs, sampling

WITHIN_A_LIBRARY = """
import re
def work(place):
    found = []
    re.sub("a", lambda match: found.append(place(sys._getframe(1))) or "", "a")
    return found[0]
"""
ALONE = """
def work(place):
    return (lambda: place(sys._getframe()))()
"""
WORKS = """
import time, pytest

def spin():
    end = time.process_time() + 0.6
    while time.process_time() < end:
        pass

@pytest.mark.construct
def test_holds(claim):
    spin()
    x = bytearray(300 << 20)
    claim.measured("error", 0.5, equation="(1)").at_most(theorem(1.0, "invented"))
"""


def placed(root, file, source):
    """Where a look finds this module, as if it lay in that file; in a thread: nothing calls it."""
    names = {"sys": sys}
    exec(compile(source, str(file), "exec"), names)
    with ThreadPoolExecutor() as threads:
        return threads.submit(names["work"], sampling.Sampler(root).place).result()  # type: ignore[arg-type]


def test_a_function_of_a_library_counts_for_ours_that_called_it(tmp_path):
    ours, other = tmp_path / "claims/p/test_x.py", tmp_path / "elsewhere.py"
    assert placed(tmp_path, ours, WITHIN_A_LIBRARY) == ("claims/p/test_x.py: work", "re")
    assert placed(tmp_path, ours, ALONE) == ("claims/p/test_x.py: work", "")
    assert placed(tmp_path, other, WITHIN_A_LIBRARY) == ("", "re")


def test_a_library_is_named_by_its_package_and_files_elsewhere_have_no_name():
    torch = Path(sampling.LIBRARIES[0]) / "torch/nn/modules/linear.py"
    assert sampling.library(str(torch)) == "torch"
    assert sampling.library(subprocess.__file__) == "subprocess"
    assert sampling.library("/somewhere/else.py") == ""


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_the_time_since_the_last_look_goes_to_the_function_at_work(tmp_path):
    before = signal.getsignal(signal.SIGALRM)
    sampler = sampling.Sampler(tmp_path)
    sampler._ours = {Path(__file__).parent: "tools"}
    sampler.start()
    spin(0.3)
    sampler.claim = "claims/a.py"
    spin(0.5)
    sampler.claim = ""
    spin(0.3)
    sampler.end()
    assert signal.getsignal(signal.SIGALRM) == before
    spent = sampler.spent.pop("claims/a.py")
    assert not sampler.spent, "between two claims nothing counts"
    assert spent["tools/test_costs.py: spin", ""] > 0.4


def test_what_all_processes_saw_is_added_up_and_who_waits_pays_nothing():
    a, b = "claims/p/test_a.py", "claims/p/test_b.py"
    found = [
        {"spent": [(a, "f", "", 1.0), (a, "g", "torch", 6.0)]},
        {"spent": [(a, "f", "", 1.0), (b, "f", "", 3.0), (b, runs.WAITING, "", 90.0)]},
    ]  # fmt: skip
    tests = {
        f"{a}::one": {"seconds": 5.0, "added": 2.0},
        f"{a}::two": {"seconds": 4.0, "added": 7.0},
        f"{b}::one": {"seconds": 95.0, "added": 0.0},
    }
    first, second = runs.claims(found, tests)
    assert first == runs.Claim(a, 9.0, [("g (torch)", 6 / 8), ("f", 2 / 8)], 7.0)
    assert second == runs.Claim(b, 5.0, [("f", 1.0)], 0.0)


def test_the_place_where_the_store_waits_is_still_called_so():
    code = Store._hold.__wrapped__.__code__  # type: ignore[attr-defined]
    assert f"repro/training/{Path(code.co_filename).name}: {code.co_qualname}" == runs.WAITING


def test_a_run_tells_its_functions_and_whose_memory_is_largest(demo):
    demo.claim("lemma-1", WORKS)
    demo.claim("lemma-2", PASSES)
    run = runs.timed(demo.root, 2, "--scale", "smoke", "claims")
    assert run.exit == 0, run.said
    first, second = run.claims
    assert (first.file, second.file) == tuple(
        f"claims/demo2025/test_lemma_{k}_demo.py" for k in (1, 2)
    )
    assert first.functions[0][0] == f"{first.file}: spin"
    assert 0.6 < first.seconds < run.seconds
    assert 3e8 < first.added < run.peak
    told = "\n".join(run.told())
    assert "2 claim files, 2 worker(s)" in told
    assert "NOT A WHOLE RUN" not in told
    assert not (demo.artifacts / sampling.FOLDER).exists(), "nothing is kept"


def test_a_red_run_and_a_file_that_is_not_there_are_said(demo, monkeypatch, capsys):
    demo.claim("lemma-1", PASSES.replace('"error", 0.5', '"error", 2.0'))
    monkeypatch.chdir(demo.root)
    assert command.main(["claims/demo2025/test_lemma_1_demo.py"]) == 1
    assert "NOT A WHOLE RUN, pytest ended with 1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(["claims/none.py"])
