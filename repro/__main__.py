"""python -m repro: what one wants besides pytest.

report   make results.json and the page again from the files that the tests wrote
watch    say every few seconds what is running (in a second terminal)
list     every statement of the ledger with its claim file and its latest verdict
data     fetch the data sets that claims need
preview  the pages of the committed snapshot, in artifacts/preview/: nothing is run
snapshot keep this run's results in artifacts/reference/ and put them into README.md
prefetch make the missing trainings, here or on a cluster: python -m repro prefetch --help
diff     python -m repro diff OLD NEW: what differs between two results.json, and whether it matters
"""

import argparse
import calendar
import json
import os
import sys
import time
from pathlib import Path

from repro import files, prefetch, report
from repro.harness import differences, process, progress, provenance, records, schedule
from repro.harness.ledger import LedgerError
from repro.harness.project import Project
from repro.harness.results import SCHEMA, Results
from repro.report import readme
from repro.report.preview import preview


def main(arguments: list[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["prefetch"]:
        return prefetch.main(words[1:])
    parser = argparse.ArgumentParser(
        prog="python -m repro",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = ("report", "watch", "list", "data", "preview", "snapshot", "diff")
    parser.add_argument("command", choices=commands)
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="diff: two results.json"
    )
    parser.add_argument(
        "--project",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="where claims/ is (default: here)",
    )
    parser.add_argument(
        "--artifacts",
        type=Path,
        metavar="FOLDER",
        help="where the results are (default: artifacts/)",
    )
    parser.add_argument(
        "--every", type=float, default=2.0, metavar="SECONDS", help="watch: how often (default 2)"
    )
    options = parser.parse_args(words)
    if len(options.files) != (2 if options.command == "diff" else 0):
        parser.error("diff takes two results.json" if options.command == "diff" else "no FILE here")
    project = Project(options.project.resolve())
    artifacts = options.artifacts or project.root / project.artifacts
    try:
        if options.command == "watch":
            return watch(artifacts, options.every)
        if options.command == "diff":
            return diff(*options.files)
        if options.command == "preview":
            return show_preview(artifacts)
        results = Results(project, project.read_ledger(), artifacts)
        return COMMANDS[options.command](results)
    except LedgerError as error:
        print(error, file=sys.stderr)
        return 4
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a folder that cannot be written, a name that is none
        print(error, file=sys.stderr)
        return 1


def rebuild(results: Results) -> int:
    document = results.write(_latest_run(results), results.ledger.statements)
    for message in results.messages:
        print(message)
    print(report.render(document, results.artifacts))
    return 0


def show_preview(artifacts: Path) -> int:
    try:
        print(preview(artifacts / "reference", artifacts / "preview"))
    except FileNotFoundError as missing:
        print(f"{missing.filename}: there is no snapshot here; make claims, then", file=sys.stderr)
        print("python -m repro snapshot makes one", file=sys.stderr)
        return 1
    return 0


def _latest_run(results: Results) -> dict:
    """The header of the newest run; one that is not running any more was interrupted."""
    for path in sorted(results.artifacts.glob("runs/*.json"), reverse=True):
        try:
            run = files.read_json(path, sealed=True)
            if not provenance.is_header(run):
                raise files.DamagedFile(f"{path} is no header of a run")
        except files.DamagedFile as damage:
            files.put_away(path, damage, results.messages)
            continue
        if run.get("state") == "running" and not process.alive(run):
            run["state"] = "interrupted"
        return run
    return {}


def diff(old: Path, new: Path) -> int:
    """Exit code 1 if something matters, 0 if at most numbers moved within their limits."""
    try:
        before, after = (_results(path) for path in (old, new))
    except (FileNotFoundError, files.DamagedFile) as error:
        print(error, file=sys.stderr)
        return 2
    found = [*differences.settings(before, after), *differences.differences(before, after)]
    weighty = [one for one in found if one.matters]
    for one in found:
        print(f"{'MATTERS ' if one.matters else 'number  '}{one}")
    print(f"{len(weighty)} that matter, {len(found) - len(weighty)} others")
    return 1 if weighty else 0


def _results(path: Path) -> dict:
    found = files.read_json(path, schema=SCHEMA)
    if defect := differences.defect(found):
        raise files.DamagedFile(f"{path} is no results.json: {defect}")
    return found


def watch(artifacts: Path, every: float) -> int:
    while True:
        lines = []
        for path in artifacts.glob("claims/*/*/tests/*.json"):
            found = records.read(path)
            if found and found["state"] == "running":
                label = f"{found.get('worker', '')} {found['claim']} {found['test']}"
                since = _since(found.get("started", ""))
                lines.append(progress.line(label, since, path.with_suffix(".progress")))
        print(" | ".join(sorted(lines)) or "nothing is running", flush=True)
        time.sleep(every)


def _since(moment: str) -> float:
    try:
        return time.time() - calendar.timegm(time.strptime(moment, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:  # no record of ours
        return 0.0


def show_list(results: Results) -> int:
    for id in results.ledger.statements:
        claim = results.claim(id)
        verdict = "pending" if claim["pending"] else claim["verdict"]
        print(f"{verdict:<15} {id:<40} {claim['file'] or '(no claim yet)'}")
    return 0


def fetch_data(results: Results) -> int:
    """Fetch the data sets that the ledger names, and say which statements need them."""
    from repro.data import sets
    from repro.data.errors import BadData

    needs: dict[str, list[str]] = {}
    for statement in results.ledger.statements.values():
        for name in filter(None, (part.strip() for part in statement.data.split(","))):
            needs.setdefault(name, []).append(
                statement.id + (" (pending)" if statement.pending else "")
            )
    for name, ids in sorted(needs.items()):
        print(f"{name}: for {', '.join(ids)}")
    if unknown := sorted(set(needs) - set(sets.SETS)):
        known = ", ".join(sets.SETS)
        raise LedgerError(
            f"entry {needs[unknown[0]][0]}: field 'data': no set {unknown[0]!r} (known: {known})"
        )
    root = results.project.root / results.project.data
    try:
        sets.fetch(root, sorted(needs), lambda line: print(line, flush=True))
    except BadData as error:
        print(f"{error}\nWhat was fetched of this set is removed: make data again begins it anew.")
        return 1
    except (RuntimeError, OSError) as error:
        print(error)
        if kept := ", ".join(file.name for file in sets.kept(root)):
            print(f"What has arrived is kept ({kept}): make data again goes on from there.")
        return 1
    return 0


def take_snapshot(results: Results) -> int:
    """Only finished claims go in; the figures that README shows are copied beside them."""
    root, artifacts = results.project.root, results.artifacts
    document = results.document(_latest_run(results))
    if document["run"].get("dirty"):
        print(
            "the latest run was made with uncommitted changes: commit, then make claims",
            file=sys.stderr,
        )
        return 1
    document["claims"] = [claim for claim in document["claims"] if claim["file"]]
    unfinished = [
        claim["id"]
        for claim in document["claims"]
        if claim["verdict"] != claim["status"] or claim["stale"]
    ]
    if unfinished:
        print(
            f"not as the ledger records, or stale: {', '.join(unfinished)}; run make claims first",
            file=sys.stderr,
        )
        return 1
    reference = artifacts / "reference"
    files.write_json(reference / "results.json", document)
    files.write_json(reference / schedule.FILE, schedule.from_nothing(document["claims"]))
    for figure in (figure for claim in document["claims"] for figure in claim["figures"]):
        files.write_atomically(reference / figure["svg"], (artifacts / figure["svg"]).read_bytes())
    page = root / "README.md"
    folder = str(reference.relative_to(root))
    text = readme.filled(page.read_text(), json.loads(files.to_json(document)), folder)
    files.write_atomically(page, text)
    print(f"{reference / 'results.json'}\n{page}")
    return 0


COMMANDS = {"report": rebuild, "list": show_list, "data": fetch_data, "snapshot": take_snapshot}

if __name__ == "__main__":
    sys.exit(main())
