"""Which tests each claim file has: written down before -m and -k choose among them.

A claim is judged by all its tests, so a run of some of them must know about the others. Records
of tests that are gone are not deleted; they are only no longer on the list.
"""

import pytest

from repro import files
from repro.harness.marking import name_of
from repro.harness.options import Context
from repro.harness.project import claim_folder


def note(items: list[pytest.Item], config: pytest.Config, context: Context) -> None:
    """Files of which only a part was asked for (path::test, --lf) are left as they are known."""
    if getattr(config.option, "lf", False):
        return
    here = config.invocation_params.dir
    in_part = {(here / arg.split("::")[0]).resolve() for arg in config.args if "::" in arg}
    tests: dict[str, list[str]] = {}
    for item in items:
        name = name_of(item, context)
        if name and name.file.resolve() not in in_part:
            tests.setdefault(name.statement.id, []).append(name.test)
    for id, names in tests.items():
        path = claim_folder(context.artifacts, id) / "collected.json"
        files.write_sealed(path, {"tests": names})
