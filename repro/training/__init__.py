"""Trainings: what is trained (spec), how (loop), and where the finished ones are kept (store).

A spec is a frozen dataclass; a train function turns it into an outcome; the store calls that
function only if no sound entry of the same key is there. Importing this package does not import
torch: loop and stack, which need it, are loaded when one of their names is first asked for.
"""

from typing import TYPE_CHECKING, Any

from repro.training.outcome import Outcome
from repro.training.recipes import SGD, Adam, Constant, Cosine, Muon, OneCycle, Trapezoid
from repro.training.spec import Spec, key
from repro.training.store import Busy, NotComputed, Store, Stored
from repro.training.workspace import Checkpoint, Workspace

if TYPE_CHECKING:
    from repro.training.loop import Diverged, fit, generator_at
    from repro.training.stack import Stack

__all__ = [
    "SGD", "Adam", "Busy", "Checkpoint", "Constant", "Cosine", "Diverged", "Muon", "NotComputed",
    "OneCycle", "Outcome", "Spec", "Stack", "Store", "Stored", "Trapezoid", "Workspace",
    "fit", "generator_at", "key",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in __all__:
        from repro.training import loop, stack

        return getattr(stack if name == "Stack" else loop, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
