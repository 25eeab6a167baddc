"""python -m repro: what one wants besides pytest.

    report   make results.json and the page again from the files that the tests wrote
    watch    say every few seconds what is running (in a second terminal)
    list     every statement of the ledger with its claim file and its latest verdict
    data     the data sets that claims need
"""

import argparse
import os
import sys
import time
from pathlib import Path

from repro import files, report
from repro.harness import progress, records
from repro.harness.ledger import LedgerError
from repro.harness.project import Project
from repro.harness.results import Results


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m repro", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("report", "watch", "list", "data"))
    parser.add_argument("--project", type=Path, default=Path(), metavar="FOLDER", help="where claims/ is (default: here)")
    parser.add_argument("--artifacts", type=Path, metavar="FOLDER", help="where the results are (default: artifacts/)")
    parser.add_argument("--every", type=float, default=2.0, metavar="SECONDS", help="watch: how often (default 2)")
    options = parser.parse_args(arguments)
    project = Project(options.project.resolve())
    artifacts = options.artifacts or project.root / project.artifacts
    try:
        if options.command == "watch":
            return watch(artifacts, options.every)
        results = Results(project, project.read_ledger(), artifacts)
        return {"report": rebuild, "list": show_list, "data": show_data}[options.command](results)
    except LedgerError as error:
        print(error, file=sys.stderr)
        return 4
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def rebuild(results: Results) -> int:
    document = results.write(_latest_run(results.artifacts), results.ledger.statements)
    for message in results.messages:
        print(message)
    print(report.render(document, results.artifacts))
    return 0


def _latest_run(artifacts: Path) -> dict:
    """The header of the newest run; one that is not running any more was interrupted."""
    for path in sorted(artifacts.glob("runs/*.json"), reverse=True):
        try:
            run = files.read_json(path)
        except files.DamagedFile:
            continue
        if run.get("state") == "running" and not records.alive(run.get("pid")):
            run["state"] = "interrupted"
        return run
    return {}


def watch(artifacts: Path, every: float) -> int:
    while True:
        lines = []
        for path in artifacts.glob("claims/*/*/tests/*.json"):
            found = records.read(path, [])
            if found and found["state"] == "running":
                label = f"{found['worker']} {found['claim']} {found['test']}"
                lines.append(progress.line(label, time.time() - path.stat().st_mtime, path.with_suffix(".progress")))
        print(" | ".join(sorted(lines)) or "nothing is running", flush=True)
        time.sleep(every)


def show_list(results: Results) -> int:
    for id in results.ledger.statements:
        claim = results.claim(id)
        print(f"{claim['verdict']:<15} {id:<40} {claim['file'] or '(no claim yet)'}")
    return 0


def show_data(results: Results) -> int:
    """Which statements need which data set, and whether a claim uses it yet."""
    needs: dict[str, list[str]] = {}
    for statement in results.ledger.statements.values():
        for name in filter(None, (part.strip() for part in statement.data.split(","))):
            needs.setdefault(name, []).append(statement.id + (" (pending)" if statement.pending else ""))
    for name, ids in sorted(needs.items()):
        print(f"{name}: {', '.join(ids)}")
    if all(s.pending for s in results.ledger.statements.values() if s.data):
        print("No claim that is written so far needs data: there is nothing to fetch.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
