"""Companion commands of pytest."""

import argparse
import calendar
import inspect
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from repro import files, report
from repro.cluster import prefetch
from repro.data.errors import BadData
from repro.data.sets import Registry, UnknownData
from repro.harness import process, progress, records, schedule
from repro.harness.assembly import Assembly
from repro.harness.configured import project_in
from repro.harness.ledger import LedgerError
from repro.harness.project import Project
from repro.report import readme
from repro.report.preview import preview
from repro.results import codec
from repro.results.differences import differences
from repro.results.types import Check, Results, Run

Options = argparse.Namespace


class Refused(Exception):
    """A command that cannot be carried out: what is missing and what to do."""


def main(arguments: list[str] | None = None) -> int:
    parser, of = _parsers()
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "prefetch":
        of[options.command].error(f"unrecognized arguments: {' '.join(rest)}")
    options.rest = rest
    try:
        return options.run(options)
    except Refused as error:
        print(error, file=sys.stderr)
        return 2
    except LedgerError as error:
        print(error, file=sys.stderr)
        return 4
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a folder that cannot be written
        print(error, file=sys.stderr)
        return 1


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(prog="python -m repro", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, run in COMMANDS.items():
        text = inspect.getdoc(run) or ""
        one = commands.add_parser(name, help=text.partition("\n")[0], description=text)
        one.formatter_class = argparse.RawDescriptionHelpFormatter
        one.set_defaults(run=run)
        if name != "diff":
            one.add_argument(
                "--project", type=Path, default=Path(), metavar="FOLDER",
                help="the folder with conftest.py and claims/ (default: here)",
            )  # fmt: skip
        if name in ("report", "watch", "list", "loose", "preview", "snapshot"):
            one.add_argument(
                "--artifacts", type=Path, metavar="FOLDER",
                help="where the results are (default: the project's artifacts folder)",
            )  # fmt: skip
    of = commands.choices
    of["data"].add_argument(
        "--data", type=Path, metavar="FOLDER", help="where to (default: the project's data folder)"
    )
    of["watch"].add_argument(
        "--every", type=float, default=2.0, metavar="SECONDS", help="how often (default 2)"
    )
    for name in ("old", "new"):
        of["diff"].add_argument(
            name, type=Path, metavar=name.upper(), help="a results.json(.gz), or its folder"
        )
    of["prefetch"].description = prefetch.__doc__
    prefetch.add_options(of["prefetch"])
    return parser, of


def _project(options: Options) -> Project:
    return project_in(options.project.resolve())


def _artifacts(options: Options, project: Project) -> Path:
    return options.artifacts or project.root / project.artifacts


def _assembly(options: Options) -> Assembly:
    project = _project(options)
    return Assembly(project, project.read_ledger(), _artifacts(options, project))


def show_report(options: Options) -> int:
    """Make the pages again from the files that the tests wrote."""
    assembly = _assembly(options)
    if not _has_run(assembly.artifacts):
        for message in assembly.messages:
            print(message)
        raise Refused(f"{assembly.artifacts}: no test has written a result here; run pytest first")
    results = assembly.write(_latest_run(assembly), assembly.ledger.statements)
    for message in assembly.messages:
        print(message)
    print(report.render(results, assembly.artifacts))
    return 0


def _has_run(artifacts: Path) -> bool:
    return any(artifacts.glob("claims/*/*/tests/*.json"))


def _latest_run(assembly: Assembly) -> Run:
    """The header of the newest run; damaged ones are set aside."""
    for path in sorted(assembly.artifacts.glob("runs/*.json"), reverse=True):
        try:
            return _header(path)
        except files.DamagedFile as damage:
            files.put_away(path, damage, assembly.messages)
    return Run(id="unknown")


def _header(path: Path) -> Run:
    """Of a run; one that says it is running and whose process is gone was interrupted."""
    run = codec.read(Run, path)
    if run.state == "running" and not process.alive(vars(run)):
        run.state = "interrupted"
    return run


def list_statements(options: Options) -> int:
    """Show the verdict, title and claim file of every statement.

    The verdicts are those of the latest runs. Where nothing has run they are those of the
    committed snapshot.
    """
    assembly = _assembly(options)
    verdicts = {id: assembly.claim(id).verdict for id in assembly.ledger.statements}
    snapshot = assembly.artifacts / "reference/results.json.gz"
    if not _has_run(assembly.artifacts) and snapshot.exists():
        print(f"Nothing has run here. The verdicts are those of the snapshot {snapshot}.\n")
        verdicts |= {claim.id: claim.verdict for claim in _read_results(snapshot).claims}
    rows = []
    for id, statement in assembly.ledger.statements.items():
        verdict = "pending" if statement.pending else verdicts[id]
        rows.append((verdict, id, statement.title, assembly.claim(id).file or "(no claim yet)"))
    print("\n".join(progress.aligned(rows)))
    return 0


def show_differences(options: Options) -> int:
    """Show what differs between two results.json, and whether it matters.

    Exit code 1 if something matters, 0 if at most numbers moved within their limits.
    """
    found = differences(_read_results(options.old), _read_results(options.new))
    weighty = [one for one in found if one.matters]
    for one in found:
        print(f"{'MATTERS ' if one.matters else 'number  '}{one}")
    print(f"{len(weighty)} that matter, {len(found) - len(weighty)} others")
    return 1 if weighty else 0


def list_loose(options: Options) -> int:
    """List the loose checks: a threshold that we chose, passed by more than a factor of ten.

    One line for each name in a test, with the tightest of its checks. Exit code 1 if there are any.
    """
    project = _project(options)
    found = _read_results(_artifacts(options, project))
    every = [(claim, check) for claim in found.claims for check in claim.every_check()]
    alike: dict[tuple[str, str, str], list[Check]] = {}
    for claim, check in every:
        if check.loose:
            key = (claim.file or claim.id, check.test.partition("[")[0], check.name)
            alike.setdefault(key, []).append(check)
    for (file, test, name), checks in alike.items():
        tightest = min(checks, key=lambda check: float(check.margin or 0))
        why = " + ".join(source.why for source in tightest.provenance)
        print(f"{file}:{tightest.line} {test}: {name}")
        print(f"    {float(tightest.margin or 0):.0f}x, {len(checks)} checks: {why}")
    print(f"{sum(map(len, alike.values()))} of {len(every)} checks are loose; kinds: {len(alike)}")
    return 1 if alike else 0


def _read_results(path: Path) -> Results:
    """A results.json, or that of a folder: of a run, or compressed in a snapshot."""
    file = path / "results.json" if path.is_dir() else path
    if path.is_dir() and not file.exists() and (packed := path / "results.json.gz").exists():
        file = packed
    try:
        return codec.read_results(file)
    except FileNotFoundError:
        advice = "a run writes artifacts/results.json; artifacts/reference has the snapshot"
        raise Refused(f"{file}: there is no such file; {advice}") from None
    except files.DamagedFile as error:
        raise Refused(str(error)) from None


def show_preview(options: Options) -> int:
    """Make the pages of the committed snapshot in artifacts/preview/, without a run."""
    artifacts = _artifacts(options, _project(options))
    try:
        print(preview(artifacts / "reference", artifacts / "preview"))
    except FileNotFoundError as missing:
        advice = "make claims, then python -m repro snapshot makes one"
        raise Refused(f"{missing.filename}: there is no snapshot here; {advice}") from None
    return 0


def take_snapshot(options: Options) -> int:
    """Keep the results of this run in artifacts/reference/ and README.md.

    Only finished claims go in; their figures are copied beside them, and older ones removed.
    """
    assembly = _assembly(options)
    root, artifacts = assembly.project.root, assembly.artifacts
    results = assembly.results(_latest_run(assembly))
    if results.run.dirty:
        raise Refused("the latest run had uncommitted changes: commit, then make claims")
    results.claims = [claim for claim in results.claims if claim.file]
    unfinished = [one.id for one in results.claims if one.verdict != one.status or one.stale]
    if unfinished:
        said = f"not as the ledger records, or stale: {', '.join(unfinished)}"
        raise Refused(f"{said}; make claims first")
    reference = artifacts / "reference"
    codec.write(reference / "results.json.gz", results)
    files.write_json(reference / schedule.FILE, schedule.from_nothing(results.claims))
    drawn = {figure.svg for claim in results.claims for figure in claim.figures}
    for svg in drawn:
        files.write_atomically(reference / svg, (artifacts / svg).read_bytes())
    for old in reference.glob("claims/*/*/*.svg"):
        if old.relative_to(reference).as_posix() not in drawn:
            old.unlink()
    page = root / "README.md"
    folder = str(reference.relative_to(root))
    files.write_atomically(page, readme.filled(page.read_text(), results, folder))
    print(f"{reference / 'results.json.gz'}\n{page}")
    return 0


def watch(options: Options) -> int:
    """Say every few seconds what is running, until the run has ended."""
    artifacts, run = _artifacts(options, _project(options)), None
    while now := _running(artifacts):
        run = now
        print(" | ".join(_at_work(artifacts)) or "between two tests", flush=True)
        time.sleep(options.every)
    if run is None:
        print("nothing is running")
        return 0
    ended = _header(artifacts / "runs" / f"{run.id}.json")
    print(f"{ended.state}: {ended.reported} of {ended.collected} tests have reported")
    return 0


def _running(artifacts: Path) -> Run | None:
    """The header of a run that is at work."""
    for path in sorted(artifacts.glob("runs/*.json"), reverse=True):
        try:
            if (run := _header(path)).state == "running":
                return run
        except (FileNotFoundError, files.DamagedFile):
            continue
    return None


def _at_work(artifacts: Path) -> list[str]:
    lines = []
    for path in artifacts.glob("claims/*/*/tests/*.json"):
        found = records.read(path)
        if found and found.state == "running":
            label = f"{found.worker} {found.claim} {found.test}"
            began = calendar.timegm(time.strptime(found.started, "%Y-%m-%dT%H:%M:%SZ"))
            sign = path.with_suffix(".progress")
            lines.append(progress.line(label, time.time() - began, sign))
    return sorted(lines)


def fetch_data(options: Options) -> int:
    """Fetch the data sets that the project registers, and verify them.

    One that cannot be fetched does not keep the others away; the exit code is 1 then.
    """
    project = _project(options)
    registry = Registry(project.data, options.data or project.root / project.data_folder)
    needed_by: dict[str, list[str]] = {one.name: [] for one in registry}
    for statement in project.read_ledger().statements.values():
        for name in filter(None, (part.strip() for part in statement.data.split(","))):
            try:
                needed_by[registry[name].name].append(statement.id)
            except UnknownData as error:
                raise LedgerError(f"entry {statement.id}: field 'data': {error}") from None
    if not needed_by:
        print("this project registers no data set: Project(data=...) in its conftest.py does")
    fetched = [_fetch(registry, name, ids) for name, ids in needed_by.items()]
    return 0 if all(fetched) else 1


def _fetch(registry: Registry, name: str, ids: list[str]) -> bool:
    if ids:
        print(f"{name}: for {', '.join(ids)}")
    try:
        registry.fetch(name, lambda line: print(line, flush=True))
    except BadData as error:
        print(f"{error}\nWhat was fetched of this set is removed: the same command begins it anew.")
    except (RuntimeError, OSError) as error:
        print(error)
        if kept := ", ".join(file.name for file in registry.unfinished()):
            print(f"What has arrived is kept ({kept}): the same command goes on from there.")
    else:
        return True
    return False


def make_trainings(options: Options) -> int:
    """Make the trainings that claims need, here or on a cluster."""
    return prefetch.run(_project(options), options, options.rest)


COMMANDS: dict[str, Callable[[Options], int]] = {
    "report": show_report,
    "list": list_statements,
    "diff": show_differences,
    "loose": list_loose,
    "preview": show_preview,
    "snapshot": take_snapshot,
    "watch": watch,
    "data": fetch_data,
    "prefetch": make_trainings,
}

if __name__ == "__main__":
    sys.exit(main())
