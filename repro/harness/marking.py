"""Markers from place and ledger, and the form that every claim test must have."""

from typing import Any

import pytest

from repro import files
from repro.harness import imports, resources
from repro.harness.ledger import EVIDENCE, KINDS, Ledger
from repro.harness.options import Context
from repro.harness.project import SCALES, ClaimTest, claim_test

EVIDENCE_MARKERS = {kind.replace("-", "_"): kind for kind in EVIDENCE}
OTHER_MARKERS = {
    "control": "test_control_...: one hypothesis is broken, and the claim must fail by a margin",
    "erratum": "test_printed_..., test_reading_...: a form that fails on a stored counterexample",
    "data": "needs a data set: python -m repro data",
    "needs(scale=, device=)": "not run below that scale or without that device, and counted so",
}


def register(config: pytest.Config) -> None:
    kinds = dict.fromkeys(KINDS, "claims about statements of this kind (from the file's name)")
    evidence = {marker: f"evidence of the kind {kind}" for marker, kind in EVIDENCE_MARKERS.items()}
    for marker, meaning in (kinds | evidence | OTHER_MARKERS).items():
        config.addinivalue_line("markers", f"{marker}: {meaning}")


def register_papers(config: pytest.Config, ledger: Ledger) -> None:
    for paper in ledger.papers.values():
        config.addinivalue_line("markers", f"{paper.key}: claims of {paper.authors}, {paper.title}")


def name_of(item: pytest.Item, context: Context) -> ClaimTest | None:
    return claim_test(context.project, context.ledger, context.rootpath, item.nodeid)


def mark(items: list[pytest.Item], context: Context) -> None:
    for item in items:
        name = name_of(item, context)
        if name:
            item.add_marker(name.statement.paper)
            item.add_marker(name.statement.kind)
            if name.role != "claim":
                item.add_marker(name.role)
            if name.statement.data:
                item.add_marker("data")


def evidence_of(item: pytest.Item) -> str | None:
    """The kind of evidence that a test's marker names; the strongest, should there be several."""
    kinds = (kind for marker, kind in EVIDENCE_MARKERS.items() if item.get_closest_marker(marker))
    return next(kinds, None)


def params(item: pytest.Item) -> dict[str, Any]:
    given = item.callspec.params if hasattr(item, "callspec") else {}  # type: ignore[attr-defined]
    return {key: files.plain(value) for key, value in given.items()}


def identity(item: pytest.Item, name: ClaimTest, context: Context) -> dict[str, Any]:
    """What a record says about the test before anything has been measured."""
    device = "" if context.device == "auto" else f" --device {context.device}"
    return {
        "claim": name.statement.id,
        "test": name.test,
        "role": name.role,
        "evidence": evidence_of(item),
        "description": getattr(getattr(item, "function", None), "__doc__", None) or "",
        "params": params(item),
        "run": context.run,
        "scale": context.scale,
        "seed": context.seed,
        "device": "",  # until one is asked for
        "threads": context.threads,
        "worker": context.worker or "main",
        "code": imports.fingerprint(name.file, context.project.root),
        "command": f"pytest '{item.nodeid}' --scale {context.scale} --seed {context.seed}{device}",
    }


def check_form(item: pytest.Item, name: ClaimTest) -> None:
    """A claim test uses `claim`, and one of the statement itself names its kind of evidence."""
    if "claim" not in getattr(item, "fixturenames", ()):
        told = "does not use the fixture `claim`, so it can record nothing"
        pytest.fail(f"{name.test} {told}", pytrace=False)
    named = [marker for marker in EVIDENCE_MARKERS if item.get_closest_marker(marker)]
    if len(named) > 1 or (name.role == "claim" and not named):
        marks = ", ".join(f"@pytest.mark.{marker}" for marker in EVIDENCE_MARKERS)
        told = f"must say what kind of evidence it gives: one of {marks}"
        pytest.fail(f"{name.test} {told}", pytrace=False)


def unmet_needs(item: pytest.Item, context: Context) -> str:
    """Why this test cannot run here, or an empty string."""
    for marker in item.iter_markers("needs"):
        scale = marker.kwargs.get("scale")
        if scale and SCALES.index(context.scale) < SCALES.index(scale):
            return f"needs --scale {scale}"
        device = marker.kwargs.get("device")
        if device and not _has(device, context):
            return f"needs --device {device}"
    return ""


def _has(device: str, context: Context) -> bool:
    if context.device not in ("auto", device):
        return False
    try:
        resources.check_device(device)
    except resources.NoSuchDevice:
        return False
    return True
