"""`--changed`: which tests would be run in vain, since all that they rest on is as it was.

That is: they passed, and the code that their claim imports, the versions of the packages, scale,
seed, device and data are those of the record.
"""

import functools
from pathlib import Path

from repro import files
from repro.data.sets import Registry
from repro.harness import imports, provenance, records, resources
from repro.harness.options import Context
from repro.results import codec
from repro.results.types import Record, Run


def unchanged(context: Context) -> dict[str, str]:
    """Test -> when it was recorded; read once, by the process that the user started."""
    ledger, root = context.ledger, context.project.root
    registry = Registry(context.project.data, context.data)
    code = {
        statement.id: imports.fingerprint(file, root)
        for file in context.project.claim_files()
        if (statement := ledger.of_file(file))
    }
    device = "cuda" if resources.visible_gpus(context.device) else context.device
    device = "cpu" if device == "auto" else device.partition(":")[0]
    found = {}
    for path in context.artifacts.glob("claims/*/*/tests/*.json"):
        record = records.read(path)
        if record is None or record.state != "passed" or record.code != code.get(record.claim):
            continue
        same_run = (record.scale, record.seed) == (context.scale, context.seed)
        same_device = record.device.partition(":")[0] in ("", device)
        same_versions = _versions(context.artifacts, record.run) == provenance.versions()
        if same_run and same_device and same_versions and _same_data(record, registry):
            found[f"{record.claim}::{record.test}"] = record.started
    return found


@functools.cache
def _versions(artifacts: Path, run: str) -> dict[str, str]:
    try:
        return codec.read(Run, artifacts / "runs" / f"{run}.json").versions
    except (FileNotFoundError, files.DamagedFile):
        return {}


def _same_data(record: Record, registry: Registry) -> bool:
    """Whether the sets that it used are there and, in their own words, the same."""
    used = {str(number.value) for number in record.numbers if number.name == "data"}
    return used <= {one.told for one in registry if registry.find(one.name) is not None}
