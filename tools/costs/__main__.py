"""python -m tools.costs: what a run of all claims costs, and on what claims spend it.

--run        all claims at laptop scale, by two workers and by one: ten minutes
--cold       all claims from an empty store, at smoke scale and then at laptop scale: half an hour
FILE ...     these claim files at laptop scale: printed, and not kept

Each tells the dearest claims, the functions in which they spend their time, and the claims that
add most to the memory of their process. But for --cold, finished trainings are taken from the store
and none is made: what is not there is left out. --run and --cold write artifacts/costs.json, which
`make bench` puts beside its own figures.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from repro import files
from repro.harness import provenance
from tools.costs import runs

SHOWN = 12  # functions of each claim


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.costs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", action="store_true", help="time a run of all claims")
    parser.add_argument("--cold", action="store_true", help="time runs from nothing")
    parser.add_argument("files", nargs="*", metavar="FILE", help="claim files to look at")
    options = parser.parse_args(arguments)
    missing = [name for name in options.files if not Path(name.partition("::")[0]).exists()]
    if missing:
        parser.error(f"there is no {', '.join(missing)} here: name claim files, as in claims/")
    if not (options.run or options.cold or options.files):
        parser.print_help()
        return 0
    root = Path.cwd()
    if options.run:
        _keep(root, "run", runs.measured_run)
    if options.cold:
        _keep(root, "cold", runs.measured_cold)
    return _show(runs.timed(root, 1, *runs.WARM, *options.files)) if options.files else 0


def _keep(root: Path, name: str, measure: Callable[[Path], dict[str, Any]]) -> None:
    """What was known is read late: a run takes long, and another may have been kept meanwhile."""
    header, found = provenance.measured_here(root), measure(root)
    file = root / "artifacts" / runs.FILE
    files.write_json(file, {**runs.own(root / "artifacts"), name: {"header": header, **found}})
    for run in runs.all_in(found):
        _warn(run)
    print(file)


def _show(run: runs.Timed) -> int:
    try:
        for line in told(run):
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _warn(run.told())
    return 0 if run.claims else 2


def told(run: runs.Timed) -> Iterator[str]:
    """A table of each claim: its functions and their share; then what its largest test added."""
    if not run.claims:
        yield "no claim has run: is this a claim file? are its trainings in the store?"
    for row in run.rows:
        yield f"{row['id']}: {row['seconds']:.1f} s"
        yield from (f"{100 * share:5.1f} %  {name}" for name, share in row["functions"][:SHOWN])
    if run.samples.peaks:
        yield "added most to the memory of the process"
        yield from (f"{added / 1e9:5.2f} GB {test}" for test, added in run.samples.largest())


def _warn(run: Mapping[str, Any]) -> None:
    if reason := runs.not_whole(run):
        print(f"not a whole run: {reason}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
