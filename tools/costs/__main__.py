"""python -m tools.costs: what a run of all claims costs, and on what claims spend it.

--run        all claims at laptop scale, by two workers and by one: ten minutes
--cold       all claims from an empty store, at smoke scale and then at laptop scale: half an hour
FILE ...     these claim files at laptop scale

Each says the seconds of the run, the slowest claims with the functions in which they spend their
time, and the claims that add most to the memory of their process. But for --cold, finished
trainings are taken from the store and none is made: a claim whose training is not there is not run.
"""

import argparse
import sys
from pathlib import Path

from tools.costs import runs

WORKERS = 2


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
    cold = [("--scale", scale, "--store={folder}/store", "claims") for scale in ("smoke", "laptop")]
    asked = [(WORKERS, (*runs.WARM, "claims")), (1, (*runs.WARM, "claims"))] if options.run else []
    asked += [(WORKERS, one) for one in cold] if options.cold else []
    asked += [(1, (*runs.WARM, *options.files))] if options.files else []
    if not asked:
        parser.print_help()
        return 0
    whole = True
    for workers, given in asked:
        print(f"pytest -n{workers} {' '.join(given)}", flush=True)
        run = runs.timed(Path.cwd(), workers, *given)
        print("\n".join(run.told()), flush=True)
        whole &= run.exit == 0 and bool(run.claims)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
