"""The report: every page whole, every link good, everything said in words, nothing injected."""

import csv
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from invented_results import PAPERS, SHAPE, sample

from repro import files
from repro.__main__ import main
from repro.report import render
from repro.report.preview import preview
from repro.report.words import EVIDENCE, VERDICTS
from repro.results import codec
from repro.results.types import Coverage, Result, Results, Run


class Page(HTMLParser):
    """A page read back: its words, ids and links; badly nested tags are an error."""

    VOID = frozenset(["meta", "link", "br", "img", "col"])

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.path, self.source = path, path.read_text(encoding="utf-8")
        self.open, self.ids, self.tags, self.words = [], set(), [], []
        self.feed(self.source)
        self.close()
        assert not self.open, f"{path}: never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if "id" in attributes:
            assert attributes["id"] not in self.ids, f"{self.path}: {attributes['id']} stands twice"
            self.ids.add(attributes["id"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"{self.path}: </{tag}> closes nothing"
        assert self.open.pop() == tag, f"{self.path}: </{tag}> closes something else"

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def links(self):
        return [a[name] for _, a in self.tags for name in ("href", "src") if name in a]

    def all(self, tag, **wanted):
        return [a for t, a in self.tags if t == tag and wanted.items() <= a.items()]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The sample's pages, read back, by their paths below artifacts/."""
    artifacts = tmp_path_factory.mktemp("artifacts")
    results = sample()
    earlier = codec.decode(Run, SHAPE["run"] | SHAPE["earlier"], "earlier")
    codec.write(artifacts / "runs/long-ago.json", earlier)
    (artifacts / "runs/before.json").write_text("damaged")
    assert render(results, artifacts) == artifacts / "index.html"
    for figure in [figure for claim in results.claims for figure in claim.figures]:
        (artifacts / figure.svg).touch()
        (artifacts / figure.png).touch()
    return {p.relative_to(artifacts).as_posix(): Page(p) for p in artifacts.rglob("*.html")}


@pytest.fixture(scope="module")
def index(site):
    return site["index.html"]


def test_every_claim_has_a_page(site):
    claims = {f"claims/{claim.id}/index.html" for claim in sample().claims}
    letters = {f"letter-{paper}.html" for paper in PAPERS}
    assert set(site) == {"index.html", "open.html", *letters, *claims}


def test_every_link_and_image_resolves(site):
    ids = {page.path.resolve(): page.ids for page in site.values()}
    for name, page in site.items():
        for link in set(page.links):
            parts = urlsplit(link)
            assert not parts.scheme + parts.netloc, f"{name}: {link}"
            target = (page.path.parent / unquote(parts.path)) if parts.path else page.path
            assert target.exists(), f"{name}: {link}"
            assert not parts.fragment or parts.fragment in ids[target.resolve()], f"{name}: {link}"


def test_pages_need_no_network_and_only_the_filter_has_a_script(site):
    for name, page in site.items():
        assert page.all("script") == ([{}] if name == "index.html" else [])
        style = {"rel": "stylesheet", "href": f"{'../' * name.count('/')}style.css"}
        assert page.all("link") == ([] if name.startswith("letter-") else [style])
        assert not re.search(r"https?://|@import|url\((?!#)", page.source)
        assert not [name for _, a in page.tags for name in a if name.startswith("on")]


def test_pages_can_be_walked_without_a_mouse_and_read_aloud(site):
    for page in site.values():
        assert len(page.all("html", lang="en")) == len(page.all("main", id="main")) == 1
        assert len(page.all("a", href="#main")) == len(page.all("h1")) == 1
        assert all("alt" in a for a in page.all("img"))
        assert all("scope" in a for a in page.all("th"))


@pytest.mark.parametrize("paper", PAPERS)
def test_a_letter_has_every_erratum_severest_first_and_misprints_in_one_list(site, paper):
    page = site[f"letter-{paper}.html"]
    wrong = [claim for claim in sample().claims if claim.paper == paper and claim.errata]
    assert set(page.links) == {"#main", "index.html"}, "a letter is sent without the other pages"
    assert len(page.all("article")) == len(wrong)
    assert page.text.count("Read: It asks for B ≥ 1 .") == len(wrong)
    for words in ("Printed, in our words The lemma asks for B > 0 .", "assert 2.8 > 0",
                  "Corrected It asks for B ≥ 1 .", "What survives Everything for B ≥ 1 .",
                  "Why For B = 1 / 2 the wrong token wins.", "How sure we are The program computes it in exact arithmetic"):  # fmt: skip
        assert page.text.count(words) == len(wrong), words
    assert ("Misprints (" in page.text) == bool(wrong)
    assert f"letter-{paper}.html" in site["index.html"].links


def test_what_was_not_done_is_told_in_the_words_of_the_claims(site):
    page = site["open.html"]
    ran = [c for c in sample().claims if c.tests]
    assert page.text.count("Not checked: more.") == len(ran)
    skipped = [c for c in ran if any(test.state == "not-run" for test in c.tests)]
    assert page.text.count("Not run:") == len(skipped) > 0
    assert "open.html" in site["index.html"].links


def test_the_filter_has_every_value_that_a_row_has_and_a_rule_for_each(index):
    rows = [a for a in index.all("tr") if "data-verdict" in a]
    assert len(rows) == len(sample().claims)
    for name in ("paper", "kind", "verdict", "evidence"):
        values = {word for row in rows for word in row[f"data-{name}"].split()}
        offered = {a["value"] for a in index.all("option")}
        assert values <= offered
        for value in values:
            rule = f'[data-{name}]:not([data-{name}~="{value}"]) {{ display: none; }}'
            assert f'#show-{name} option[value="{value}"]:checked) {rule}' in index.source


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_is_a_sign_and_a_word_and_not_only_a_colour(index, verdict):
    sign = f'<svg class="sign" aria-hidden="true"><use href="#sign-{verdict}"/></svg>'
    assert f"{sign}{VERDICTS[verdict][0]}</span>" in index.source
    assert f"sign-{verdict}" in index.ids


def test_the_index_says_it_all_and_first_what_is_not_as_it_should_be(index):
    for words in (
        "This run is still going. 87 of 120 tests have reported",
        "a.json was damaged and is set aside as a.json.1",
        "1 test running",
        "1 test interrupted",
        "solid code changed since",
        "recorded 2026-01-14, smoke scale",
        "2 statements need attention",
        "We found 16 errors: 8 false statements , 8 misprints .",
        "with changes not committed",
        "3 cells: matches 1, same order 1, differs 1 ATTENTION, MSE 0.109 vs 0.1043 NN_width, MSE",
        "1 false statement 1 misprint",
        "Connected to nothing else: Remark 5.9",
        *EVIDENCE.values(),
    ):
        assert words in index.text


@pytest.mark.parametrize("state", ["interrupted", "finished"])
def test_a_run_that_was_interrupted_says_so_and_a_finished_one_does_not(tmp_path, state):
    results = sample()
    results.run.state, results.run.reported = state, 120
    page = Page(render(results, tmp_path, only=set()))
    assert ("This run was interrupted" in page.text) == (state == "interrupted")
    assert len([a for a in page.all("p", role="status") if "id" not in a]) == (
        state == "interrupted"
    )


def test_coverage_is_a_bar_and_the_same_in_words(index):
    (bar,) = [a for a in index.all("div", role="img") if "jiang" in a["aria-label"]]
    words = (
        "7 holds, 3 corrected, 2 supported, 1 refuted, 1 reproduced, 1 not reproduced, 1 error, "
        "1 not run, 5 pending"
    )
    assert bar["aria-label"] == f"jiang2024: {words}"
    assert "17 of 22 statements have a claim: 7 holds · 3 corrected" in index.text


@pytest.mark.parametrize("paper", PAPERS)
def test_the_graph_has_every_connected_statement_and_exactly_the_uses(index, paper):
    own = [claim for claim in sample().claims if claim.paper == paper]
    uses = {(used, claim.id) for claim in own for used in claim.uses}
    graph = index.source.split(f'<svg id="graph-of-{paper}"')[1].split("</svg>\n</div>")[0]
    box = r'<a href="claims/([^"]+)/index.html" class="node b(\d+) '
    ids = {place: id for id, place in re.findall(box, graph)}
    assert set(ids.values()) == {id for edge in uses for id in edge}
    drawn = re.findall(r'<path class="edge(?: implied)? e(\d+) e(\d+)"', graph)
    assert {(ids[used], ids[user]) for used, user in drawn} == uses
    assert len(drawn) == len(uses)


TOLD = {
    "fang2022/theorem-3.5": """Theorem 3.5 · also Theorem 4.2 in v2 · Section 3, proof in 6
        It corrected.
        What covers every case Proof: in powers.py
        false (3), second line (statement)
        For a < b, |f(x) - g(x)| <= 1.
        Refutes what is printed, in the statement or in its proof.
        Product construct · 4.2 s · 1 training reused ( relu ) M/2 in place of M.
        Exactly: the product = 1/3 (3.4)
        round-off (3.4) · n = 0 3.123×10 −16 ≤ 8.882×10 −16 2.84× as above 59 of 59
        numbers.csv has 61 checks and all recorded numbers
        breaks exactly one hypothesis
        M too small (3.4) · n = 4, M = 1.5 1.49 ≥ 0.5
        Lemma 3.1 holds Lemma 3.3 holds Used by Remark 3.6 holds Corollary 3.7 supported
        Recorded: condition 1.2×10 9 ; errors 0.1, 0.01; winner 1 values
        Time 8.4 s for 2 tests
        Trainings reused 1, which took 3.0 s
        cpu, 1 thread in each of 2 workers
        laptop scale, seed 0
        now, code 0123456789 with changes not committed
        python 3.11.9, torch 2.13.0""",
    "fang2022/figure-2": """Product failed
        error as printed (3.4) · n = 4, M = 1.5 0.31 ≤ 8.882×10 −16 0.08× roundoff 4 u M² 0 of 1
        0.31 > 0.025 at n=1""",
    "fang2022/table-1": """ATTENTION MSE 0.109 0.1043 matches 45000 samples 4500 samples reduced
        NN_depth MSE 10237.27 9 differs""",
    "fang2022/corollary-3.7": "What stays open every other n",
    "wang2024/theorem-5.4": "No claim has been written for this statement yet",
    "jiang2024/lemma-A.4": "Measured in the earlier run before at smoke scale",
    "jiang2024/theorem-A.1": """cpu, 2 threads
        paper scale, seed 3
        long-ago Versions torch 1.0""",
    "jiang2024/lemma-A.5": "Measured in the earlier run lost at smoke scale, of which no header is left",
}


@pytest.mark.parametrize("id", TOLD)
def test_the_page_of_a_claim_tells_everything(site, id):
    page = site[f"claims/{id}/index.html"]
    assert [
        words for words in map(str.strip, TOLD[id].splitlines()) if words not in page.text
    ] == []


def test_formulas_are_displayed_and_figures_shown(site):
    page = site["claims/fang2022/theorem-3.5/index.html"]
    assert page.all("math", display="block")
    assert page.all("img", src="../../../claims/fang2022/theorem-3.5/digits.svg")


def test_every_number_of_a_claim_is_in_a_table_beside_its_page(site):
    id = "fang2022/theorem-3.5"
    (claim,) = [claim for claim in sample().claims if claim.id == id]
    path = site[f"claims/{id}/index.html"].path.with_name("numbers.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = [row for row in rows if row["role"] == "check"]
    assert [float(row["margin"] or 0) for row in found] == [c.margin or 0 for c in claim.checks]
    assert {row["at"] for row in found} >= {"n = 0", "n = 58"}
    assert [row["role"] for row in rows].count("control") == 1
    assert [row["measured"] for row in rows if row["name"] == "errors"] == ["[0.1, 0.01]"] * 2


REFERENCE = Path(__file__).parent.parent / "artifacts/reference"


def test_the_mathematics_of_all_errata_is_set(tmp_path):
    preview(REFERENCE, tmp_path)
    for paper in PAPERS:
        text = (tmp_path / f"letter-{paper}.html").read_text()
        told = re.sub(r"<(pre|math)\b.*?</\1>|<[^>]*>", "", text, flags=re.DOTALL)
        assert len(told) > 900
        assert [line for line in told.splitlines() if re.search(r"\$|\\[a-z]", line)] == []


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


def hostile(value):
    """The same object with every text, except what names files and choices, made hostile."""
    if isinstance(value, dict):
        kept = ("id", "paper", "kind", "uses", "verdict", "state", "svg", "png")
        return {key: item if key in kept else hostile(item) for key, item in value.items()}
    if isinstance(value, list):
        return [hostile(item) for item in value]
    return HOSTILE + value if isinstance(value, str) else value


def test_hostile_text_comes_out_as_text(tmp_path):
    results = codec.decode(Results, hostile(codec.encode(sample())), "hostile")
    render(results, tmp_path)
    for path in tmp_path.rglob("*.html"):
        page = Page(path)
        assert page.all("script") == ([{}] if path == tmp_path / "index.html" else [])
        assert not [a for a in page.all("img") if "onerror" in a]
        assert HOSTILE in page.text


def test_an_entry_that_never_ran_has_a_page_that_says_so(tmp_path):
    bare = Result(id="p/lemma-1", paper="p", kind="lemma", number="1", verdict="not-run")
    papers = {"p": sample().papers["fang2022"]}
    counted = {"p": Coverage(statements=1, verdicts={"not-run": 1})}
    results = Results(title="T", run=Run(id="r"), papers=papers, coverage=counted, claims=[bare])
    assert "Lemma 1" in Page(render(results, tmp_path)).text
    assert "Nothing has been run" in Page(tmp_path / "claims/p/lemma-1/index.html").text


def test_an_id_that_leaves_the_folder_is_refused(tmp_path):
    away = Result(id="../../x", paper="p", kind="lemma", number="1", verdict="not-run")
    with pytest.raises(ValueError, match="claim id must read"):
        render(Results(title="T", run=Run(id="r"), claims=[away]), tmp_path)


def test_rendering_twice_gives_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        render(sample(), tmp_path / folder, only={"fang2022/theorem-3.5", "jiang2024/table-2"})
    for path in (tmp_path / "a").rglob("*.html"):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()


def test_only_writes_only_these_pages_and_the_index(tmp_path):
    render(sample(), tmp_path, only={"fang2022/lemma-3.1", "nothing/else-1"})
    written = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
    lemma = {f"claims/fang2022/lemma-3.1/{name}" for name in ("index.html", "numbers.csv")}
    assert written == {"index.html", "style.css", *lemma}


def test_a_snapshot_is_shown_without_a_run(tmp_path, capsys):
    results, reference = sample(), tmp_path / "artifacts/reference"
    for figure in (figure for claim in results.claims for figure in claim.figures):
        files.write_atomically(reference / figure.svg, "<svg/>")
    codec.write(reference / "results.json.gz", results)
    assert main(["preview", "--project", str(tmp_path)]) == 0
    page = Page(tmp_path / "artifacts/preview/claims/fang2022/lemma-3.1/index.html")
    (figure,) = page.all("img")
    assert (page.path.parent / figure["src"]).read_text() == "<svg/>"
    assert "PNG" not in page.text, "the snapshot has none"
    assert capsys.readouterr().out.strip().endswith("artifacts/preview/index.html")
