"""What a claim test has in hand: verbs that check and record, seeds, scale, device and store.

    def test_error_within_bound(claim, n):
        error = claim.measured("sup error", sup_error(n), equation="(4.3)", n=n)
        error.at_most(theorem(bound(n), "(4.3)") + rounding_error(4 * u, "two products"))

Every comparison is written into the test's record, with its equation, its settings and what its
bound is made of; a red one then raises ClaimFailed with all that is needed to judge it.
"""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from traceback import walk_stack
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from repro import figures, files
from repro.bounds import Bound, Source
from repro.data.sets import Registry
from repro.harness import checks
from repro.harness.checks import ClaimFailed
from repro.harness.progress import Reporter
from repro.harness.project import SCALES, ClaimTest, claim_folder
from repro.harness.records import Recorder
from repro.harness.resources import Lease
from repro.harness.search import smallest_failure
from repro.harness.seeds import seed_for
from repro.results.types import Cell, Check, Counterexample, Figure, Number, Training

if TYPE_CHECKING:
    import numpy as np
    import torch
    from matplotlib.figure import Figure as Drawing

    from repro.training import Outcome, Spec, Store, Stored, Workspace

    S = TypeVar("S", bound=Spec)

FIGURE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
T = TypeVar("T")
U = TypeVar("U")


class Claim:
    """The fixture `claim`. Attributes: `statement` (the ledger's entry), `scale`, `params`."""

    def __init__(
        self,
        name: ClaimTest,
        recorder: Recorder,
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
        self.progress = Reporter(recorder.progress_path)
        self._name, self._recorder, self._artifacts = name, recorder, artifacts
        self._base_seed, self._lease, self._store, self._data = base_seed, lease, store, data
        self._waits = True  # for a training that another process has in hand

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
        self._recorder.record.device = str(device)
        return device

    def train(self, spec: "S", train: "Callable[[S, Workspace], Outcome]") -> "Stored":
        """The finished training of `spec`, from the store or made now; the record says which."""
        from repro.training import NotComputed
        from repro.training.store import DamagedEntry

        def used(key: str, reason: str, seconds: float = 0.0) -> None:
            found = Training(kind=spec.kind, key=key, reason=reason, seconds=round(seconds, 1))
            self._recorder.append("trainings", found)

        store = self._store(device=self.device.type, progress=self.progress, say=self.progress.say)
        again = "run without --store-mode readonly"
        try:
            stored = store.get(spec, train, wait=self._waits)
        except NotComputed as error:
            used(error.key, "missing")
            pytest.skip(f"{error}: {again}" if store.mode == "readonly" else str(error))
        except DamagedEntry as error:
            used(error.key, "damaged")
            error.add_note(f"to train it anew: {again}, or python -m repro prefetch")
            raise
        if stored.key not in (training.key for training in self._recorder.record.trainings):
            used(stored.key, stored.reason, stored.seconds)
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
        told = self._data[name].told
        if told not in (number.value for number in self._recorder.record.numbers):
            self.record("data", told)
        return found

    def record(self, name: str, value: Any, /, **settings: Any) -> None:
        """Keep a number that the page should show; nothing is compared."""
        number = Number(name=_plain(name), value=files.plain(value), params=self._at(settings))
        self._recorder.append("numbers", number)

    def measured(self, name: str, value: Any, /, *, equation: str, **settings: Any) -> "Measured":
        """A measured number, to be compared: `.at_most(bound)`, `.at_least`, `.within`, `.equals`.

        `settings` are the values at which it was measured; they are no part of its name.
        """
        return Measured(self, _plain(name), value, equation, self._at(settings))

    def for_all(
        self,
        name: str,
        cases: Any,
        difference: Callable[[Any], Any],
        /,
        *,
        equation: str,
        examples: int,
        **settings: Any,
    ) -> None:
        """`difference(case)` is exactly 0 for all random samples that hypothesis draws.

        The search is seeded from the claim; a failure is shrunk to the smallest case found.
        """
        __tracebackhide__ = True
        tried, worst = smallest_failure(cases, difference, self.seed(name), examples, self.progress)
        self.record(f"cases tried: {name}", tried, **settings)
        shown = {} if worst is None else {"smallest failing case": repr(worst[0])}
        self._check(
            checks.equals(0 if worst is None else worst[1], 0),
            Source("exact", 0, "every sample that was tried"),
            name=_plain(name),
            equation=equation,
            params={**self._at(settings), **shown},
        )

    def counterexample(
        self,
        refutes: str,
        /,
        *,
        input: Mapping[str, Any],
        measured: Any,
        expected: Any,
        equation: str,
        relation: str = "=",
        printed: bool = True,
        program: Callable[..., tuple[Any, Any]] | None = None,
        **settings: Any,
    ) -> None:
        """Store an input for which `measured relation expected`, as the text has it, is false.

        `printed=False` is for a reading of the text that fails while the statement stands. A
        printed statement is never called wrong on a floating-point number. `program` computes both
        sides again from `settings`, with its own imports: the page shows its source.
        """
        __tracebackhide__ = True
        if printed and not (checks.is_exact(measured) and checks.is_exact(expected)):
            needs = "needs exact or certified numbers, not floats"
            raise TypeError(f"counterexample to {refutes!r}: {needs}")
        found = Counterexample(
            refutes=refutes,
            printed=printed,
            input=files.plain(input),
            measured=files.plain(measured),
            relation=relation,
            expected=files.plain(expected),
            program=_shown(program, settings, relation) if program else "",
            params=self._at(settings),
            **self._origin,
        )
        self._recorder.append("counterexamples", found)
        self._check(
            checks.refutes(measured, relation, expected),
            Source("exact", expected, "one input refutes"),
            name=f"counterexample: {refutes}",
            equation=equation,
            params=self._at(settings),
        )

    def cell(
        self,
        row: str,
        column: str,
        *,
        paper: Any,
        ours: Any,
        tolerance: Bound | None = None,
        order: bool = False,
        printed_size: str = "",
        run_size: str = "",
        note: str = "",
    ) -> None:
        """A printed cell of a table or figure beside ours, and how they compare.

        `ours` None: not run. It matches within `tolerance`, or without one if both are exact and
        equal. `order`: whether the comparison that the paper draws from the cell came out, which is
        all that words can say at another size than the printed one. No outcome is red: the verdict
        of the table is made of them.
        """
        outcome = checks.outcome(paper, ours, tolerance and tolerance.value, order)
        if outcome == "matches" and isinstance(paper, str) and run_size not in ("", printed_size):
            outcome = "same order"
        cell = Cell(
            row=row,
            column=column,
            paper=files.plain(paper),
            ours=files.plain(ours),
            outcome=outcome,
            tolerance=tolerance.sources if tolerance else (),
            printed_size=printed_size,
            run_size=run_size,
            note=note,
            **self._origin,
        )
        self._recorder.append("cells", cell)

    def figure(self, figure: "Drawing", name: str, *, caption: str, alt: str = "") -> None:
        """Keep a figure as SVG and PNG.

        `alt` tells in words and numbers what it shows; curves with labels tell it themselves.
        """
        if not FIGURE_NAME.fullmatch(name):
            raise ValueError(f"the figure {name!r}: a name has letters, digits, '-' and '_' only")
        place = f"claims/{self.statement.id}/{name}"
        drawn_before = {one.svg.lower() for one in self._recorder.record.figures}
        if f"{place}.svg".lower() in drawn_before:  # some disks do not tell a from A
            raise ValueError(f"this test has drawn a figure {name!r} before")
        alt = alt or figures.described(figure)
        if not alt:
            missing = "has no labelled curve: say in alt= what it shows"
            raise ValueError(f"the figure {name!r} {missing}")
        folder = claim_folder(self._artifacts, self.statement.id)
        for suffix, drawn in figures.saved(figure).items():
            files.write_atomically(folder / f"{name}.{suffix}", drawn)
        both = {suffix: f"{place}.{suffix}" for suffix in ("svg", "png")}
        found = Figure(**both, caption=caption, alt=alt, **self._origin)
        self._recorder.append("figures", found)

    @property
    def _origin(self) -> dict[str, Any]:
        """The test that says something, and its kind of evidence."""
        return {"test": self._name.test, "evidence": self._recorder.record.evidence}

    def _at(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the test and of this number."""
        return {**self.params, **files.plain(settings)}

    def _check(self, decided: Check, *sources: Source, **about: Any) -> None:
        __tracebackhide__ = True
        values = ("measured", "allowed", "tolerance")
        about |= {key: files.plain(getattr(decided, key)) for key in values}
        check = replace(decided, provenance=sources, line=self._line(), **about, **self._origin)
        failure = "" if check.ok else self._failure(check)
        self._recorder.append("checks", check, failure)
        if failure:
            raise ClaimFailed(failure)

    def _line(self) -> int:
        """Where the claim's file asks for the check that is being kept; 0 if another file does."""
        here = str(self._name.file)
        found = (line for frame, line in walk_stack(None) if frame.f_code.co_filename == here)
        return next(found, 0)

    def _failure(self, check: Check) -> str:
        tolerance = "" if check.tolerance is None else f" ± {check.tolerance}"
        sources = " + ".join(map(str, check.provenance))
        setting = ", ".join(f"{key}={value}" for key, value in check.params.items())
        rows = [
            ("statement", self.statement.statement),
            ("equation", check.equation),
            ("measured", f"{check.measured}  ({check.name})"),
            ("allowed", f"{check.relation} {check.allowed}{tolerance}  ({sources})"),
            ("ratio", "no factor" if check.ratio is None else f"{check.ratio:.4g}"),
            ("setting", setting or "no parameters"),
            ("asked", f"{self._name.file.name}, line {check.line}"),
            ("seed", f"--seed {self._base_seed}, so {self.seed()} for this claim"),
            ("repeat", self._recorder.record.command),
        ]
        control = self._name.role == "control"
        what = "the control did not fail as it must" if control else "not as recorded"
        head = f"{self.statement.id}, {self.statement.title}: {what}: {check.name}"
        return "\n".join([head, *(f"  {label:<10} {text}" for label, text in rows)])


class Measured:
    """A measured number with its settings; each comparison is one check of the claim."""

    def __init__(
        self, claim: Claim, name: str, value: Any, equation: str, params: dict[str, Any]
    ) -> None:
        self._claim, self.value = claim, value
        self._about = {"name": name, "equation": equation, "params": params}

    def at_most(self, bound: Bound) -> "Measured":
        __tracebackhide__ = True
        return self._kept(checks.at_most(self.value, _known(bound).value), *bound.sources)

    def at_least(self, bound: Bound) -> "Measured":
        __tracebackhide__ = True
        return self._kept(checks.at_least(self.value, _known(bound).value), *bound.sources)

    def within(self, expected: Any, tolerance: Bound) -> "Measured":
        """At most `tolerance` away from `expected`."""
        __tracebackhide__ = True
        found = checks.within(self.value, expected, _known(tolerance).value)
        return self._kept(found, *tolerance.sources)

    def equals(self, expected: Any) -> "Measured":
        """Exactly equal: integers, rationals, polynomials, words; a float is refused."""
        __tracebackhide__ = True
        source = Source("exact", expected, "equality, no tolerance")
        return self._kept(checks.equals(self.value, expected), source)

    def _kept(self, decided: Check, *sources: Source) -> "Measured":
        __tracebackhide__ = True
        self._claim._check(decided, *sources, **self._about)
        return self


def _known(bound: Bound) -> Bound:
    if not isinstance(bound, Bound):
        advice = f"write theorem({bound!r}, 'why'), or one of the others in repro.bounds"
        raise TypeError(f"{bound!r} does not say where it comes from: {advice}")
    return bound


def _plain(name: str) -> str:
    """A name says what was measured; at which values is said by settings."""
    if re.search(r"= ?-?[0-9]", name):
        raise ValueError(f"{name!r} carries a setting: write measured(name, value, m=8, ...)")
    return name


def _shown(program: Callable[..., Any], settings: Mapping[str, Any], relation: str) -> str:
    """The source of a counterexample's program, and the call that shows it with these settings."""
    source = textwrap.dedent(inspect.getsource(program))
    given = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    call = f"left, right = {program.__name__}({given})"
    return f"{source}\n\n{call}\nprint(left, {relation!r}, right, 'is false')\n"
