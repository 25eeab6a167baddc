"""Invented results with everything that a page may have to show, for the tests of the pages.

Three papers, all verdicts, a check at many values, counterexamples, a running test, pending
statements; told in the short words of schema 1, and read as such a file is.
"""

import copy
import json

from repro.results import codec
from repro.results.earlier import upgraded
from repro.results.types import Results

SHAPE = json.loads(r"""{
"papers": {
  "fang2022": {"title": "Zero Approximation Error", "authors": "Z. F.", "version": "2022"},
  "jiang2024": {"title": "Approximation Rate", "authors": "H. J.", "version": "2024"},
  "wang2024": {"title": "Expressive Power", "authors": "M. W.", "version": "2024"}},
"run": {"id": "now", "started": "2026-01-15T10:15:00+00:00", "finished": null, "state": "running",
  "scale": "laptop", "seed": 0, "device": "cpu", "threads": 1, "workers": 2, "git": "0123456789ab",
  "dirty": true, "versions": {"python": "3.11.9", "torch": "2.13.0"}, "argv": ["pytest", "-n", "2"],
  "collected": 120, "reported": 87},
"earlier": {"id": "long-ago", "scale": "paper", "seed": 3, "threads": 2, "workers": 0,
  "git": null, "dirty": false, "versions": {"torch": "1.0"}},
"check": {"equation": "(3.4)", "measured": 3.1234567e-16, "relation": "<=", "allowed": 8.8817e-16,
  "tolerance": null, "source": "roundoff: 4 u M²", "margin": 2.8435, "ok": true,
  "evidence": "construct", "test": "claims/x.py::test_product", "params": {"n": 4, "M": 1.5}},
"exact": {"measured": "1/3", "relation": "=", "allowed": "1/3", "margin": null, "params": {}},
"slope": {"measured": -3.17, "relation": "≈", "allowed": -3, "tolerance": 0.2, "margin": 1.18},
"red": {"measured": 0.31, "margin": 0.08, "ok": false},
"control": {"measured": 1.49, "relation": ">=", "allowed": 0.5},
"test": {"test": "claims/x.py::test_product", "state": "passed", "role": "claim", "evidence": "construct",
  "seconds": 4.217,
  "run": "now", "started": "2026-01-14T09:00:00Z", "scale": "laptop", "seed": 7, "device": "cpu", "threads": 2, "worker": "gw0",
  "records": {"condition": 1.2e9, "errors": [0.1, 0.01], "winner": {"a": [2]}},
  "store": [{"kind": "relu", "key": "0f5d", "reason": "reused: computed yesterday", "seconds": 3}],
  "description": "M/2 in place of M.", "message": "", "command": "pytest x", "stale": false},
"claim": {"section": "3, proof in 6", "also": "Theorem 4.2 in v2", "stale": false,
  "statement": "For all $x < 1$ there is an $n$.", "note": "We read $\\hat z_1$ as $\\hat z_i$.",
  "formula": "\\lim_{q \\to \\infty} \\max_{\\lVert x \\rVert \\le 1} |C^q(x) - f(x)| = 0",
  "aims": ["exact", "construct", "train"], "scale": "laptop", "seconds": 4.2, "run": "now",
  "file": "claims/x.py", "command": "pytest claims/x.py", "evidence": [], "checks": [],
  "controls": [], "table": [], "counterexamples": [], "figures": [], "tests": []},
"table": [{"row": "ATTENTION", "column": "MSE", "paper": 0.109, "ours": 0.1043, "outcome": "matches",
   "printed_size": "45000 samples", "run_size": "4500 samples", "note": ""},
  {"row": "NN_width", "column": "MSE", "paper": 35.662, "ours": 36.1, "outcome": "same order", "note": ""},
  {"row": "NN_depth", "column": "MSE", "paper": 10237.27, "ours": 9.0, "outcome": "differs", "note": ""}],
"counterexample": {"refutes": "the wrong token wins for $B < 1$", "printed": true, "measured": 2.8,
  "relation": "<=", "expected": 0, "input": {"B": 0.5, "x": [[0.3, 0.4], [1, 0]]}, "test": "x.py::test_y"},
"erratum": {"grade": "false", "where": "statement", "place": "(3), second line",
  "printed": "The lemma asks for $B > 0$.", "corrected": "It asks for $B \\ge 1$.",
  "survives": "Everything for $B \\ge 1$.", "why": "For $B = 1/2$ the wrong token wins.",
  "tests": ["test_y"], "program": "lemma-3.1.py", "source": "assert 2.8 > 0"},
"figure": {"caption": "Error against $m_h$.", "alt": "A falling line", "test": "x.py::test_y"}
}""")
PAPERS = SHAPE["papers"]
LEDGER = {  # name, what it uses, = verdict
    "fang2022": """section-2 = holds; lemma-3.1 section-2 = holds; remark-3.2 lemma-3.1 = holds;
        lemma-3.3 = holds; remark-3.4 lemma-3.3 = refuted; table-2 lemma-3.3 = refuted;
        theorem-3.5 lemma-3.1 lemma-3.3 = corrected; remark-3.6 theorem-3.5 = holds;
        corollary-3.7 theorem-3.5 = supported; table-1 theorem-3.5 table-3 = partly-reproduced;
        table-3 lemma-3.3 = corrected; figure-2 theorem-3.5 table-2 = failed;
        figure-3 table-1 = not-run; finding-fewer-blocks lemma-3.1 theorem-3.5 = holds""",
    "jiang2024": """equation-5 = holds; equation-8-9 equation-5 = holds; theorem-A.1 = supported;
        proposition-A.2 theorem-A.1 equation-8-9 = supported; equation-10-11 = holds;
        theorem-A.3 proposition-A.2 = corrected; lemma-A.4 = holds; lemma-A.5 = holds;
        theorem-4.1 equation-5 equation-10-11 equation-12-15 lemma-A.4 = corrected;
        equation-12-15 equation-10-11 = holds; figure-1 theorem-4.1 = reproduced;
        figure-2 equation-10-11 = not-run; figure-3 figure-2 theorem-4.1 = pending;
        figure-4 theorem-4.1 = pending; figure-5 theorem-4.1 = pending; table-1 = pending;
        proposition-B.1 equation-5 = refuted; proposition-6.2 equation-12-15 = corrected;
        proposition-6.1 equation-5 = holds; proposition-6.3 equation-12-15 = error;
        table-2 proposition-6.1 proposition-6.3 = not-reproduced; table-3 proposition-6.3 = pending;
        finding-trace theorem-4.1 equation-10-11 = holds""",
    "wang2024": "section-3.2 = holds; remark-5.9 = pending; lemma-E.0 section-3.2 = holds; "
    + "".join(f"lemma-E.{i + 1} lemma-E.{i // 2} = supported;" for i in range(9))
    + "".join(f"theorem-5.{i} lemma-E.{i} lemma-E.{i + 1} = pending;" for i in range(9))
    + "finding-constant-one theorem-5.4 = corrected",
}
FALSE = ("corrected", "refuted")


def what_ran(id, verdict, kind):
    check, test = SHAPE["check"], SHAPE["test"]
    state = verdict if verdict in ("failed", "error", "not-run") else "passed"
    many = [check | {"name": "round-off", "params": {"n": n}} for n in range(59)]
    red = check | SHAPE["red"] | {"name": "error as printed"}
    exact = check | SHAPE["exact"] | {"name": "the product"}
    slope = check | SHAPE["slope"] | {"name": "slope of the error"}
    return {
        "evidence": ["construct", "train"] if kind == "table" else ["exact", "construct"],
        "description": "For a < b,\n    |f(x) - g(x)| <= 1.      (3.4)\nNot checked: more.",
        "checks": [exact, slope, *(many if kind == "theorem" else many[:3])],
        "controls": [check | SHAPE["control"] | {"name": "M too small"}],
        "tests": [test | {"state": state}, test | {"test": "x.py::test_c", "role": "control"}],
        "table": SHAPE["table"] if kind == "table" else [],
        "counterexamples": [SHAPE["counterexample"]] if verdict in FALSE else [],
        "figures": [SHAPE["figure"] | {f: f"claims/{id}/digits.{f}" for f in ("svg", "png")}],
    } | ({"checks": [exact, red, *many]} if verdict == "failed" else {})


def a_claim(paper, entry):
    (name, *uses), verdict = entry.split("=")[0].split(), entry.split("=")[1].strip()
    kind, _, place = name.partition("-")
    pending, id = verdict == "pending", f"{paper}/{name}"
    claim = SHAPE["claim"] | {"id": id, "paper": paper, "kind": kind, "number": place}
    claim |= {"title": f"About {place}", "uses": [f"{paper}/{used}" for used in uses]}
    claim |= {"why_all": "proof: in `powers.py`"} if verdict in ("holds", "corrected") else {}
    claim |= {"open": "every other $n$"} if verdict == "supported" else {}
    claim |= {"errata": errata_of(id)} if verdict in FALSE and kind != "finding" else {}
    claim |= {"verdict": "not-run" if pending else verdict, "why": f"It {verdict}."}
    claim |= {"status": verdict, "pending": pending, "solid": verdict == "holds"}
    return claim if pending else claim | what_ran(id, verdict, kind)


def errata_of(id):
    misprint = SHAPE["erratum"] | {"grade": "misprint", "program": "", "source": "", "tests": []}
    return [one | {"statement": id} for one in (SHAPE["erratum"], misprint)]


def coverage_of(claims):
    verdicts = [claim["verdict"] for claim in claims if claim["kind"] != "finding"]
    with_claims = sum(not c["pending"] for c in claims if c["kind"] != "finding")
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    return {"statements": len(verdicts), "with_claims": with_claims, "verdicts": counts}


def sample() -> Results:
    """A run in progress."""
    claims = {p: [a_claim(p, entry) for entry in text.split(";")] for p, text in LEDGER.items()}
    by_id = {claim["id"]: claim for own in claims.values() for claim in own}
    by_id["fang2022/remark-3.6"]["tests"].append(SHAPE["test"] | {"state": "running"})
    by_id["fang2022/figure-3"]["tests"][0]["state"] = "interrupted"
    by_id["fang2022/figure-2"]["tests"][0]["message"] = "0.31 > 0.025\n  at n=1"
    by_id["fang2022/lemma-3.3"]["stale"] = True
    by_id["jiang2024/lemma-A.4"] |= {"run": "before", "scale": "smoke"}
    by_id["jiang2024/lemma-A.5"] |= {"run": "lost", "scale": "smoke"}
    by_id["jiang2024/theorem-A.1"] |= {"run": "long-ago", "scale": "paper"}
    messages = ["a.json was damaged and is set aside as a.json.1"]
    coverage = {paper: coverage_of(own) for paper, own in claims.items()}
    results = {"title": "T", "run": SHAPE["run"], "messages": messages, "papers": PAPERS}
    results |= {"coverage": coverage, "claims": list(by_id.values())}
    return codec.decode(Results, copy.deepcopy(upgraded(results)), "sample")
