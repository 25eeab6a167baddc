"""python -m repro.mutants FILE TESTS...: change FILE in small wrong ways; do the tests see it?

    python -m repro.mutants repro/numerics/plateau.py tests/test_plateau.py
    python -m repro.mutants repro/fang2022/ridge.py claims/fang2022/test_lemma_3_3_*.py --only sign

Every mutant is run at smoke scale, up to the first red test. A mutant that takes far longer than
the file as it is counts as seen. What survives is printed as it would be typed; exit code 1 then.
"""

import argparse
import os
import time
from pathlib import Path

from repro.mutants import children, operators

SLOWER = 5.0  # times as long as the tests take as they are, and PATIENCE seconds
PATIENCE = 20.0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m repro.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a module of repro/")
    parser.add_argument("tests", nargs="+", metavar="TESTS", help="test files, or ids of tests")
    parser.add_argument("--only", metavar="OPERATOR", help="one operator (operators.py)")
    parser.add_argument("--lines", metavar="A-B", help="only what stands in these lines")
    parser.add_argument("--budget", type=float, default=0, metavar="SECONDS", help="then stop")
    options = parser.parse_args(arguments)
    chosen = _chosen(options.file, options.only, options.lines)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    children.warm_up()
    plain = children.run(options.tests, limit=3600)
    if plain.code != 0:
        print(f"{plain.output}\nthe tests do not pass as they are: nothing can be said")
        return 2
    return _report(*_tried(chosen, options, SLOWER * plain.seconds + PATIENCE))


def _chosen(file: Path, only: str | None, lines: str | None) -> list[operators.Mutant]:
    first, last = map(int, lines.split("-")) if lines else (1, 10**9)
    found = [
        one
        for one in operators.mutants(file.read_text())
        if first <= one.line <= last and only in (None, one.operator)
    ]
    if not found:
        raise SystemExit(f"{file}: nothing to change there")
    return found


def _tried(
    chosen: list[operators.Mutant], options: argparse.Namespace, limit: float
) -> tuple[list[operators.Mutant], int, int]:
    """Survivors, how many were tried, how many there are."""
    module = ".".join(options.file.with_suffix("").parts)
    began, survivors, tried = time.monotonic(), [], 0
    for mutant in chosen:
        if options.budget and time.monotonic() - began > options.budget:
            break
        changed = children.Changed(module, mutant.source)
        ended = children.run([*options.tests, "-x"], changed=changed, limit=limit)
        tried += 1
        word = {0: "SURVIVED", None: "too slow"}.get(ended.code, "seen")
        print(f"{tried}/{len(chosen)} {word:<8} {_told(mutant)}", flush=True)
        if ended.code == 0:
            survivors.append(mutant)
    return survivors, tried, len(chosen)


def _report(survivors: list[operators.Mutant], tried: int, all_of_them: int) -> int:
    print(f"\n{tried} of {all_of_them} mutants tried, {tried - len(survivors)} seen")
    for mutant in survivors:
        print(f"  survived: {_told(mutant)}")
    return 1 if survivors else 0


def _told(mutant: operators.Mutant) -> str:
    return f"line {mutant.line}, {mutant.operator}: {mutant.before}  ->  {mutant.after}"


if __name__ == "__main__":
    raise SystemExit(main())
