"""Trainings: what is trained (spec), how (loop), and where the finished ones are kept (store).

A spec is a frozen dataclass; a train function turns it into an outcome; the store calls that
function only if no sound entry of the same key is there. Knows no paper and no pytest.

Listing claims imports this package, so it must not import torch: the loop, which needs it, is
loaded when one of its names is first asked for.
"""

from typing import TYPE_CHECKING, Any

from repro.training.outcome import Outcome
from repro.training.recipes import SGD, Adam, Constant, Cosine, OneCycle
from repro.training.spec import Spec, canonical, key
from repro.training.store import NotComputed, Store, Stored
from repro.training.workspace import Checkpoint, Workspace

if TYPE_CHECKING:
    from repro.training.loop import Diverged, fit, generator_at

__all__ = [
    "SGD",
    "Adam",
    "Checkpoint",
    "Constant",
    "Cosine",
    "Diverged",
    "NotComputed",
    "OneCycle",
    "Outcome",
    "Spec",
    "Store",
    "Stored",
    "Workspace",
    "canonical",
    "fit",
    "generator_at",
    "key",
]


def __getattr__(name: str) -> Any:
    if name in {"Diverged", "fit", "generator_at"}:
        from repro.training import loop

        return getattr(loop, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
