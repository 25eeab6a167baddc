"""What a claim does with what its test says: trainings, data, searches, counterexamples, figures.

Here in the same process; from a claim file to the page they are in test_claim_runs.py.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import matplotlib
import pytest
from demo import recorder
from hypothesis import strategies as st
from matplotlib.figure import Figure

from repro import figures
from repro.bounds import chosen, theorem
from repro.data.catalogue import ENGLISH_GERMAN
from repro.data.sets import Registry
from repro.harness.checks import ClaimFailed
from repro.harness.claim import Claim
from repro.harness.ledger import Statement
from repro.harness.project import ClaimTest
from repro.harness.resources import Lease
from repro.results.types import Training
from repro.training import Busy, Outcome, Spec, Store, Stored
from repro.training.store import DamagedEntry, Mode

STATEMENT = Statement(
    "demo2025/lemma-1", "lemma", "1", "1", "The bound", "It is so: $x = y$.", ("exact",), "holds"
)
SKIPPED = pytest.skip.Exception  # unless it is caught, the test here is passed over and not red


@dataclass(frozen=True)
class Small(Spec):
    kind: ClassVar[str] = "demo"
    version: ClassVar[int] = 1
    value: int


def train(spec, workspace):
    return Outcome({"value": spec.value})


class Elsewhere:
    """In place of a store: some trainings are in other hands until one of them is waited for."""

    def __init__(self, *busy):
        self.busy, self.asked = set(busy), []

    def __call__(self, **settings):
        return self

    def get(self, spec, train, *, wait):
        self.asked.append((spec.value, "wait" if wait else "now"))
        if wait:
            self.busy.clear()
        elif spec.value in self.busy:
            raise Busy(f"{spec.value} is in other hands")
        return Stored(train(spec, None), str(spec.value), Path(), "computed: no entry", 1.26)


def numbers(recorder):
    return {number.name: number.value for number in recorder.record.numbers}


@pytest.fixture
def record(tmp_path):
    made = recorder(tmp_path / "artifacts/record.json", command="pytest 'that test'")
    yield made
    made.finish("passed")


@pytest.fixture
def new(tmp_path, record):
    """A claim as the plugin makes it; all that it reads and writes is in tmp_path."""

    def make(test="test_holds", *, params=None, mode: Mode = "use", store=None):
        return Claim(
            ClaimTest(STATEMENT, tmp_path / "claims/demo2025/test_lemma_1_demo.py", test),
            record,
            artifacts=tmp_path / "artifacts",
            scale="smoke",
            base_seed=7,
            params=params or {},
            lease=Lease("cpu"),
            store=store or (lambda **settings: Store(tmp_path / "store", mode, **settings)),
            data=Registry([ENGLISH_GERMAN], tmp_path / "data"),
        )

    return make


def damaged(claim, spec):
    """Train it, and spoil what was kept; its key."""
    stored = claim.train(spec, train)
    (stored.directory / "result.json").write_text("{}")
    return stored.key


# --- trainings -----------------------------------------------------------------------------------


def test_a_missing_training_passes_the_test_over_and_is_recorded_as_missing(new, record):
    with pytest.raises(SKIPPED, match="run without --store-mode readonly"):
        new(mode="readonly").train(Small(1), train)
    [entry] = record.record.trainings
    key = new().train(Small(1), train).key
    assert entry == Training(kind="demo", key=key, reason="missing", seconds=0.0)


def test_a_damaged_training_is_an_error_and_is_recorded_as_damaged(new, record):
    key = damaged(new(), Small(1))
    with pytest.raises((DamagedEntry, SKIPPED)) as found:
        new(mode="readonly").train(Small(1), train)
    assert found.type is DamagedEntry
    told = Training(kind="demo", key=key, reason="damaged", seconds=0.0)
    assert record.record.trainings[1:] == [told]


def test_a_training_that_is_asked_for_again_is_told_once_as_it_came_first(new, record):
    claim = new()
    first, other, again = (claim.train(Small(value), train) for value in (1, 2, 1))
    assert again.key == first.key
    assert again.reason.startswith("reused")
    told = [(entry.key, entry.reason) for entry in record.record.trainings]
    assert told == [(first.key, "computed: no entry"), (other.key, "computed: no entry")]


# --- for each ------------------------------------------------------------------------------------


@pytest.mark.parametrize("busy", [(), (2,), (1, 3), (1, 2, 3)], ids=str)
def test_each_result_stands_in_the_place_of_its_item_whichever_came_last(new, busy):
    claim = new(store=Elsewhere(*busy))
    found = claim.for_each([1, 2, 3], lambda value: claim.train(Small(value), train))
    assert [stored.outcome.numbers["value"] for stored in found] == [1, 2, 3]


def test_one_training_at_a_time_is_waited_for_and_then_the_others_are_asked_for_again(new):
    store = Elsewhere(1, 2)
    claim = new(store=store)
    claim.for_each([1, 2, 3], lambda value: claim.train(Small(value), train))
    assert store.asked == [(1, "now"), (2, "now"), (3, "now"), (1, "wait"), (2, "now")]


def test_a_missing_one_does_not_keep_the_others_from_being_asked_for(new, record):
    claim = new(mode="readonly")
    with pytest.raises(SKIPPED, match="is not in the read-only store"):
        claim.for_each([1, 2, 3], lambda value: claim.train(Small(value), train))
    assert [entry.reason for entry in record.record.trainings] == ["missing"] * 3


def test_a_damaged_one_is_raised_before_those_that_are_missing(new, record):
    key = damaged(new(), Small(0))
    claim = new(mode="readonly")
    with pytest.raises((DamagedEntry, SKIPPED)) as found:
        claim.for_each([1, 0, 2], lambda value: claim.train(Small(value), train))
    assert isinstance(found.value, DamagedEntry)
    assert found.value.key == key
    reasons = [entry.reason for entry in record.record.trainings[1:]]
    assert reasons == ["missing", "damaged", "missing"]


# --- data ----------------------------------------------------------------------------------------


def test_a_test_whose_data_are_not_there_is_passed_over_and_says_what_to_do(
    new, record, monkeypatch
):
    monkeypatch.delenv("WMT14", raising=False)
    with pytest.raises(SKIPPED, match=r"needs python -m repro data \(english-german\)"):
        new().data("english-german")
    assert numbers(record) == {}


def test_data_that_are_there_are_found_and_named_in_the_record(new, record, tmp_path, monkeypatch):
    monkeypatch.delenv("WMT14", raising=False)
    folder = tmp_path / "data/english-german"
    folder.mkdir(parents=True)
    for name in ("all.en", "all.de"):
        (folder / name).write_text("one sentence\n")
    assert new().data("english-german") == folder
    assert numbers(record)["data"].startswith("english-german: 25000 pairs of sentences")
    monkeypatch.setenv("WMT14", str(tmp_path))
    assert new().data("english-german") == tmp_path
    assert numbers(record) == {"data": "english-german: a user's own (WMT14)"}


# --- for all -------------------------------------------------------------------------------------


def test_a_search_that_finds_nothing_is_green_and_says_how_many_cases_it_tried(new, record):
    tried, cases = [], st.integers(0, 1000)
    claim = new(params={"n": 3})
    claim.for_all("nothing", cases, lambda n: tried.append(n) or 0, equation="(1)", examples=20)
    [check] = record.record.checks
    assert (check.ok, check.measured, check.allowed) == (True, 0, 0)
    assert check.params == {"n": 3}
    assert numbers(record) == {"cases tried: nothing": len(tried)}
    assert len(tried) > 1


@pytest.mark.parametrize("difference", [5, -1])
def test_a_search_ends_at_the_smallest_failing_case_with_its_difference(new, record, difference):
    tried = []

    def from_17_on(case):
        tried.append(case)
        return difference if case >= 17 else 0

    claim = new(params={"n": 3})
    with pytest.raises(ClaimFailed, match="n=3, smallest failing case=17"):
        claim.for_all("n < 17", st.integers(0, 1000), from_17_on, equation="(1)", examples=300)
    [check] = record.record.checks
    assert (check.ok, check.measured, check.allowed) == (False, difference, 0)
    assert check.params == {"n": 3, "smallest failing case": "17"}
    assert numbers(record) == {"cases tried: n < 17": len(tried)}


# --- counterexamples -----------------------------------------------------------------------------


@pytest.mark.parametrize(("measured", "expected"), [(0.5, 1), (1, 0.5), (0.5, 0.25)])
def test_a_printed_statement_is_not_called_wrong_if_either_number_is_a_float(
    new, record, measured, expected
):
    with pytest.raises(TypeError, match="needs exact or certified numbers"):
        new().counterexample("(1)", input={}, measured=measured, expected=expected, equation="(1)")
    assert record.record.counterexamples == record.record.checks == []


def both_sides(x):
    return x, 2


@pytest.mark.parametrize(
    ("printed", "measured"), [(True, 3), (False, 3), (False, 2.5)], ids=["printed", "read", "float"]
)
def test_a_counterexample_is_stored_with_its_input_and_a_green_check(
    new, record, printed, measured
):
    new().counterexample(
        "x <= 2",
        input={"x": 3},
        measured=measured,
        relation="<=",
        expected=2,
        equation="(1)",
        printed=printed,
        program=both_sides,
        x=3,
    )
    [example] = record.record.counterexamples
    assert (example.refutes, example.printed, example.input) == ("x <= 2", printed, {"x": 3})
    assert (example.measured, example.relation, example.expected) == (measured, "<=", 2)
    assert example.params == {"x": 3}
    assert example.program == (
        "def both_sides(x):\n    return x, 2\n\n\n"
        "left, right = both_sides(x=3)\nprint(left, '<=', right, 'is false')\n"
    )
    [check] = record.record.checks
    assert (check.name, check.relation, check.ok) == ("counterexample: x <= 2", "not <=", True)


# --- figures -------------------------------------------------------------------------------------


def test_a_figure_is_kept_twice_in_the_folder_of_its_claim_and_the_record_names_both(
    new, record, tmp_path
):
    drawing, _ = figures.panels(1)
    new().figure(drawing, "error", caption="The error.", alt="It falls to 0.1.")
    [kept] = record.record.figures
    assert (kept.caption, kept.alt) == ("The error.", "It falls to 0.1.")
    place = "claims/demo2025/lemma-1/error"
    assert (kept.svg, kept.png) == (f"{place}.svg", f"{place}.png")
    folder = tmp_path / "artifacts/claims/demo2025/lemma-1"
    assert sorted(path.name for path in folder.iterdir()) == ["error.png", "error.svg"]
    assert (folder / "error.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert b"<svg" in (folder / "error.svg").read_bytes()


def test_panels_of_curves_tell_themselves_in_words(new, record):
    curves = [
        figures.Curve("construction", [1, 2, 4], [0.5, 0.2, 1e-3], "network"),
        figures.Curve("trained", [4, 4], [0.3, 0.1], "two runs"),
        figures.Curve("bound", [1, 4], [1.0, 1.0], ""),
    ]
    drawing = figures.curves({"lin": curves, "log": curves[:1]}, x="heads $H$", y="error")
    assert [axes.get_yscale() for axes in drawing.axes] == ["log", "log"]
    assert [axes.get_xscale() for axes in drawing.axes] == ["linear", "linear"]
    new().figure(drawing, "error", caption="The error.")
    told = "error against heads H. network: from 0.5 at 1 to 0.001 at 4"
    [kept] = record.record.figures
    assert kept.alt == f"lin: {told}; two runs: 0.1 to 0.3 at 4. log: {told}."


@pytest.mark.parametrize("name", ["../../away", "a/b", "/tmp/a", "..", "", "a b", "a.svg"])
def test_a_figure_whose_name_could_be_a_path_is_refused(new, tmp_path, name):
    drawing, _ = figures.panels(1)
    with pytest.raises(ValueError, match="a name has letters, digits, '-' and '_' only"):
        new().figure(drawing, name, caption="A map.", alt="A map.")
    assert not list(tmp_path.rglob("*.svg"))


def test_a_figure_is_told_by_its_author_and_drawn_once(new):
    drawing, _ = figures.panels(1)
    with pytest.raises(ValueError, match="say in alt= what it shows"):
        new().figure(drawing, "map", caption="A map.")
    new().figure(drawing, "map", caption="A map.", alt="A map.")
    with pytest.raises(ValueError, match="has drawn a figure 'map' before"):
        new().figure(drawing, "map", caption="Another.", alt="Another.")


def test_a_figure_of_matplotlibs_own_is_drawn_as_well():
    with matplotlib.rc_context({"savefig.dpi": "figure"}):  # as in a process without `panels`
        drawing = Figure()
        drawing.subplots()
        assert figures.saved(drawing)["png"].startswith(b"\x89PNG")


def test_a_red_check_is_told_with_its_setting_its_factor_and_its_bound(new):
    error = new(params={"n": 3}).measured("sup error", 0.0625, equation="(4.3)", d=2)
    with pytest.raises(ClaimFailed) as red:
        error.within(0.0, theorem(0.05, "(4.3)") + chosen(0.0, "tells 2 from 3"))
    for words in (
        "demo2025/lemma-1, The bound: not as recorded: sup error",
        "measured   0.0625  (sup error)",
        "allowed    ≈ 0.0 ± 0.05  (theorem: (4.3) + chosen: tells 2 from 3)",
        "ratio      1.25",
        "setting    n=3, d=2",
        "seed       --seed 7, so 1185557405075818529 for this claim",
    ):
        assert words in str(red.value).splitlines() or f"  {words}" in str(red.value).splitlines()


def test_a_red_control_is_told_as_one_that_did_not_fail(new):
    with pytest.raises(ClaimFailed, match="the control did not fail as it must: rank"):
        new("test_control_of_it").measured("rank", 3, equation="(6)").equals(4)


# --- names and bounds ----------------------------------------------------------------------------


def test_a_setting_is_no_part_of_a_name(new, record):
    with pytest.raises(ValueError, match="carries a setting"):
        new().measured("error, m = 8", 1, equation="(1)")
    with pytest.raises(ValueError, match="carries a setting"):
        new().record("error, m=8", 1)
    new(params={"n": 3}).record("error", 1, m=8)
    [number] = record.record.numbers
    assert (number.name, number.value, number.params) == ("error", 1, {"n": 3, "m": 8})


def test_a_bound_must_say_where_it_comes_from(new, record):
    with pytest.raises(TypeError, match="does not say where it comes from"):
        new().measured("error", 1, equation="(1)").at_most(2)
    error = new().measured("error", 1.0, equation="(1)", m=8)
    error.at_most(theorem(0.75, "(1)") + chosen(0.5, "half a step")).at_least(chosen(0.5, "so"))
    upper, lower = record.record.checks
    assert (upper.allowed, upper.relation, lower.relation) == (1.25, "<=", ">=")
    assert [str(source) for source in upper.provenance] == ["theorem: (1)", "chosen: half a step"]
    assert upper.params == lower.params == {"m": 8}
