"""benchmarks.json and its page: what is new, what was, what is missed."""

import json
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from repro import files
from repro.report import render
from tools.benchmarks import measuring
from tools.benchmarks import page as benchmarks
from tools.benchmarks.measuring import Recorder
from tools.benchmarks.page import Row, merged, page_values

NOW = {"id": "2", "started": "2026-02-01T00:00:00Z", "git": "abc", "machine": {"processor": "P", "cores": 2, "torch": "1"}}  # fmt: skip
ROOT = Path(__file__).parents[2]
THEN = {**NOW, "id": "1", "started": "2026-01-01T00:00:00Z"}


def entry(name="a step", value=20.0, **changes):
    fields = {
        "unit": "×",
        "relation": ">=",
        "target": 15.0,
        "limit": 40.0,
        "limit_is": "the product",
        "against": "autograd",
    }
    return {"part": 1, "name": name, "value": value, **fields, "why": "memory is slow", "note": "", "params": {"n": 3}, **changes}  # fmt: skip


# --- the file ------------------------------------------------------------------------------------


def test_a_new_value_moves_the_old_one_into_the_history():
    first = merged({}, THEN, [entry(value=10.0)])
    second = merged(first, NOW, [entry(value=20.0)])
    (only,) = second["ratios"]
    assert (only["value"], only["run"]) == (20.0, "2")
    assert only["history"] == [{"run": "1", "value": 10.0}]
    assert set(second["runs"]) == {"1", "2"}


def test_an_entry_that_is_measured_again_in_the_same_run_is_no_history():
    once = merged({}, NOW, [entry(value=10.0)])
    assert merged(once, NOW, [entry(value=11.0)])["ratios"][0]["history"] == []


def test_a_figure_of_an_earlier_run_is_told_as_that_runs_and_once():
    made, other = {**THEN, "id": "0", "machine": {"processor": "Q"}}, {**NOW, "id": "3"}
    taken = entry(value=220.0, run="0")
    once = merged({}, NOW, [taken, entry("b")], {"0": made})
    twice = merged(once, other, [taken, entry("b")], {"0": made})
    first, second = twice["ratios"]
    assert (first["run"], first["history"]) == ("0", [])
    assert (second["run"], len(second["history"])) == ("3", 1)
    assert twice["runs"]["0"]["machine"] == {"processor": "Q"}


def test_rows_stand_in_the_order_of_the_run_that_has_measured_all_of_a_part():
    def names(document):
        return [one["name"] for one in document["ratios"]]

    before = merged({}, THEN, [entry("c"), entry("a"), entry("x", part=2)])
    assert names(before) == ["c", "a", "x"]
    assert names(merged(before, NOW, [entry("a"), entry("b")])) == ["c", "a", "b", "x"]
    assert names(merged(before, NOW, [entry("a"), entry("b"), entry("c")])) == ["a", "b", "c", "x"]


def test_a_run_of_a_part_leaves_the_others_with_the_run_that_they_are_of():
    before = merged({}, THEN, [entry("a"), entry("b", part=2)])
    after = merged(before, NOW, [entry("b", part=2, value=1.0)])
    assert [(one["name"], one["run"]) for one in after["ratios"]] == [("a", "1"), ("b", "2")]


def test_the_history_is_cut_and_runs_that_nothing_names_are_dropped():
    document = {}
    for number in range(benchmarks.KEPT + 3):
        document = merged(document, {**NOW, "id": str(number)}, [entry(value=float(number))])
    values = [one["value"] for one in document["ratios"][0]["history"]]
    assert len(values) == benchmarks.KEPT
    assert values[-1] == benchmarks.KEPT + 1
    assert "0" not in document["runs"]


def test_the_snapshot_is_read_where_this_machine_has_measured_nothing(tmp_path):
    assert benchmarks.read(tmp_path) == {}
    document = merged({}, NOW, [entry()])
    files.write_json(tmp_path / "reference" / benchmarks.FILE, document)
    assert benchmarks.read(tmp_path) == document
    (tmp_path / benchmarks.FILE).write_text("{")
    assert benchmarks.read(tmp_path) == document  # a damaged file is as good as none
    files.write_json(tmp_path / benchmarks.FILE, merged({}, NOW, [entry(value=1.0)]))
    assert benchmarks.read(tmp_path)["ratios"][0]["value"] == 1.0


def test_what_is_found_is_on_the_disk_at_once_and_two_of_one_name_are_refused(tmp_path):
    said = []
    recorder = Recorder(tmp_path, NOW, said.append)
    recorder.add(entry(value=10.0))
    recorder.tell(**{"dearest cold": [{"id": "x/y"}]})
    recorder.add(entry("another"))
    document = json.loads((tmp_path / benchmarks.FILE).read_text())
    assert [one["name"] for one in document["ratios"]] == ["a step", "another"]
    assert document["dearest cold"] == [{"id": "x/y"}]
    assert "10 × (>= 15: MISSED)" in said[0]
    assert "MISSED" not in said[1]
    with pytest.raises(ValueError, match="two benchmarks are called 'another'"):
        recorder.add(entry("another"))


def test_after_a_run_of_all_what_no_benchmark_makes_is_gone(tmp_path):
    before = merged({}, THEN, [entry("kept", value=9.0), entry("gone")])
    files.write_json(tmp_path / benchmarks.FILE, before)
    recorder = Recorder(tmp_path, NOW, lambda line: None)
    recorder.add(entry("kept"))
    assert len(files.read_json(tmp_path / benchmarks.FILE)["ratios"]) == 2
    recorder.leave_out_others()
    (one,) = files.read_json(tmp_path / benchmarks.FILE)["ratios"]
    assert (one["name"], len(one["history"])) == ("kept", 1)


@pytest.mark.parametrize(
    ("ended", "chosen", "skipped", "left"),
    [
        (pytest.ExitCode.OK, "", [], ["kept"]),
        (pytest.ExitCode.INTERRUPTED, "", [], ["kept", "other"]),
        (pytest.ExitCode.TESTS_FAILED, "", [], ["kept", "other"]),
        (pytest.ExitCode.OK, "kept", [], ["kept", "other"]),
        (pytest.ExitCode.OK, "", ["make costs has not been run"], ["kept", "other"]),
    ],
)
def test_only_a_whole_run_leaves_others_out(tmp_path, ended, chosen, skipped, left):
    files.write_json(tmp_path / benchmarks.FILE, merged({}, THEN, [entry("kept"), entry("other")]))
    recorder = Recorder(tmp_path, NOW, lambda line: None)
    recorder.add(entry("kept"))
    plugins = SimpleNamespace(getplugin=lambda name: SimpleNamespace(stats={"skipped": skipped}))
    config = SimpleNamespace(
        stash={measuring.RECORDER: recorder}, args=["tests"], option=SimpleNamespace(keyword=chosen), pluginmanager=plugins
    )  # fmt: skip
    measuring.pytest_sessionfinish(SimpleNamespace(config=config), ended)
    document = files.read_json(tmp_path / benchmarks.FILE)
    assert [one["name"] for one in document["ratios"]] == left


# --- the page ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relation", "value", "met"),
    [(">=", 14.9, False), (">=", 15.0, True), ("<=", 15.0, True), ("<=", 15.1, False), ("≈", 15.2, True), ("≈", 14.7, False)],
)  # fmt: skip
def test_when_a_target_is_met(relation, value, met):
    assert Row(entry(relation=relation, value=value)).met is met


def test_without_a_target_nothing_is_met_or_missed():
    assert Row(entry(target=None)).met is None


@pytest.mark.parametrize(
    ("value", "told"),
    [(5.0, "67 % below"), (14.7, "2 % below"), (18.0, "20 % above"), (45.0, "3 times")],
)
def test_by_how_much_it_is_missed_is_told_in_percent_or_if_it_is_twice_as_much_in_times(
    value, told
):
    assert Row(entry(value=value)).missed_by == told


def test_a_figure_without_a_unit_is_a_number_in_the_docs_and_on_the_page(tmp_path):
    number = entry(value=1.22, unit=benchmarks.NUMBER, relation="<=", target=1.5, limit=None)
    assert '<span class="nowrap">1.22</span>' in shown(tmp_path, number)
    text = f"{benchmarks.BEGIN}\n{benchmarks.END}"
    assert "| 1 | a step | 1.22 | ≤ 1.5 |  |  |" in benchmarks.filled(
        text, merged({}, NOW, [number])
    )


@pytest.mark.parametrize("unit", ["×", "s"])
@pytest.mark.parametrize("value", [0.5, 20.0, 300.0])
def test_value_target_and_limit_lie_on_the_bar_in_their_order(unit, value):
    row = Row(entry(value=value, unit=unit, history=[]))
    marks = sorted([value, 15.0, 40.0])
    places = [row.place(mark) for mark in marks]
    assert places == sorted(places)
    assert len(set(places)) == 3
    assert 0 < places[0] < places[-1] < 100


def test_bars_of_exponents_have_one_length_so_that_they_can_be_compared():
    rows = [
        Row(entry(value=p, unit="exponent", target=None, limit=None, history=[]))
        for p in (1.0, 2.0)
    ]
    assert [row.place(row.entry["value"]) for row in rows] == pytest.approx(
        [100 / 3.36, 200 / 3.36]
    )


@pytest.mark.parametrize("unit", ["×", "s"])
def test_earlier_values_lie_on_the_bar_too_and_only_the_last_eight_set_its_length(unit):
    history = [{"run": "then", "value": value} for value in [1e6, *range(90, 97), 0.25]]
    row = Row(entry(value=20.0, unit=unit, history=history))
    assert row.past == [90, 91, 92, 93, 94, 95, 96, 0.25]
    assert 0 < row.place(0.25) < row.place(20.0) < row.place(96) < 100


def shown(tmp_path, *entries, **tables):
    document = {**merged(merged({}, THEN, [entry(value=9.0)]), NOW, entries), **tables}
    files.write_json(tmp_path / benchmarks.FILE, document)
    render({"claims": []}, tmp_path)
    return (tmp_path / benchmarks.PAGE).read_text()


def test_a_miss_is_red_and_says_by_how_much_and_why(tmp_path):
    page = shown(tmp_path, entry(value=5.0), entry("fine", part=2))
    assert "1 of 2 targets are met" in page
    assert page.count("67 % below the target of 15×") == 2  # above all, and in its row
    assert page.count("Why: memory is slow.") == 1
    assert page.count('class="missed"') == 1
    assert page.count('<div class="gauge miss"') == 1
    assert "Earlier runs: 9" in page


def test_the_index_links_to_the_page_only_if_it_is_there(tmp_path):
    render({"claims": []}, tmp_path)
    assert "benchmarks.html" not in (tmp_path / "index.html").read_text()
    shown(tmp_path, entry())
    assert 'href="benchmarks.html"' in (tmp_path / "index.html").read_text()


def test_the_page_of_a_run_without_misses(tmp_path):
    page = shown(tmp_path, entry())
    assert "1 of 1 target is met" in page
    assert "No target missed" in page


DEAR = {
    "id": "p/lemma-1",
    "seconds": 90.0,
    "trainings": {"fit": 60.0},
    "functions": [["a.py: slow<b>", 0.5]],
}


def test_the_page_names_the_dearest_claims_their_trainings_and_their_functions(tmp_path):
    page = shown(tmp_path, entry(), **{"dearest cold": [DEAR], "dearest warm": [DEAR]})
    assert page.count("1 min 30 s") == 2
    assert page.count("fit 1 min 00 s") == 1  # in a warm run none is made
    assert page.count("50.0 % <code>a.py: slow&lt;b&gt;</code>") == 2


def test_rows_of_before_that_were_not_of_one_run_are_not_shown(tmp_path):
    old = {"id": "p/lemma-1", "cold": 90.0, "warm": 30.0, "trainings": {}, "functions": []}
    page = shown(tmp_path, entry(), **{"dearest cold": [old], "dearest warm": [old]})
    assert "p/lemma-1" not in page
    assert "dearest" not in page


def test_a_lower_bound_says_so_on_the_page_and_in_the_docs(tmp_path):
    assert "<strong>≥ 20×</strong>" in shown(tmp_path, entry(at_least=True))
    assert "<strong>20×</strong>" in shown(tmp_path, entry(at_least=False))
    text = f"{benchmarks.BEGIN}\n{benchmarks.END}"
    page = benchmarks.filled(text, merged({}, NOW, [entry(at_least=True)]))
    assert "| 1 | a step | ≥ 20× | ≥ 15× | 40× |  |" in page


@pytest.mark.parametrize(
    ("changes", "slower"),
    [
        ({"value": 0.5, "target": None}, True),
        ({"value": 0.5, "target": None, "unit": "s"}, False),
        ({"value": 0.7, "target": 0.667}, False),  # that was aimed at
        ({"value": 0.5}, False),  # a miss, and red
        ({"value": 1.5, "target": None}, False),
    ],
)
def test_what_is_slower_and_was_not_aimed_at_is_no_gain(tmp_path, changes, slower):
    page = shown(tmp_path, entry(**changes))
    assert ('<div class="gauge slow"' in page) is slower
    assert ('<span class="quiet small">slower</span>' in page) is slower


def test_words_in_backticks_are_code_wherever_they_stand(tmp_path):
    places = ("name", "against", "note", "why", "limit_is")
    page = shown(tmp_path, entry(value=1.0, **{key: f"see `make {key}`" for key in places}))
    assert [f"<code>make {key}</code>" in page for key in places] == [True] * 5
    assert "`" not in page


def test_logarithmic_bars_have_lines_at_the_powers_of_ten():
    row = Row(entry(value=0.5, target=15.0, limit=400.0, history=[]))
    assert row.ticks == [1.0, 10.0, 100.0]
    assert [0 < row.place(tick) < 100 for tick in row.ticks] == [True] * 3
    assert Row(entry(unit="s", history=[])).ticks == []


@pytest.mark.parametrize("given", [{}, {"PART": 8}, {"PART": "1"}])
def test_a_benchmark_without_a_part_of_the_page_is_told_what_to_write(given):
    module = ModuleType("test_benchmarks_new")
    vars(module).update(given)
    with pytest.raises(
        ValueError, match=r"test_benchmarks_new .* write PART = .*1: The zero-error"
    ):
        benchmarks.part_of(module)
    vars(module).update(PART=7)
    assert benchmarks.part_of(module) == 7


def test_parts_come_in_order_and_empty_ones_are_left_out():
    document = merged({}, NOW, [entry("z", part=4), entry("a", part=1)])
    assert [part[0] for part in page_values(document)["parts"]] == [1, 4]


# --- the table of docs/benchmarks.md -------------------------------------------------------------


def test_the_docs_have_every_target_of_the_snapshot():
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    snapshot = files.read_json(ROOT / "artifacts" / "reference" / benchmarks.FILE)
    again = "python -m tools.benchmarks.page makes the table anew"
    assert benchmarks.filled(text, snapshot) == text, again


def test_a_line_says_what_is_missed_and_why_and_leaves_out_what_has_no_target():
    text = f"a\n{benchmarks.BEGIN}\nold\n{benchmarks.END}\nb\n"
    found = [entry("fine"), entry("slow", value=5.0), entry("free", target=None)]
    page = benchmarks.filled(text, merged({}, NOW, found))
    assert page.startswith(
        f"a\n{benchmarks.BEGIN}\n1 of 2 targets are met: P, 2 cores, torch 1, 2026-02-01."
    )
    assert "| 1 | fine | 20× | ≥ 15× | 40× |  |" in page
    assert "| 1 | slow | **5×** | ≥ 15× | 40× | memory is slow |" in page
    assert "free" not in page
    assert "old" not in page
    assert page.endswith(f"{benchmarks.END}\nb\n")


def test_a_page_without_a_place_for_the_table_is_refused():
    with pytest.raises(ValueError, match="lacks the lines"):
        benchmarks.filled("nothing", merged({}, NOW, [entry()]))
