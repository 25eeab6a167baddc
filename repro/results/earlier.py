"""An earlier results.json in today's form, so that `diff` reads it: of schema 1, and of the first
days of schema 2."""

from typing import Any

_OLD_KINDS = {"spread": "chosen"}
_OLD_VERDICTS = {"holds-repaired": "corrected", "illustrated": "supported"}


RETIRED = ("scope", "reason")  # fields of a claim


def without_retired(results: dict[str, Any]) -> dict[str, Any]:
    claims = [
        {key: value for key, value in claim.items() if key not in RETIRED}
        for claim in results["claims"]
    ]
    return {**results, "claims": claims}


def upgraded(results: dict[str, Any]) -> dict[str, Any]:
    run = {key: value for key, value in results.get("run", {}).items() if key in _RUN}
    return {**results, "run": run, "claims": [_claim(one) for one in results["claims"]]}


_RUN = (
    "id", "started", "finished", "state", "pid", "host", "born", "scale", "seed", "device",
    "threads", "workers", "argv", "git", "dirty", "versions", "collected", "reported",
)  # fmt: skip


def _claim(claim: dict[str, Any]) -> dict[str, Any]:
    claim = dict(claim)
    claim |= {
        key: _OLD_VERDICTS.get(claim[key], claim[key])
        for key in ("verdict", "status")
        if key in claim
    }
    claim["cells"] = claim.pop("table", [])
    for key in ("checks", "controls"):
        claim[key] = [_check(one) for one in claim.get(key, [])]
    claim["counterexamples"] = [_example(one) for one in claim.get("counterexamples", [])]
    claim["tests"] = [_test(one) for one in claim.get("tests", [])]
    return claim


def _check(check: dict[str, Any]) -> dict[str, Any]:
    check = dict(check)
    kind, _, why = check.pop("source").partition(":")
    bound = check["allowed"] if check.get("tolerance") is None else check["tolerance"]
    source = {"kind": _OLD_KINDS.get(kind, kind), "value": bound, "why": why.strip()}
    return {**check, "provenance": [source]}


def _example(example: dict[str, Any]) -> dict[str, Any]:
    example = dict(example)
    return {"program": example.pop("snippet", ""), "relation": "=", **example}


def _test(test: dict[str, Any]) -> dict[str, Any]:
    test = dict(test)
    recorded = test.pop("records", None) or {}
    test["numbers"] = [{"name": name, "value": value} for name, value in recorded.items()]
    test["trainings"] = test.pop("store", None) or []
    return {key: "" if value is None and key in _WORDS else value for key, value in test.items()}


_WORDS = ("message", "command", "description", "worker", "device", "scale")
