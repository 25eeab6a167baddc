"""python -m tools.mutants [FILES]: change FILES in small wrong ways; do claims and tests see it?

    python -m tools.mutants repro/wang2024/moving.py
    python -m tools.mutants repro/numerics/plateau.py --only sign
    python -m tools.mutants --budget 28800            everything, for eight hours; again: goes on
    python -m tools.mutants --by-hand                 thirty mistakes made by people
    python -m tools.mutants --alone 25                what does each claim see by itself?

Without FILES everything that claims compute with. Each mutant meets the claims and tests that reach
it, at smoke scale, from the fastest on, up to the first red one; one that takes far longer than the
code as it is counts as seen. What is known is kept in artifacts/mutants and not tried again until
the function or the tests change. Survivors are printed as they would be typed; exit code 1 then,
2 if the time was up before all were tried, 130 after Ctrl-C.
"""

import argparse
import os
import time
from pathlib import Path

from tools.mutants import alone, by_hand, equivalents, operators, report, results, run
from tools.mutants.results import Result


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    root = Path.cwd()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    deadline = time.time() + options.budget if options.budget else float("inf")
    files = [str(Path(file)) for file in options.files]
    for file in files:
        if Path(file).suffix != ".py" or not (root / file).is_file():
            raise SystemExit(f"no such module here: {file} (run from the project's root)")
    job = run.Run(
        root, root / "artifacts/mutants", options.workers, deadline, options.patience,
        operator=options.only, listed=options.listed,
    )  # fmt: skip
    if options.report:
        print(report.write(root, job.folder, run.modules(root), results.read(job.results)))
        return 0
    try:
        if options.by_hand:
            return by_hand.go(job, files)
        if options.alone:
            claims, places = (
                [root / file for file in files] or alone.claims(root),
                alone.mistakes(root),
            )
            if not alone.go(job, claims, places, options.alone):
                return 2
            found = alone.found(root, job.folder, places)
            every = [one for one in found if root / one.claim in claims]
            alone.keep(root, every)
            return alone.told(every)
        chosen = files or run.modules(root)
        found = job.go(chosen)
    except KeyboardInterrupt:
        print("interrupted: what is known is kept, and the same command goes on from here")
        return 130
    if job.red:
        print(f"not used, red as they are: {', '.join(job.red)}")
    for file in chosen:
        for same in equivalents.stale(root, results.places(root, file), equivalents.read()):
            print(f"equivalents.txt: gone from {file} {same.function}: {same.before}")
    return _told(job, found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILES", help="modules of repro/; with --alone, claims"
    )
    parser.add_argument(
        "--only", choices=operators.NAMES, metavar="OPERATOR",
        help=f"one operator: {', '.join(operators.NAMES)}",
    )  # fmt: skip
    parser.add_argument(
        "--alone", type=_count, default=0, metavar="N",
        help="try N mutants of what each claim executes on that claim and no test",
    )  # fmt: skip
    parser.add_argument(
        "--by-hand", action="store_true",
        help="plant the mistakes of by_hand.toml, each on the claim that it concerns",
    )  # fmt: skip
    parser.add_argument(
        "--listed", action="store_true",
        help="only those listed as equivalent, which are left out else: none should be seen",
    )  # fmt: skip
    parser.add_argument("--budget", type=_positive, default=0, metavar="SECONDS", help="then stop")
    parser.add_argument(
        "--patience", type=float, default=20, metavar="SECONDS",
        help="a mutant that takes five times as long and this is too slow (default 20)",
    )  # fmt: skip
    parser.add_argument("--workers", type=_count, default=os.cpu_count(), metavar="N")
    parser.add_argument(
        "--report", action="store_true", help="only write the page, artifacts/mutants.html"
    )
    return parser


def _positive(text: str) -> float:
    if not (number := float(text)) > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1, 2, 3, ...")
    return number


def _told(job: run.Run, found: list[Result]) -> int:
    alive = [one for one in found if one.state not in results.SEEN]
    left = job.asked - len(found)
    print(f"\n{job.asked} mutants, {job.tried} tried now: {len(found) - len(alive)} seen, "
          f"{len(alive)} not, {left} not settled yet")  # fmt: skip
    for one in alive:
        print(f"  {one.state}: {one.file}:{one.line} {one.operator}: {one.before}  ->  {one.after}")
    return 1 if alive else 2 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())
