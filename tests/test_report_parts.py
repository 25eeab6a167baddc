"""The parts of the report: mathematics, numbers, kinds of checks, the graph's layout."""

import re
from dataclasses import replace
from html import escape
from itertools import pairwise

import pytest
from invented_results import sample

from repro.bounds import Source
from repro.report import errata
from repro.report.layout import ROW, layout
from repro.report.mathematics import formula, prose
from repro.report.measurements import Recorded, by_test, kinds, recorded
from repro.report.numbers import moment, number, origins, printed, seconds
from repro.report.spelling import spelled
from repro.results.types import Check, Number, Result
from repro.results.types import Test as Tested

CLAIM = Result(id="p/lemma-1", paper="p", kind="lemma", number="1", verdict="holds")
CHECK = Check(name="error", equation="(3.4)", measured=1.0, relation="<=", allowed=2.0, ok=True)


def test_counterexamples_to_the_same_sentence_are_told_once():
    example = next(one for claim in sample().claims for one in claim.counterexamples)
    again, reading = replace(example, measured=3.0), replace(example, printed=False)
    claim = replace(CLAIM, counterexamples=[example, reading, again])
    assert [one.examples for one in claim.refutations] == [(example, again), (reading,)]


def test_errata_are_counted_by_grade_once_something_has_run():
    claims = {claim.id: claim for claim in sample().claims}
    false = sum(bool(claim.errata) for claim in claims.values())
    told = [("false", f"{false} false statements"), ("misprint", f"{false} misprints")]
    assert errata.count(claims) == (2 * false, told)
    idle = {id: replace(claim, tests=[]) for id, claim in claims.items()}
    assert errata.count(idle) == (0, [])
    one = next(claim for claim in claims.values() if claim.errata)
    assert errata.count({one.id: one})[1][0] == ("false", "1 false statement")


def test_boxes_do_not_overlap_and_arrows_lead_to_the_right():
    names = tuple(f"n{i}" for i in range(45))
    edges = tuple((f"n{i}", f"n{j}") for j in range(45) for i in {j // 2, j // 3 + 1} if i < j)
    placed = layout(names, edges)
    assert set(placed.curves) == set(edges)
    assert all(placed.corners[u][0] < placed.corners[v][0] for u, v in edges)
    for column in {left for left, _ in placed.corners.values()}:
        tops = sorted(top for left, top in placed.corners.values() if left == column)
        assert all(below - above > ROW for above, below in pairwise(tops))
        assert tops[0] >= 0
        assert tops[-1] + ROW <= placed.height


def test_of_each_kind_of_check_the_tightest_is_shown_and_what_is_red():
    wide, tight, other = (
        replace(CHECK, margin=2.0, params={"m": 4}),
        replace(CHECK, margin=1.5, params={"m": 8}),
        replace(CHECK, name="error of 3 heads"),
    )
    first, second = kinds([wide, tight, other])
    assert (first.shown, second.shown) == ([tight], [other])
    red = replace(CHECK, ok=False, margin=0.5)
    (kind,) = kinds([wide, tight, red])
    assert (kind.shown, kind.count, kind.red) == ([red], 3, 1)
    assert len(kinds([CHECK, replace(CHECK, equation="(3.5)")])) == 2


TYPED = {
    "E_(m-1)(f) <= |g_l|_B m^-1/2": "E<sub>m-1</sub>(f) ≤ |g<sub>l</sub>|<sub>B</sub> m<sup>−1/2</sup>",
    "x_(t−t_l) and beta_{k,s}": "x<sub>t−t<sub>l</sub></sub> and β<sub>k,s</sub>",
    "[0, 1]^d, e^((l−1)/γ), m_FF²": "[0, 1]<sup>d</sup>, e<sup>((l−1)/γ)</sup>, m<sub>FF</sub>²",
    "F^ = F, psi^_1, rho~": "F\u0302 = F, ψ\u0302<sub>1</sub>, ρ\u0303",
    "zeros_where_a_beta_may_stand": "zeros where a beta may stand",
    "smooth_error, tight": "smooth error, tight",
    "test_no_error_for_x_1 failed": "<code>test_no_error_for_x_1</code> failed",
    "error ~ 1/q": "error ~ 1/q",
    "a < b": "a &lt; b",
    "`x_1` and $x$": "<code>x_1</code> and <math><mi>x</mi></math>",
    "`x_1`, head_pod.py and x_1": "<code>x_1</code>, <code>head_pod.py</code> and x<sub>1</sub>",
    "B^2/2 <= rho^(u, v)": "B<sup>2</sup>/2 ≤ ρ\u0302(u, v)",
}


@pytest.mark.parametrize("text", TYPED)
def test_mathematics_as_it_is_typed_gets_its_indices_and_letters(text):
    assert spelled(text) == TYPED[text]


HOSTILE_LATEX = r"""
<script>alert(1)</script>
\text{<script>alert(1)</script>}
\text{&lt;script&gt;}
\href{javascript:alert(1)}{x}
\class{a" onclick="x}{y}
\style{background:url(x)}{y}
\color{"><script>}{y}
"""


@pytest.mark.parametrize("latex", HOSTILE_LATEX.split())
def test_a_formula_cannot_bring_markup_of_its_own(latex):
    for markup in (formula(latex), formula(latex, display=True), prose(f"a ${latex}$ b")):
        assert not re.search(r"<(?!/?(m[a-z]+|code|span)\b)|(?<=[ \"])(on\w+|href|style)=", markup)


@pytest.mark.parametrize("latex", [r"\frac{", r"\nosuch{x<y}", r"\begin{aligned}a&b", "^", ""])
def test_a_formula_that_cannot_be_set_is_shown_as_latex(latex):
    assert formula(latex) == f'<code class="latex">{escape(latex)}</code>'


def test_prose_sets_what_stands_between_dollars():
    assert prose("a < $x$") == "a &lt; <math><mi>x</mi></math>"
    x = "<math><mi>x</mi></math>"
    assert prose("a ($x$), b") == f'a <span class="nowrap">({x}),</span> b'
    assert prose(f"${'x' * 25}$").startswith('<span class="wide"><math>')
    assert prose(r"costs \$5 or $5") == "costs $5 or $5"
    assert (
        prose('"$x$" is `a<b`')
        == f'<span class="nowrap">&#34;{x}&#34;</span> is <code>a&lt;b</code>'
    )
    assert prose("`a<b` is code") == "<code>a&lt;b</code> is code"
    assert '<mo lspace="0.167em" rspace="0.167em">log</mo>' in formula(r"2\log n")
    assert '<mo stretchy="false">(</mo><mo form="prefix">−</mo><mn>1</mn>' in formula("(-1)")
    assert "<mi>a</mi><mo>−</mo><mn>1</mn>" in formula("a-1")
    assert "𝐱" in formula(r"\mathbf{x}")
    assert "𝟙" in formula(r"\mathbb{1}")


def test_one_test_at_many_values_is_told_once_with_what_happened():
    passed = Tested(test="test_b", state="passed", role="claim", evidence="exact", run="r")
    names, states = ("test_a[1]", "test_a[2]", "test_a[3]"), ("passed", "passed", "failed")
    tests = [replace(passed, test=n, state=s) for n, s in zip(names, states, strict=True)]
    tests[2].message = "0.3 > 0.1"
    several, one = by_test(replace(CLAIM, tests=[*tests, passed]), control=False)
    assert (several.sentence, several.states, one.states) == ("A", [("failed", 1)], [])
    assert several.messages == [("3", "0.3 > 0.1", True)]


def test_numbers_at_several_settings_are_a_table_and_those_at_one_a_sentence():
    test = Tested(test="test_a", state="passed", role="claim", evidence="exact", run="r")
    at = [Number(name=name, value=n, params={"n": n}) for n in (1, 2, 3) for name in ("x", "y")]
    many, one = replace(test, numbers=at[:5]), replace(test, test="test_b", numbers=at[:2])
    (table,) = recorded([many, one])
    assert (table.test, table.names) == ("test_a", ["x", "y"])
    assert table.rows == [("n = 1", [1, 1]), ("n = 2", [2, 2]), ("n = 3", [3, None])]
    assert table.lines == table.rows, "more settings than names go down the page"
    turned = Recorded.of("test_a", [replace(test, numbers=at[:4])])
    assert turned.lines == [("x", [1, 2]), ("y", [1, 2])]
    first, second = by_test(replace(CLAIM, tests=[many, one]), control=False)
    assert (first.recorded, second.recorded) == ([], [("x", 1), ("y", 1)])


def test_numbers_are_readable():
    shown = [number(value) for value in (0.5, 1.0, -3, 123456, 1e-16, 1.25e-16, True, None)]
    assert shown[:4] == ["0.5", "1", "−3", "123\u202f456"]
    assert shown[4:] == ["10<sup>−16</sup>", "1.25×10<sup>−16</sup>", "yes", "–"]
    assert [number(value) for value in ("1/3", "nan", "-inf")] == ["1/3", "not a number", "−∞"]
    assert number(0.123456) == '<span title="0.123456">0.1235</span>'
    assert number({"n": 4, "x": [1, 0.5]}) == "n\u00a0=\u00a04, x\u00a0=\u00a01, 0.5"
    assert [printed(10237.27), printed("3.57e-2")] == ["10237.27", "3.57e-2"]


def test_times_are_readable():
    shown = [seconds(value) for value in (0.004, 0.34, 4.21, 59.97, 192, 7500, None)]
    assert shown == ["< 10 ms", "340 ms", "4.2 s", "1 min 00 s", "3 min 12 s", "2 h 05 min", "–"]
    assert ">15 January 2026, 10:15 UTC<" in moment("2026-01-15T10:15:00+00:00")
    assert moment("soon & later") == "soon &amp; later"


def test_a_certified_number_is_shown_with_four_digits_and_its_radius():
    ball = "[0.0000265528525857, 0.0000265528525859]"
    shown = re.sub("<span[^>]*>|</span>", "", number(ball))
    assert shown == "2.655×10<sup>−5</sup> ± 10<sup>−16</sup>"
    assert number(ball).startswith(f'<span title="{ball}">')
    assert number("1.00000000000000") == '<span title="1.00000000000000">1</span>'
    assert number("[-1.5, -1.5]") == '<span title="[-1.5, -1.5]">−1.5</span>'
    assert number("[-0.25, 1E+3]") == '<span title="[-0.25, 1E+3]">−0.25 to 1000</span>'
    assert "×10<sup>−401</sup>" in number("[9.99E-401, 9.9900001E-401]")


def test_a_long_exact_number_is_shown_rounded_with_all_its_digits_at_hand():
    third = f"{10**60 + 1}/{3 * 10**60}"
    assert number(third).startswith(f'<span title="{third}">≈ ')
    assert ">0.3333<" in number(third)
    assert "7.000×10<sup>2000</sup>" in number(7 * 10**2000)
    assert "≈ −1.000×10<sup>−6000</sup>" in number("-1/1" + "0" * 6000)  # beyond str of an int
    assert number("22/7") == "22/7"
    assert number("a text of more than forty-eight characters, which is no number") != ""
    assert "≈" not in number("a text of more than forty-eight characters, which is no number")


def test_a_bound_is_told_with_the_kind_of_each_of_its_terms():
    terms = (Source("theorem", 1.0, "(1)"), Source("roundoff", 1e-16, "a < b"))
    assert origins(terms) == "<b>theorem</b> (1) + <b>roundoff</b> a &lt; b"
    assert origins([Source("exact", [1, 2], "a list")]) == "<b>exact</b> a list"
