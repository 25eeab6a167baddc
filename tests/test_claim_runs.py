"""One claim from the file to the page, in a small project of its own."""

from textwrap import dedent

SMALL = """
import time
from dataclasses import dataclass
from typing import ClassVar
import pytest
from repro.training import Outcome, Spec

@dataclass(frozen=True)
class Small(Spec):
    kind: ClassVar[str] = "demo"
    version: ClassVar[int] = 1
    seed: int

"""


def test_a_passing_claim_holds_and_is_on_the_page(demo):
    demo.claim("lemma-1")
    done = demo.run("-q")
    assert done.returncode == 0, done.stdout + done.stderr
    claim = demo.result("lemma-1")
    assert claim["verdict"] == "holds"
    assert claim["evidence"] == ["construct"]
    assert claim["checks"][0]["margin"] == 2.0
    assert claim["controls"][0]["margin"] == 2.0
    assert "Invented lemma-1." in claim["description"]
    assert "demo2025  Lemma 1  The lemma-1  holds  construct  2 checks  0." in done.stdout
    assert "1 statement ran: 1 holds. 0 were not selected." in done.stdout
    assert f"page: {demo.artifacts / 'index.html'}" in done.stdout
    assert "The lemma-1" in demo.page()


def test_a_red_check_says_everything_needed_to_judge_it(demo):
    body = """
    import pytest

    @pytest.mark.parametrize("n", [3], ids="n={}".format)
    @pytest.mark.construct
    def test_holds(n, claim):
        claim.measured("sup error", 0.0561, equation="(4.3)").at_most(theorem(0.05, "(4.3)"))
    """
    demo.claim("lemma-1", body)
    done = demo.run("--scale", "smoke", "--seed", "7")
    assert done.returncode == 1
    for part in [
        "demo2025/lemma-1, The lemma-1: not as recorded: sup error",
        "asked      test_lemma_1_demo.py, line 10",
        "repeat     pytest 'claims/demo2025/test_lemma_1_demo.py::test_holds[n=3]' --scale smoke --seed 7",
    ]:
        assert part in done.stdout, part
    claim = demo.result("lemma-1")
    assert claim["verdict"] == "failed"
    assert claim["checks"][0]["ok"] is False


def test_an_exception_is_an_error_and_not_a_refutation(demo):
    demo.claim("lemma-1", "import pytest\n@pytest.mark.exact\ndef test_holds(claim):\n    1 / 0\n")
    assert demo.run().returncode == 1
    claim = demo.result("lemma-1")
    assert claim["verdict"] == "error"
    assert "ZeroDivisionError" in claim["why"]


def test_a_claim_test_must_use_the_fixture_and_name_its_evidence(demo):
    demo.claim("lemma-1", "def test_holds():\n    pass\n")
    assert "does not use the fixture `claim`" in demo.run().stdout
    measures = "claim.measured('one', 1, equation='(1)').equals(1)"
    demo.claim("lemma-1", f"def test_holds(claim):\n    {measures}\n")
    assert "must say what kind of evidence" in demo.run().stdout


def test_a_verdict_that_differs_from_the_record_fails_the_run(demo):
    body = """
    import pytest

    @pytest.mark.exact
    def test_repaired(claim):
        claim.measured("two", 2, equation="(1)").equals(2)

    def test_printed_form_fails(claim):
        claim.counterexample("one is two", input={"one": 1}, measured=1, expected=2, equation="(1)")
    """
    demo.claim("lemma-1", body, evidence=["exact"])
    done = demo.run()
    assert done.returncode == 1
    assert "stores a counterexample to what is printed: no erratum grades it" in done.stdout
    demo.erratum("lemma-1", "false", tests=["test_printed_form_fails"])
    demo.entry("lemma-1", evidence=["exact"], status="corrected")
    assert demo.run().returncode == 0
    assert demo.result("lemma-1")["verdict"] == "corrected"
    assert demo.result("lemma-1")["errata"][0]["grade"] == "false"
    demo.erratum("lemma-1", "proof gap", tests=["test_printed_form_fails"])
    told = "the ledger records 'supported', this run found 'holds'"
    demo.entry("lemma-1", evidence=["exact"], status="supported", why_all="identity: x is y")
    assert told in demo.run().stdout


def test_cells_are_compared_and_decide_the_verdict_of_a_table(demo):
    body = """
    import pytest
    from repro.bounds import as_printed

    @pytest.mark.train
    def test_holds(claim):
        claim.measured("error", 0.5, equation="(1)").at_most(theorem(1.0, "invented"))
        half = as_printed(0.005, "two digits")
        claim.cell("a", "exact", paper=3, ours=3)
        claim.cell("a", "near", paper=0.25, ours=0.254, tolerance=half)
        claim.cell("a", "far", paper=0.25, ours=0.26, tolerance=half)
        claim.cell("a", "other", paper=0.25, ours=0.26, order=True, run_size="10")
        claim.cell("a", "no tolerance", paper=0.25, ours=0.25)
        claim.cell("a", "words", paper="falls", ours="falls")
        claim.cell("a", "words, reduced", paper="falls", ours="falls", run_size="10")
        claim.cell("a", "word and number", paper="falls", ours=3)
        claim.cell("a", "later", paper=0.25, ours=None, note="needs a week")
    """
    demo.claim("table-1", body, evidence=["train"], status="partly-reproduced")
    assert demo.run("--scale", "laptop").returncode == 0
    found = demo.result("table-1")
    outcomes = ["matches", "matches", "differs", "same order", "differs"]
    words = ["matches", "same order", "differs"]
    assert [cell["outcome"] for cell in found["cells"]] == [*outcomes, *words, "not run"]
    assert found["reduced"]
    assert found["why"] == (
        "cells: matches 3, same order 2, differs 3, not run 1, some at a reduced size"
    )


def test_numpy_values_in_user_properties_do_not_make_a_claim_vanish(demo):
    """Under xdist they used to end a worker, with the claim gone and exit code 0."""
    body = """
    import numpy as np, pathlib, pytest

    @pytest.mark.construct
    def test_holds(claim, record_property):
        record_property("x", np.float64(1)); record_property("p", pathlib.Path("a")); record_property("a", np.eye(2))
        claim.record("error", np.float32(0.25))
        claim.record("shape", np.int64(3))
        claim.record("missing", float("nan"))
        claim.measured("error", np.float64(0.5), equation="(1)").at_most(theorem(np.float32(1), "invented"))
    """
    for number in (1, 2):
        demo.claim(f"lemma-{number}", body)
    done = demo.run("-n2")
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout
    records = demo.numbers("lemma-2")
    assert records == {"error": 0.25, "shape": 3, "missing": "nan"}


def test_needs_are_counted_as_not_run_and_say_what_is_needed(demo):
    body = """
    import pytest

    @pytest.mark.needs(scale="paper")
    @pytest.mark.construct
    def test_holds(claim):
        claim.measured("error", 1, equation="(1)").at_most(theorem(2, "invented"))
    """
    demo.claim("lemma-1", body)
    done = demo.run("--scale", "laptop")
    assert "1 passed, 1 skipped" in done.stdout
    assert demo.result("lemma-1")["verdict"] == "not-run"
    assert demo.result("lemma-1")["why"] == "needs --scale paper"
    assert demo.run("--scale", "paper").returncode == 0
    assert demo.result("lemma-1")["verdict"] == "holds"


def test_a_run_of_a_subset_keeps_the_other_results_and_their_run(demo):
    demo.claim("lemma-1")
    demo.claim("lemma-2")
    demo.run("--scale", "smoke")
    first = demo.result("lemma-1")["run"]
    demo.run("--scale", "laptop", "claims/demo2025/test_lemma_2_demo.py")
    assert demo.result("lemma-1")["run"] == first
    assert demo.result("lemma-1")["verdict"] == "holds"
    assert demo.result("lemma-2")["run"] == demo.results()["run"]["id"] != first


def test_a_part_of_a_claim_is_not_the_claim(demo):
    demo.claim("lemma-1")
    demo.run("-k", "control")
    assert demo.result("lemma-1")["verdict"] == "not-run"
    assert demo.result("lemma-1")["why"] == "1 of 2 tests have not been run"
    demo.run("-k", "holds")
    assert demo.result("lemma-1")["verdict"] == "holds"


def test_results_of_tests_that_are_gone_do_not_count(demo):
    file = demo.claim("lemma-1")
    demo.run()
    file.write_text(file.read_text().replace("test_holds", "test_is_so"))
    demo.run()
    assert [test["test"] for test in demo.result("lemma-1")["tests"]] == [
        "test_is_so",
        "test_control_of_it",
    ]


def test_a_result_is_stale_when_the_code_it_rests_on_changes(demo):
    (demo.root / "science").mkdir()
    (demo.root / "science/__init__.py").write_text("")
    (demo.root / "science/numbers.py").write_text("ONE = 1\n")
    body = """
    import pytest
    from science.numbers import ONE

    @pytest.mark.exact
    def test_holds(claim):
        claim.measured("one", ONE, equation="(1)").equals(1)
    """
    demo.claim("lemma-1", body, evidence=["exact"])
    demo.claim("lemma-2")
    demo.run()
    assert not demo.result("lemma-1")["stale"]
    (demo.root / "science/numbers.py").write_text("ONE = 2 - 1\n")
    demo.run("claims/demo2025/test_lemma_2_demo.py")
    assert demo.result("lemma-1")["stale"]
    assert not demo.result("lemma-2")["stale"]
    assert "code changed since" in demo.page()


def test_global_generators_draw_the_same_in_any_order(demo):
    body = """
    import random, numpy as np, pytest

    @pytest.mark.construct
    def test_holds(claim):
        claim.record("python", random.random())
        claim.record("numpy", np.random.rand())
        claim.record("own", claim.rng().random())
        claim.measured("error", 1, equation="(1)").at_most(theorem(2, "invented"))
    """
    demo.claim("lemma-1", body)
    demo.claim("lemma-2", body)
    demo.run("-p", "no:randomly")
    drawn = [demo.numbers(f"lemma-{number}") for number in (1, 2)]
    demo.run("claims/demo2025/test_lemma_2_demo.py")
    assert demo.numbers("lemma-2") == drawn[1]
    assert drawn[0] != drawn[1], "each claim has a seed of its own"


def test_a_part_asked_for_by_another_spelling_of_the_path_loses_nothing(demo):
    file = demo.claim("lemma-1").relative_to(demo.root)
    demo.run()
    for spelling in (f"./{file}", f"claims/../{file}", str(demo.root / file)):
        assert demo.run(f"{spelling}::test_holds").returncode == 0
        assert demo.result("lemma-1")["verdict"] == "holds"
        assert len(demo.result("lemma-1")["tests"]) == 2


def test_results_of_a_newer_version_are_set_aside_and_not_written_over(demo):
    demo.claim("lemma-1")
    demo.run()
    for name in ("results.json", "claims/demo2025/lemma-1/result.json"):
        (demo.artifacts / name).write_text('{"schema": 99}')
    done = demo.run()
    assert done.stdout.count("has schema 99, this version reads 2; set aside as") == 2
    assert len(list(demo.artifacts.rglob("result*.json.set-aside-*"))) == 2
    assert demo.result("lemma-1")["verdict"] == "holds"


def test_two_tests_that_need_the_same_trainings_share_them(demo):
    """Each is made once, and neither test waits while there is another one to make."""
    body = """
    def slow(spec, workspace):
        time.sleep(0.5)
        return Outcome({"value": spec.seed})

    @pytest.mark.train
    @pytest.mark.parametrize("who", ["one", "other"])
    def test_holds(who, claim):
        specs = [Small(seed) for seed in range(8)]
        runs = claim.for_each(specs, lambda spec: claim.train(spec, slow))
        values = [run.outcome.numbers["value"] for run in runs]
        claim.measured("values", values, equation="(1)").equals(list(range(8)))
        claim.cell("seeds", who, paper=8, ours=len(set(values)))
    """
    demo.claim("table-1", SMALL + dedent(body), evidence=["train"], status="reproduced")
    assert demo.run("-n2").returncode == 0
    tests = [test for test in demo.result("table-1")["tests"] if test["role"] == "claim"]
    made = [[run["reason"].startswith("computed") for run in test["trainings"]] for test in tests]
    assert [len(runs) for runs in made] == [8, 8]
    assert sum(map(sum, made)) == 8
    assert min(map(sum, made)) >= 2


def test_a_single_test_by_its_id_is_green_and_decides_nothing(demo):
    """As the command that a failure prints asks for it, in a project that has run nothing yet."""
    demo.claim("lemma-1")
    done = demo.run("claims/demo2025/test_lemma_1_demo.py::test_holds")
    assert done.returncode == 0, done.stdout
    assert demo.result("lemma-1")["verdict"] == "not-run"
    assert demo.result("lemma-1")["why"] == "1 of 2 tests have not been run"
