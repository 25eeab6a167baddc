"""Command-line options of the plugin, and the checks that must come before any claim runs."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from repro import files
from repro.harness import provenance, resources
from repro.harness.ledger import Ledger, LedgerError
from repro.harness.project import SCALES, Project

STORE_MODES = ("use", "refresh", "readonly")
KINDS_OF_DEVICE = ("cpu", "cuda", "mps")
FOLDERS = {
    "artifacts": "results and the page go",
    "store": "finished trainings are kept",
    "data": "data sets are kept",
}
SENT = "attention_claims"  # what the controller tells its workers, one JSON string
PROBE_BYTES = 2**20  # a disk with less room than this counts as full before the run begins


def add(parser: pytest.Parser) -> None:
    group = parser.getgroup("claims", "claims: statements of papers, checked")
    group.addoption(
        "--scale", choices=SCALES, default="laptop",
        help="how much work: smoke (minutes), laptop (default), paper (printed sizes; wants a GPU)",
    )  # fmt: skip
    group.addoption(
        "--device", default="auto", metavar="NAME", help="auto (default), cpu, cuda, cuda:N or mps"
    )
    group.addoption(
        "--seed", type=int, default=0, help="base of the seeds of what claims draw (default 0)"
    )
    group.addoption(
        "--threads", default="1", metavar="N",
        help="threads per process, or auto: cores / workers (default 1)",
    )  # fmt: skip
    for name, what in FOLDERS.items():
        where = f"where {what} (default: the project's)"
        group.addoption(f"--{name}", metavar="FOLDER", help=where)
    group.addoption(
        "--store-mode", choices=STORE_MODES, default="use",
        help="use finished trainings (default), refresh them, or readonly: train nothing",
    )  # fmt: skip
    group.addoption(
        "--store-device", choices=KINDS_OF_DEVICE, metavar="KIND",
        help="with --store-mode readonly: look for trainings made on cpu, cuda or mps "
        "(default: where this run is)",
    )  # fmt: skip
    group.addoption(
        "--only-training", metavar="KEY",
        help="make this training and no other (python -m repro prefetch asks for it)",
    )  # fmt: skip
    group.addoption(
        "--changed", action="store_true",
        help="run only tests whose code, data, versions, seed, scale or device differ from their "
        "recorded result; the others are shown as recorded",
    )  # fmt: skip
    group.addoption(
        "--time-limit", type=float, default=0.0, metavar="SECONDS",
        help="stop a claim test after so long and go on with the next (default 0: never)",
    )  # fmt: skip
    group.addoption(
        "--heartbeat", type=float, metavar="SECONDS",
        help="how often to say what is running (default: 10 on a terminal, 60 elsewhere; 0: never)",
    )  # fmt: skip


@dataclass(frozen=True)
class Context:
    """All that the hooks need to know about this run, in every process the same."""

    project: Project
    ledger: Ledger
    rootpath: Path
    artifacts: Path
    store: Path
    data: Path
    scale: str
    seed: int
    device: str
    threads: int
    workers: int
    listing: bool
    worker: str | None
    run: str
    durations: dict[str, float]
    unchanged: dict[str, str]  # with --changed: test -> when it was recorded


def refuse_values_that_look_like_paths(config: pytest.Config, root: Path) -> None:
    """`pytest --artifacts DIR` makes pytest look for its settings in DIR as well.

    It reads them before it knows our options. With a DIR outside of the project xdist's workers
    would then find no claims at all; and with a DIR in another project (even beside a path to
    test) that one would be the root, by which claims are named, and no result would be kept.
    """
    if hasattr(config, "workerinput"):
        return
    elsewhere = not root.resolve().is_relative_to(config.rootpath.resolve())
    without_path = config.args_source is not pytest.Config.ArgsSource.ARGS
    for option, value in pairwise(config.invocation_params.args):
        outside = not Path(value).resolve().is_relative_to(root.resolve())
        ours = option in [f"--{name}" for name in FOLDERS]
        if ours and outside and (without_path or elsewhere):
            raise pytest.UsageError(
                f"write {option}={value}, with '=': pytest takes {value} for a test"
            )
    if elsewhere:
        raise pytest.UsageError(
            f"pytest took {config.rootpath} for the root, the claims are in {root}: "
            f"run it there, or with --rootdir={root}"
        )


def read(config: pytest.Config, project: Project) -> Context:
    """Everything at once, or a UsageError that says what to do."""
    option = config.option
    sent: dict[str, Any] = json.loads(getattr(config, "workerinput", {}).get(SENT, "{}"))
    workers = sent.get("workers", len(getattr(option, "tx", None) or []))
    try:
        ledger = project.read_ledger()
        _check_device_name(option.device)
        threads = resources.thread_count(option.threads, workers)
        if option.store_device and option.store_mode != "readonly":
            raise ValueError("--store-device goes with --store-mode readonly: it trains nothing")
        if option.time_limit < 0:
            raise ValueError(f"--time-limit takes seconds, got {option.time_limit:g}")
    except (LedgerError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None
    here = config.invocation_params.dir
    root = project.root
    return Context(
        project=project,
        ledger=ledger,
        rootpath=config.rootpath,
        artifacts=here / option.artifacts if option.artifacts else root / project.artifacts,
        store=here / option.store if option.store else root / project.store,
        data=here / option.data if option.data else root / project.data_folder,
        scale=option.scale,
        seed=option.seed,
        device=option.device,
        threads=threads,
        workers=workers,
        listing=bool(option.collectonly),
        worker=sent.get("worker"),
        run=sent.get("run") or provenance.new_run(),
        durations=sent.get("durations", {}),
        unchanged=sent.get("unchanged", {}),
    )


def check_machine(context: Context, store_mode: str) -> None:
    """The device is there, and what must be written can be: before any claim runs."""
    try:
        resources.check_device(context.device)
    except resources.NoSuchDevice as error:
        raise pytest.UsageError(str(error)) from None
    _check_writable(context.artifacts, "--artifacts")
    if store_mode != "readonly":
        _check_writable(context.store, "--store")


def _check_writable(folder: Path, option: str) -> None:
    probe = folder / ".writable"
    try:
        files.write_atomically(probe, bytes(PROBE_BYTES), lasting=True)
        probe.unlink(missing_ok=True)  # another run may probe at the same moment
    except OSError as error:
        raise pytest.UsageError(
            f"{folder} cannot be written ({error.strerror}): choose another folder with {option}"
        ) from None


def _check_device_name(name: str) -> None:
    kind, _, index = name.partition(":")
    if name not in ("auto", "cpu", "cuda", "mps") and not (kind == "cuda" and index.isdecimal()):
        raise ValueError(f"--device {name}: unknown; there is auto, cpu, cuda, cuda:N, mps")
