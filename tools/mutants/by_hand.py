"""python -m tools.mutants --by-hand [CLAIMS]: mistakes made by people, not by rules.

by_hand.toml lists mistakes that a tired author could have made when he typed a formula of a paper,
planned from the paper without looking at the claims. Each is planted in turn, and the claim of its
statement is run alone, at smoke scale: does it turn red?
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.mutants import children
from tools.mutants.run import Run, say

LIST = Path(__file__).with_name("by_hand.toml")


@dataclass(frozen=True)
class Mistake:
    file: str
    before: str
    after: str
    claim: str
    statement: str
    why: str

    def planted(self, root: Path) -> str:
        """The module with the mistake in it."""
        source = (root / self.file).read_text()
        if source.count(self.before) != 1:
            told = f"stands {source.count(self.before)} times"
            raise ValueError(
                f"{LIST.name}, {self.statement}: {self.before!r} {told} in {self.file}"
            )
        return source.replace(self.before, self.after)


def read(path: Path = LIST) -> list[Mistake]:
    return [Mistake(**entry) for entry in tomllib.loads(path.read_text())["mistake"]]


def go(run: Run, only: list[str]) -> int:
    """Try them, several at a time; 1 if the claim of one of them stays green."""
    asked = [one for one in read() if not only or one.claim in only]

    def do(one: Mistake) -> int:
        module = ".".join(Path(one.file).with_suffix("").parts)
        changed = children.Changed(module, one.planted(run.root))
        return 0 if children.run([one.claim, "-x"], changed=changed).code == 1 else 1

    green = 0
    for one, code in run.parallel(asked, do):
        green += code
        say(f"{'not seen' if code else 'seen    '} {Path(one.claim).parent.name} {one.statement}: "
            f"{one.before}  ->  {one.after}")  # fmt: skip
    say(f"{len(asked) - green} of {len(asked)} mistakes are seen by the claim that they concern")
    return int(green > 0)
