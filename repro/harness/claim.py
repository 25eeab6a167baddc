"""What a claim test has in hand: verbs that check and record, seeds, scale, device and store.

    def test_error_within_bound(claim, n):
        claim.at_most(error, bound, "sup error", equation="(4.3)", source="theorem: (4.3)")

Every verb writes what it compared, with its equation and the source of its tolerance, into the
test's record; a red one then raises ClaimFailed with all that is needed to judge it.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from repro import figures, files
from repro.data.sets import Registry
from repro.harness import checks
from repro.harness.checks import Check, ClaimFailed
from repro.harness.progress import Reporter
from repro.harness.project import SCALES, ClaimTest, claim_folder
from repro.harness.records import Record
from repro.harness.resources import Lease
from repro.harness.seeds import seed_for

if TYPE_CHECKING:
    import numpy as np
    import torch
    from matplotlib.figure import Figure

    from repro.training import Outcome, Spec, Store, Stored, Workspace

    S = TypeVar("S", bound=Spec)

T = TypeVar("T")
U = TypeVar("U")


class Claim:
    """The fixture `claim`. Attributes: `statement` (the ledger's entry), `scale`, `params`."""

    def __init__(
        self,
        name: ClaimTest,
        record: Record,
        *,
        artifacts: Path,
        scale: str,
        base_seed: int,
        params: Mapping[str, Any],
        lease: Lease,
        store: "Callable[..., Store]",
        data: Registry,
    ) -> None:
        self.statement = name.statement
        self.scale = scale
        self.params = dict(params)
        self.progress = Reporter(record.progress_path)
        self._name, self._record, self._artifacts = name, record, artifacts
        self._base_seed, self._lease, self._store, self._data = base_seed, lease, store, data
        self._waits = True  # for a training that another process has in hand

    # --- what the test may ask for ---------------------------------------------------------------

    def at_scale(self, *, smoke: T, laptop: T, paper: T) -> T:
        """The setting for the scale of this run."""
        return (smoke, laptop, paper)[SCALES.index(self.scale)]

    def seed(self, stream: str = "") -> int:
        """A seed that depends on --seed, the claim's id and `stream`, and on nothing else."""
        return seed_for(self._base_seed, self.statement.id, stream)

    def rng(self, stream: str = "") -> "np.random.Generator":
        import numpy as np

        return np.random.default_rng(self.seed(stream))

    @functools.cached_property
    def device(self) -> "torch.device":
        device = self._lease.device()
        self._record.data["device"] = str(device)
        return device

    def train(self, spec: "S", train: "Callable[[S, Workspace], Outcome]") -> "Stored":
        """The finished training of `spec`, from the store or made now; the record says which."""
        from repro.training import NotComputed
        from repro.training.store import DamagedEntry

        store = self._store(device=self.device.type, progress=self.progress, say=self.progress.say)
        try:
            stored = store.get(spec, train, wait=self._waits)
        except (NotComputed, DamagedEntry) as error:
            damaged = isinstance(error, DamagedEntry)
            reason = "damaged" if damaged else "missing"
            self._record.append(
                "store", {"kind": spec.kind, "key": error.key, "reason": reason, "seconds": 0}
            )
            if damaged:
                raise
            pytest.skip(str(error))
        if stored.key not in (entry["key"] for entry in self._record.data["store"]):
            self._record.append(
                "store",
                {
                    "kind": spec.kind,
                    "key": stored.key,
                    "reason": stored.reason,
                    "seconds": round(stored.seconds, 1),
                },
            )
        return stored

    def for_each(self, items: Iterable[T], do: Callable[[T], U]) -> list[U]:
        """`do(item)` for every item; what another process is training just now comes last.

        So two tests that need the same ten trainings make five each, at the same time.
        """
        from repro.training import Busy
        from repro.training.store import DamagedEntry

        waiting = dict(enumerate(items))
        done: dict[int, U] = {}
        missing: list[BaseException] = []
        while waiting:
            self._waits = False
            for place in list(waiting):
                try:
                    done[place] = do(waiting[place])
                except Busy:
                    continue
                except (pytest.skip.Exception, DamagedEntry) as reason:
                    missing.append(reason)  # the others are asked for all the same
                del waiting[place]
            self._waits = True
            for place in list(waiting)[:1]:
                done[place] = do(waiting.pop(place))
        for reason in sorted(missing, key=lambda one: not isinstance(one, DamagedEntry)):
            raise reason
        return [done[place] for place in sorted(done)]

    def data(self, name: str) -> Path:
        """The folder of a set that the project registers; without it the test is not run."""
        found = self._data.find(name)
        if found is None:
            pytest.skip(f"needs python -m repro data ({name})")
        self.record(data=self._data[name].told)
        return found

    # --- what the test says ----------------------------------------------------------------------

    def record(self, **numbers: Any) -> None:
        """Keep numbers that the page should show; nothing is compared."""
        self._record.note("records", numbers)

    def at_most(
        self, measured: Any, allowed: Any, name: str, *, equation: str, source: str
    ) -> None:
        __tracebackhide__ = True
        self._check(checks.at_most(measured, allowed), name, equation, source)

    def at_least(
        self, measured: Any, allowed: Any, name: str, *, equation: str, source: str
    ) -> None:
        __tracebackhide__ = True
        self._check(checks.at_least(measured, allowed), name, equation, source)

    def within(
        self, measured: Any, expected: Any, tolerance: Any, name: str, *, equation: str, source: str
    ) -> None:
        __tracebackhide__ = True
        self._check(checks.within(measured, expected, tolerance), name, equation, source)

    def equals(self, measured: Any, expected: Any, name: str, *, equation: str) -> None:
        """Exactly equal: integers, rationals, polynomials, words; a float is refused."""
        __tracebackhide__ = True
        self._check(
            checks.equals(measured, expected), name, equation, "exact: equality, no tolerance"
        )

    def for_all(
        self,
        cases: Any,
        difference: Callable[[Any], Any],
        name: str,
        *,
        equation: str,
        examples: int,
    ) -> None:
        """`difference(case)` is exactly 0 for every case that hypothesis finds to try.

        The search is seeded from the claim; a failure is shrunk to the smallest case found.
        """
        __tracebackhide__ = True
        tried, worst = _search(cases, difference, self.seed(name), examples, self.progress)
        self._record.note("records", {f"cases tried: {name}": tried})
        shown = {} if worst is None else {"smallest failing case": repr(worst[0])}
        self._check(
            checks.equals(0 if worst is None else worst[1], 0),
            name,
            equation,
            "exact: for all cases tried",
            shown,
        )

    def counterexample(
        self,
        refutes: str,
        *,
        input: Mapping[str, Any],
        measured: Any,
        expected: Any,
        equation: str,
        relation: str = "=",
        printed: bool = True,
        snippet: str = "",
    ) -> None:
        """Store an input for which `measured relation expected`, as the text has it, is false.

        `printed=False` is for a reading of the text that fails while the statement stands. A
        printed statement is never called wrong on a floating-point number.
        """
        __tracebackhide__ = True
        if printed and not (checks.is_exact(measured) and checks.is_exact(expected)):
            raise TypeError(
                f"counterexample to {refutes!r}: needs exact or certified numbers, not floats"
            )
        outcome = checks.refutes(measured, relation, expected)
        entry = {"refutes": refutes, "printed": printed, "input": dict(input), "measured": measured}
        said = {"relation": relation, "expected": expected, "snippet": snippet}
        self._record.append("counterexamples", {**entry, **said})
        self._check(outcome, f"counterexample: {refutes}", equation, "exact: one input refutes")

    def table(self, row: str, column: str, *, paper: Any, ours: Any, note: str = "") -> None:
        """A printed cell beside ours; the comparison, if any, is a check of its own."""
        self._record.append(
            "table", {"row": row, "column": column, "paper": paper, "ours": ours, "note": note}
        )

    def figure(self, figure: "Figure", name: str, *, caption: str, alt: str) -> None:
        """Keep a figure as SVG and PNG; `alt` tells in words and numbers what it shows."""
        folder = claim_folder(self._artifacts, self.statement.id)
        entry = {"caption": caption, "alt": alt}
        for suffix, drawn in figures.saved(figure).items():
            files.write_atomically(folder / f"{name}.{suffix}", drawn)
            entry[suffix] = f"claims/{self.statement.id}/{name}.{suffix}"
        self._record.append("figures", entry)

    # --- how a check is kept and told ------------------------------------------------------------

    def _check(
        self,
        outcome: dict[str, Any],
        name: str,
        equation: str,
        source: str,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        __tracebackhide__ = True
        params = {**self.params, **(more or {})}
        check = Check(
            name=name,
            equation=equation,
            source=checks.check_source(source),
            params=params,
            **outcome,
        )
        self._record.append("checks", vars(check))
        if not check.ok:
            raise ClaimFailed(self._failure(check))

    def _failure(self, check: Check) -> str:
        tolerance = "" if check.tolerance is None else f" ± {check.tolerance}"
        setting = ", ".join(f"{key}={value}" for key, value in check.params.items())
        rows = [
            ("statement", self.statement.statement),
            ("equation", check.equation),
            ("measured", f"{check.measured}  ({check.name})"),
            ("allowed", f"{check.relation} {check.allowed}{tolerance}  ({check.source})"),
            ("ratio", "no factor" if check.ratio is None else f"{check.ratio:.4g}"),
            ("setting", setting or "no parameters"),
            ("seed", f"--seed {self._base_seed}, so {self.seed()} for this claim"),
            ("repeat", self._record.data["command"]),
        ]
        control = self._name.role == "control"
        what = "the control did not fail as it must" if control else "not as recorded"
        head = f"{self.statement.id}, {self.statement.title}: {what}: {check.name}"
        return "\n".join([head, *(f"  {label:<10} {text}" for label, text in rows)])


def _search(
    cases: Any, difference: Callable[[Any], Any], seed: int, examples: int, progress: Reporter
) -> tuple[int, tuple[Any, Any] | None]:
    """How many cases hypothesis tried, and the smallest failing one with its difference, if any."""
    import hypothesis

    tried = 0
    worst: tuple[Any, Any] | None = None

    class Found(Exception):
        pass

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=examples, deadline=None, database=None, print_blob=False)
    @hypothesis.given(cases)
    def search(case: Any) -> None:
        nonlocal tried, worst
        tried += 1
        progress(tried, examples)
        found = difference(case)
        if found != 0:
            worst = (case, found)
            raise Found

    with contextlib.suppress(Found):
        search()
    return tried, worst
