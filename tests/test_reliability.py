"""docs/reliability.md shows what was observed, and nothing else."""

import json

import pytest
import reliability
from reliability import GATHERED, PAGE, filled, gather, keep, table

PLACES = "# Page\n<!-- rows: a -->\nold\n<!-- end -->\nwords\n<!-- rows: b -->\n<!-- end -->\n"


def test_the_page_shows_the_rows_that_were_gathered():
    rows = json.loads(GATHERED.read_text())
    assert filled(PAGE.read_text(), rows) == PAGE.read_text(), "run: make reliability"


def test_rows_are_kept_and_shown_in_the_order_of_their_names(tmp_path, monkeypatch):
    monkeypatch.setattr(reliability, "ROWS", tmp_path)
    keep("b", "2", what="two", how_many=20000, seen=False)
    keep("b", "1", what="one | 1", how_many=1, seen=True)
    keep("a", "1", x=0.5)
    assert filled(PLACES, gather(tmp_path)) == (
        "# Page\n<!-- rows: a -->\n| x |\n| ---: |\n| 0.5 |\n<!-- end -->\nwords\n<!-- rows: b -->\n"
        "| what | how many | seen |\n| --- | ---: | --- |\n| one \\| 1 | 1 | yes |\n| two | 20,000 | no |\n"
        "<!-- end -->\n"
    )


@pytest.mark.parametrize("rows", [{"a": [{"x": 1}]}, {key: [{"x": 1}] for key in "abc"}])
def test_a_table_that_lacks_or_is_left_over_is_refused(rows):
    with pytest.raises(ValueError, match=r"the page has places for \['a', 'b'\], rows are of "):
        filled(PLACES, rows)


def test_a_total_is_the_sum_of_what_is_a_number():
    rows = [
        {"what": "one", "how": "x", "n": 1, "seen": True},
        {"what": "two", "how": "y", "n": 41, "seen": True},
    ]
    page = filled("<!-- rows: a, with total -->\n<!-- end -->", {"a": rows})
    assert page.splitlines()[-2] == "| all |  | 42 |  |"


def test_rows_that_agree_are_shown_as_one():
    rows = [
        {"where": "here", "what": "x", "how": "cut", "n": 1},
        {"where": "here", "what": "x", "how": "burnt", "n": 10},
        {"where": "here", "what": "y", "how": "cut", "n": 100},
    ]
    page = filled("<!-- rows: a, by where and how, with total -->\n<!-- end -->", {"a": rows})
    assert page.splitlines()[1:-1] == [
        "| where | how | n |", "| --- | --- | ---: |", "| here | cut | 101 |", "| here | burnt | 10 |",
        "| all |  | 111 |",
    ]  # fmt: skip


def test_rows_of_different_columns_are_refused():
    with pytest.raises(ValueError, match="in one table"):
        table([{"x": 1}, {"y": 1}])


@pytest.mark.parametrize("name", ["", "../a", "a/b", "A", "-a"])
def test_a_name_that_is_no_name_of_a_file_is_refused(name):
    with pytest.raises(ValueError, match="is to name a file"):
        keep("a", name, x=1)
