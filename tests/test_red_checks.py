"""A red check is red whatever becomes of its exception, and no run ends as if all were well."""

from pathlib import Path

import pytest

CHECK = """
import multiprocessing
import threading
import pytest

def red(claim):
    claim.measured("too much", 2.0, equation="(3)").at_most(theorem(1.0, "invented"))

def swallowed(claim):
    try:
        red(claim)
    except AssertionError:
        claim.measured("error", 0.5, equation="(1)").at_most(theorem(1.0, "invented"))

def in_a_thread(claim):
    thread = threading.Thread(target=red, args=[claim])
    thread.start()
    thread.join()

def forked(claim):
    process = multiprocessing.get_context("fork").Process(target=red, args=[claim])
    process.start()
    process.join()
    claim.measured("error", 0.5, equation="(1)").at_most(theorem(1.0, "invented"))

def skipped(claim):
    swallowed(claim)
    pytest.skip("not today")

def expected(claim):
    pytest.xfail("it does")

@pytest.mark.construct
def test_holds(claim):
    {way}(claim)
"""
UNWRITABLE = """
import pytest

class Wordless:
    def __str__(self):
        raise RuntimeError("no words for it")

@pytest.mark.construct
def test_holds(claim, record_property):
    record_property("x", Wordless())
    claim.measured("error", 0.5, equation="(1)").at_most(theorem(1.0, "invented"))
"""
MARKED = CHECK.replace("@pytest.mark.construct", "@pytest.mark.xfail\n@pytest.mark.construct")
CLAIMS = {  # body, verdict, a word of the reason
    "lemma-1": (CHECK.format(way="swallowed"), "failed", "too much"),
    "lemma-2": (CHECK.format(way="in_a_thread"), "failed", "too much"),
    "lemma-3": (CHECK.format(way="skipped"), "failed", "too much"),
    "lemma-4": (CHECK.format(way="expected"), "error", "must not fail as expected"),
    "lemma-5": (MARKED.format(way="red"), "error", "must not fail as expected"),
    "lemma-6": (UNWRITABLE, "error", "the record cannot be written: RuntimeError: no words"),
    "lemma-7": (CHECK.format(way="red"), "failed", "too much"),
    "lemma-9": (CHECK.format(way="forked"), "error", "this process was forked"),
}


def test_whatever_becomes_of_its_exception_a_red_check_is_red_and_the_run_goes_on(demo):
    for id, (body, _, _) in CLAIMS.items():
        demo.claim(id, body)
    demo.claim("lemma-8")
    done = demo.run("-n2", "-p", "no:threadexception")
    assert done.returncode == 1
    assert "8 failed, 10 passed" in done.stdout
    for id, (_, verdict, why) in CLAIMS.items():
        assert demo.result(id)["verdict"] == verdict, id
        assert why in demo.result(id)["why"]
    assert demo.result("lemma-8")["verdict"] == "holds"


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_thread_that_goes_red_after_its_test_has_passed_fails_the_claim(demo, workers):
    body = """
    import threading
    import time
    import pytest

    def late(claim):
        time.sleep(0.5)
        claim.measured("too much", 2.0, equation="(3)").at_most(theorem(1.0, "invented"))

    @pytest.mark.construct
    def test_holds(claim):
        claim.measured("error", 0.5, equation="(1)").at_most(theorem(1.0, "invented"))
        threading.Thread(target=late, args=[claim]).start()
    """
    demo.claim("lemma-1", body)
    done = demo.run(workers, "-p", "no:threadexception")
    assert "2 passed" in done.stdout
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("FAILED: demo2025/lemma-1: failed: test_holds")
    assert demo.result("lemma-1")["verdict"] == "failed"
    assert "too much" in demo.result("lemma-1")["why"]


def test_the_last_line_says_failed_if_only_the_ledger_disagrees(demo):
    demo.claim("lemma-1", status="supported", why_all="identity: x is y")
    done = demo.run()
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith("FAILED: demo2025/lemma-1: the ledger records 'supported'")


def test_results_do_not_tell_where_they_were_made(demo):
    body = """
    from pathlib import Path
    import pytest

    @pytest.mark.construct
    @pytest.mark.parametrize("source", ["/of/somebody/else"], ids=["else"])
    def test_holds(claim, source):
        claim.record("read", f"a,{Path.home()}/x", source=f"`{Path(__file__)}`")
        claim.record(f"from file://{Path.home()}", {"/of/somebody/": Path.home()})
        Path(__file__).with_name("gone").read_text()

    def test_control_elsewhere(claim):
        Path("/of/somebody/gone").read_text()
    """
    file = demo.claim("lemma-1", body)
    demo.run(str(file), "--artifacts=" + str(demo.artifacts))
    found = [
        path for path in demo.artifacts.rglob("*") if path.suffix in (".json", ".html", ".csv")
    ]
    texts = [path.read_text() for path in found]
    assert "claims/demo2025/gone" in "".join(texts)
    for folder in (str(demo.root), "/of/somebody", str(Path.home())):
        assert not [text for text in texts if folder in text]


def test_two_tests_of_a_claim_cannot_draw_the_same_figure(demo):
    draws = """
    import pytest
    from repro import figures

    @pytest.mark.construct
    @pytest.mark.parametrize("n", [1, 2])
    def test_holds(n, claim):
        claim.figure(figures.panels(1)[0], "line", caption="A line.", alt="A line.")
        claim.measured("error", 1, equation="(1)").at_most(theorem(2, "invented"))
    """
    demo.claim("lemma-1", draws)
    assert demo.run().returncode == 1
    assert "two tests draw claims/demo2025/lemma-1/line.svg" in demo.result("lemma-1")["why"]
