"""The ledger: every defect is refused by name, files find their entries, and ours is honest."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latex2mathml.converter import convert_to_element

from repro.harness.ledger import LedgerError, read
from repro.harness.project import Project

ROOT = Path(__file__).parents[1]
HEAD = {"schema": 1, "title": "Invented"}
PAPER = {"title": "A Demonstration", "authors": "N. N.", "version": "none"}
GONE = object()


def entry(id="demo2025/lemma-1", /, **changes):
    """The fields of a good entry; `GONE` takes one away."""
    kind, _, number = id.partition("/")[2].partition("-")
    good = {
        "id": id, "kind": kind, "number": number, "section": "1", "title": "A title",
        "statement": "It is so.", "evidence": ["exact"], "status": "holds",
        "why_all": "identity: it is so",
    }  # fmt: skip
    return {name: value for name, value in {**good, **changes}.items() if value is not GONE}


def toml(fields):
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())


def write(folder, *entries, head=HEAD, papers=None):
    """A ledger file; JSON's strings, numbers and lists are TOML's too."""
    papers = {"demo2025": PAPER} if papers is None else papers
    path = folder / "ledger.toml"
    parts = [toml(head), *(f"[papers.{key}]\n{toml(paper)}" for key, paper in papers.items())]
    path.write_text("\n".join([*parts, *("[[statement]]\n" + toml(fields) for fields in entries)]))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ledger")


# --- defects -------------------------------------------------------------------------------------


def test_a_good_ledger_is_read_as_it_stands(folder):
    more = {"open": "the limit", "also": "B.1", "status": "supported", "why_all": GONE}
    second = entry("demo2025/theorem-A.2", uses=["demo2025/lemma-1"], **more)
    ledger = read(write(folder, entry(), second))
    assert ledger.title == "Invented"
    assert ledger.papers["demo2025"].authors == "N. N."
    assert list(ledger.statements) == ["demo2025/lemma-1", "demo2025/theorem-A.2"]
    found = ledger.statements["demo2025/theorem-A.2"]
    assert (found.paper, found.kind, found.number) == ("demo2025", "theorem", "A.2")
    assert (found.uses, found.evidence) == (("demo2025/lemma-1",), ("exact",))
    assert (found.open, found.also, found.formula) == ("the limit", "B.1", "")
    assert ledger.statements["demo2025/lemma-1"].why_all == "identity: it is so"
    assert ledger.errata == {"demo2025/lemma-1": (), "demo2025/theorem-A.2": ()}


REQUIRED = ["kind", "number", "section", "title", "statement", "evidence", "status"]
OF_AN_ENTRY = {
    "unknown field": ({"colour": "red"}, "colour", "unknown field 'colour'"),
    **{f"no {name}": ({name: GONE}, name, "is missing") for name in REQUIRED},
    **{f"empty {name}": ({name: ""}, name, "is empty") for name in REQUIRED if name != "evidence"},
    "empty evidence": ({"evidence": []}, "evidence", "is empty"),
    "a number for a title": ({"title": 3}, "title", "must be a string, found 3"),
    "a list for a title": ({"title": ["a"]}, "title", "must be a string"),
    "a word for evidence": ({"evidence": "exact"}, "evidence", "must be a list of strings"),
    "numbers for uses": ({"uses": [1]}, "uses", "must be a list of strings"),
    "kind against id": ({"kind": "theorem"}, "kind", "is 'theorem', but the id says 'lemma'"),
    "unknown evidence": ({"evidence": ["exact", "luck"]}, "evidence", "unknown value 'luck'"),
    "unknown status": ({"status": "true"}, "status", "unknown value 'true'"),
    "holds, for no reason": ({"why_all": GONE}, "why_all", "must say what covers every case"),
    "an odd reason": ({"why_all": "magic: it is so"}, "why_all", "begins with what covers every"),
    "supported, nothing open": ({"status": "supported"}, "open", "must say what finite evidence"),
    "corrected, nothing false": ({"status": "corrected"}, "status", "an erratum of grade 'false'"),
    "refuted, nothing false": ({"status": "refuted"}, "status", "an erratum of grade 'false'"),
    "uses nothing": ({"uses": ["demo2025/lemma-9"]}, "uses", "'demo2025/lemma-9', which is no"),
}


@pytest.mark.parametrize(("changes", "field", "says"), OF_AN_ENTRY.values(), ids=OF_AN_ENTRY)
def test_a_defect_of_an_entry_names_file_entry_and_field(changes, field, says, folder):
    path = write(folder, entry("demo2025/lemma-0"), entry(**changes))
    with pytest.raises(LedgerError, match=re.escape(says)) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: entry demo2025/lemma-1: ")
    assert f"field {field!r}" in str(caught.value)


NO_IDS = [
    "lemma-1", "demo/lemma-1", "demo2025/lemma", "demo2025/lemma_1", "demo2025/lemma-1.",
    "demo2025/lemma--1", "demo2025/lemma-1/2", "demo2025/../lemma-1", "Demo2025/lemma-1",
    "demo2025/lemma-é", "demo2025/lemma-1\n", "demo2025/lemma-" + "1" * 80,
]  # fmt: skip


@pytest.mark.parametrize("id", NO_IDS, ids=repr)
def test_an_id_that_could_be_no_folder_or_file_name_is_refused(id, folder):
    path = write(folder, entry(id, kind="lemma", number="1"))
    with pytest.raises(LedgerError, match="field 'id' must read <paper>/<kind>-<number>") as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: entry {id}: ")


TWICE = {"uses": ["demo2025/lemma-1"] * 2}
OF_SEVERAL = {
    "an id twice": ([entry(), entry(title="Again")], "lemma-1: field 'id' stands twice"),
    "no declared paper": ([entry("other2025/lemma-1")], "other2025/lemma-1: field 'id' names no"),
    "no id": ([entry(), entry(id=GONE)], "number 2: field 'id' is missing"),
    "unknown kind": ([entry("demo2025/conjecture-1")], "conjecture-1: field 'kind': unknown"),
    "files of one name": (
        [entry("demo2025/lemma-3.1"), entry("demo2025/lemma-3-1")],
        "lemma-3-1: field 'id' reads like demo2025/lemma-3.1",
    ),
    "uses twice": (
        [entry(), entry("demo2025/lemma-2", **TWICE)],
        "lemma-2: field 'uses' names something twice",
    ),
}


@pytest.mark.parametrize(("entries", "says"), OF_SEVERAL.values(), ids=OF_SEVERAL)
def test_entries_that_do_not_go_together_are_refused(entries, says, folder):
    path = write(folder, *entries)
    with pytest.raises(LedgerError, match=rf"{re.escape(str(path))}: entry .*{re.escape(says)}"):
        read(path)


# --- errata --------------------------------------------------------------------------------------

ERRATUM = {
    "statement": "demo2025/lemma-1", "grade": "false", "where": "statement", "place": "(1)",
    "printed": "It is so.", "corrected": "It is not.", "survives": "nothing", "why": "0 = 1",
    "tests": ["test_printed_form"], "program": "lemma-1.py",
}  # fmt: skip


def with_errata(folder, status="corrected", **changes):
    path = write(folder, entry(status=status))
    (folder / "errata/demo2025").mkdir(parents=True)
    (folder / "errata/demo2025/lemma-1.py").write_text("assert 0 != 1")
    fields = {k: v for k, v in {**ERRATUM, **changes}.items() if v is not GONE}
    (folder / "errata/demo2025.toml").write_text("[[erratum]]\n" + toml(fields))
    return path


def test_errata_are_read_with_their_programs(tmp_path):
    (found,) = read(with_errata(tmp_path)).errata["demo2025/lemma-1"]
    assert (found.grade, found.tests) == ("false", ("test_printed_form",))
    assert found.source == "assert 0 != 1"


OF_ERRATA = {
    "unknown grade": ({"grade": "wrong"}, "'grade': unknown value 'wrong'"),
    "unknown place": ({"where": "margin"}, "'where': unknown value 'margin'"),
    "no such statement": ({"statement": "demo2025/lemma-2"}, "'statement': unknown value"),
    "false, shown by nothing": ({"tests": GONE}, "'tests' must name the test that stores"),
    "no program": ({"program": GONE}, "'program' or 'needs' must say"),
    "a program that is not there": ({"program": "other.py"}, "'program': there is no"),
    "nothing survives to be told": ({"survives": GONE}, "'survives' is missing"),
    "more than two lines": ({"why": "0 = 1. " * 50}, "'why' has 350 characters"),
    "a source that nobody reads": ({"source": "x"}, "unknown field 'source'"),
    "false, and said to hold": ({"status": "holds"}, "'holds' goes with no erratum of grade"),
    "a gap, and said to be false": ({"grade": "proof gap"}, "'corrected' goes with an erratum of"),
}


@pytest.mark.parametrize(("changes", "says"), OF_ERRATA.values(), ids=OF_ERRATA)
def test_a_defect_of_an_erratum_is_named(changes, says, tmp_path):
    path = with_errata(tmp_path, changes.pop("status", "corrected"), **changes)
    with pytest.raises(LedgerError, match=re.escape(says)):
        read(path)


def test_a_misprint_needs_neither_test_nor_program_and_changes_no_verdict(tmp_path):
    more = {"grade": "misprint", "tests": GONE, "program": GONE}
    assert len(read(with_errata(tmp_path, "holds", **more)).errata["demo2025/lemma-1"]) == 1


OF_THE_FILE = {
    "unknown top-level field": ({"head": {**HEAD, "author": "me"}}, "unknown field 'author'"),
    "no schema": ({"head": {"title": "x"}}, "field 'schema' must be 1, found None"),
    "another schema": ({"head": {**HEAD, "schema": 2}}, "field 'schema' must be 1, found 2"),
    "schema as a truth value": ({"head": {**HEAD, "schema": True}}, "field 'schema' must be 1"),
    "schema as a word": ({"head": {**HEAD, "schema": "1"}}, "field 'schema' must be 1, found '1'"),
    "no title": ({"head": {"schema": 1}}, "field 'title' must be a few words"),
    "statement no table": ({"head": {**HEAD, "statement": "x"}}, "field 'statement' must be an"),
    "statements no tables": ({"head": {**HEAD, "statement": ["x"]}}, "entry number 1: must be a"),
    "papers no table": ({"head": {**HEAD, "papers": ["x"]}, "papers": {}}, "field 'papers' must"),
    "paper without authors": (
        {"papers": {"demo2025": {"title": "x", "version": "x"}}},
        "paper demo2025: field 'authors' is missing",
    ),
    "paper with more": (
        {"papers": {"demo2025": {**PAPER, "year": "2025"}}},
        "paper demo2025: unknown field 'year'",
    ),
    "paper that names its own key": (
        {"papers": {"demo2025": {**PAPER, "key": "x"}}},
        "paper demo2025: unknown field 'key'",
    ),
    "paper with an empty title": (
        {"papers": {"demo2025": {**PAPER, "title": ""}}},
        "paper demo2025: field 'title' is empty",
    ),
    "paper with a year for a title": (
        {"papers": {"demo2025": {**PAPER, "title": 2025}}},
        "paper demo2025: field 'title' must be a string, found 2025",
    ),
}


@pytest.mark.parametrize(("parts", "says"), OF_THE_FILE.values(), ids=OF_THE_FILE)
def test_a_defect_of_the_file_or_a_paper_names_file_and_field(parts, says, folder):
    path = write(folder, **parts)
    with pytest.raises(LedgerError, match=re.escape(f"{path}: {says}")):
        read(path)


@pytest.mark.parametrize("content", [None, b"schema = ", b'title = "caf\xe9"\n'], ids=repr)
def test_what_is_not_there_or_not_toml_is_refused(content, tmp_path):
    path = tmp_path / "ledger.toml"
    if content is not None:
        path.write_bytes(content)
    says = "there is no ledger here" if content is None else "not a TOML file"
    with pytest.raises(LedgerError, match=re.escape(f"{path}: {says}")):
        read(path)


# --- uses ----------------------------------------------------------------------------------------


def lemmas(*uses):
    """Lemma i uses the lemmas whose numbers stand in uses[i]."""
    name = "demo2025/lemma-{}".format
    return [entry(name(i), uses=[name(j) for j in used]) for i, used in enumerate(uses)]


@pytest.mark.parametrize(
    ("uses", "closing", "cycle"),
    [
        ([[0]], 0, [0, 0]),
        ([[1], [0]], 0, [0, 1, 0]),
        ([[], [2], [0, 3], [1]], 2, [2, 3, 1, 2]),
        ([*[[i + 1] for i in range(99)], [40]], 40, [*range(40, 100), 40]),
    ],
    ids=["itself", "two", "not at the start", "long"],
)
def test_a_cycle_is_refused_and_spelled_out(uses, closing, cycle, folder):
    path = write(folder, *lemmas(*uses))
    spelled = " -> ".join(f"demo2025/lemma-{i}" for i in cycle)
    says = f"{path}: entry demo2025/lemma-{closing}: field 'uses' closes a cycle: {spelled}"
    with pytest.raises(LedgerError, match=re.escape(says) + "$"):
        read(path)


@st.composite
def graphs(draw):
    """Acyclic uses among up to 12 lemmas: a random order, and each uses some that come before."""
    order = draw(st.permutations(range(draw(st.integers(2, 12)))))
    uses = [[] for _ in order]
    for place, lemma in enumerate(order):
        uses[lemma] = draw(st.lists(st.sampled_from(order[:place] or [-1]), unique=True))
        uses[lemma] = [used for used in uses[lemma] if used >= 0]
    return uses


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(uses=graphs())
def test_any_acyclic_ledger_is_read_and_ordered_after_what_it_uses(uses, folder):
    ledger = read(write(folder, *lemmas(*uses)))
    order = ledger.order()
    assert sorted(order) == sorted(ledger.statements)
    for id, statement in ledger.statements.items():
        assert all(order.index(used) < order.index(id) for used in statement.uses)


# --- files and entries ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "id"),
    [
        ("demo2025/test_lemma_3_1.py", "demo2025/lemma-3.1"),
        ("demo2025/test_lemma_3_1_words.py", "demo2025/lemma-3.1"),
        ("demo2025/test_lemma_3_10.py", "demo2025/lemma-3.10"),
        ("demo2025/test_lemma_3_10_words.py", "demo2025/lemma-3.10"),
        ("demo2025/test_lemma_3_1_x.py", "demo2025/lemma-3.1-x"),
        ("demo2025/test_lemma_3_1_x_words.py", "demo2025/lemma-3.1-x"),
        ("demo2025/test_lemma_3_1_xy.py", "demo2025/lemma-3.1"),
        ("other2025/test_lemma_3_1_words.py", "other2025/lemma-3.1"),
        ("other2025/test_lemma_3_10_words.py", None),
        ("third2025/test_lemma_3_1_words.py", None),
        ("demo2025/test_lemma_3_2.py", None),
        ("demo2025/test_lemma_3.py", None),
        ("demo2025/lemma_3_1.py", None),
    ],
)
def test_a_file_belongs_to_the_longest_id_that_begins_its_name(file, id, folder):
    ids = ["lemma-3.1", "lemma-3.10", "lemma-3.1-x"]
    entries = [*(entry(f"demo2025/{id}") for id in ids), entry("other2025/lemma-3.1")]
    ledger = read(write(folder, *entries, papers={"demo2025": PAPER, "other2025": PAPER}))
    found = ledger.of_file(Path("/somewhere/claims") / file)
    assert (found.id if found else None) == id


def test_a_claim_file_of_no_entry_is_refused_with_the_id_that_it_needs(demo):
    demo.claim("lemma-1")
    (demo.root / "claims/demo2025/test_theorem_A_2_words.py").touch()
    says = r"test_theorem_A_2_words\.py: no entry .* such as demo2025/theorem-A\.2, or rename"
    with pytest.raises(LedgerError, match=says):
        Project(demo.root).read_ledger()


def test_a_second_claim_file_for_an_entry_is_refused(demo):
    demo.claim("lemma-1")
    (demo.root / "claims/demo2025/test_lemma_1_other.py").touch()
    says = r"test_lemma_1_other\.py: test_lemma_1_demo\.py already shows demo2025/lemma-1"
    with pytest.raises(LedgerError, match=says):
        Project(demo.root).read_ledger()


# --- our ledger ----------------------------------------------------------------------------------

NUMBERED = {
    "fang2022": """
        lemma-3.1 remark-3.2 lemma-3.3 remark-3.4 theorem-3.5 remark-3.6 corollary-3.7
        table-1 table-2 table-3 figure-1 figure-2 figure-3""",
    "jiang2024": """
        theorem-4.1 proposition-6.1 proposition-6.2 proposition-6.3
        theorem-A.1 proposition-A.2 theorem-A.3 lemma-A.4 proposition-B.1
        table-1 table-2 table-3 figure-1 figure-2 figure-3 figure-4 figure-5 figure-6""",
    "wang2024": """
        remark-3.1 remark-3.2 theorem-4.1 theorem-5.1 proposition-5.2 proposition-5.3 theorem-5.4
        proposition-5.5 theorem-6.1 proposition-B.1 remark-B.3 definition-B.5
        lemma-E.1 lemma-E.2 lemma-E.3 lemma-E.4 lemma-E.5 lemma-E.6
        definition-F.1 proposition-F.2 remark-F.3 remark-F.4 lemma-F.5 lemma-F.6 table-1""",
}
AT_LEAST = {"fang2022": 14, "jiang2024": 46, "wang2024": 40}


@pytest.fixture(scope="module")
def ours():
    return Project(ROOT).read_ledger()


RESTATED = "theorem-A.1 theorem-B.2 proposition-B.4 proposition-B.6 theorem-C.1 theorem-D.1"


def test_what_the_appendix_of_wang2024_restates_is_found_by_either_number(ours):
    also = {s.also.lower().replace(" ", "-") for s in ours.statements.values()}
    assert set(map(str.lower, RESTATED.split())) - also == set()


@pytest.mark.parametrize("paper", AT_LEAST)
def test_our_ledger_has_the_numbered_statements_of(paper, ours):
    assert {f"{paper}/{name}" for name in NUMBERED[paper].split()} - set(ours.statements) == set()
    kinds = [s.kind for s in ours.statements.values() if s.paper == paper]
    assert len(kinds) - kinds.count("finding") >= AT_LEAST[paper]


def test_our_ledger_is_pending_exactly_where_there_is_no_claim_file(ours):
    shown = {ours.of_file(file).id for file in Project(ROOT).claim_files()}
    assert {id for id, statement in ours.statements.items() if not statement.pending} == shown


def left_over(latex):
    """Commands that the conversion to MathML passed on as text, like \\nonsense."""
    return [text for text in convert_to_element(latex).itertext() if "\\" in text]


def formulas(statement):
    """The displayed formula and every inline one; a lone dollar sign would swallow prose."""
    prose = [
        statement.title,
        statement.statement,
        statement.note,
        statement.why_all,
        statement.open,
    ]
    assert all(text.count("$") % 2 == 0 for text in prose), f"{statement.id}: a lone $"
    inline = [latex for text in prose for latex in re.findall(r"\$([^$]*)\$", text)]
    return [*filter(None, [statement.formula]), *inline]


def test_every_formula_of_our_ledger_becomes_mathml(ours):
    found = [(s.id, latex) for s in ours.statements.values() for latex in formulas(s)]
    assert len(found) > 800
    assert [(id, latex) for id, latex in found if not latex.strip() or left_over(latex)] == []
    assert left_over(r"\hat z_i + \nonsense x") == ["\\nonsense"]
