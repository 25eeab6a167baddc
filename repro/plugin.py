"""What a project loads to state claims: `addopts = ["-p", "repro.plugin"]` in its pyproject.toml.

The harness runs claims and writes results; the report makes the page of them. Neither knows the
other: they meet here.
"""

from pathlib import Path

from repro.results.types import Results

pytest_plugins = ("repro.harness.plugin",)


def pytest_claims_show(results: Results, artifacts: Path, changed: set[str] | None) -> None:
    from repro import report  # only where a page is made: it compiles the templates

    report.render(results, artifacts, changed)
