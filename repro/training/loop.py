"""The loop for one model: step, watch, save.

On a CPU, with the same number of threads, a resumed run gives the same bits as an uninterrupted
one. It can, because everything a step depends on is either saved (parameters and buffers, the
optimiser's state, generators handed to `fit`) or a function of the step alone (the schedule, and
the batch, if the caller draws it from `generator_at(seed, step)`).
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from repro.training.recipes import Constant, Optimizer, Pace, Schedule
from repro.training.workspace import Checkpoint, Workspace

M = TypeVar("M", bound=nn.Module)
Curves = dict[str, list[float]]


class Diverged(ArithmeticError):
    """The loss is not a number any more, or has grown beyond what was allowed."""

    def __init__(self, step: int, value: float, message: str) -> None:
        super().__init__(f"diverged at step {step}: {message}")
        self.step = step
        self.value = value


def generator_at(seed: int, step: int, device: str = "cpu") -> torch.Generator:
    """The generator of one step.

    Hashed, because torch's CPU generator uses only the lower 32 bits of its seed: in a seed made
    as `seed << 32 | step` the first would not count.
    """
    digest = hashlib.sha256(f"{seed}:{step}".encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:4]))


def fit(
    model: M,
    loss: Callable[[M, int], Tensor],
    *,
    steps: int,
    optimizer: Optimizer,
    schedule: Schedule = Constant(),  # noqa: B008  (frozen)
    workspace: Workspace | None = None,
    clip: float | None = None,
    every: int = 1,
    diverges_at: float = math.inf,
    generators: Sequence[torch.Generator] = (),
) -> Curves:
    """Train `model` in place on `loss(model, step)`; returns the curves "step" and "loss".

    Every `every` steps, and at the last, the loss is looked at: it goes on the curve, must be
    finite and below `diverges_at` times the first (else Diverged), progress is reported, and a
    checkpoint is written if the workspace says it is due. `clip` bounds the norm of the gradient.
    """
    workspace = workspace or Workspace()
    parameters = [p for p in model.parameters() if p.requires_grad]
    engine = optimizer.build(parameters)
    rates = [group["lr"] for group in engine.param_groups]
    done, curves = _restore(workspace.resume(), model, engine, generators)
    for step in range(done, steps):
        look = step % every == 0 or step == steps - 1
        _set_pace(engine, rates, schedule.pace(step, steps))
        engine.zero_grad()
        value = loss(model, step)
        if look:
            _watch(curves, step, value.item(), diverges_at)
        value.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(parameters, clip)
        engine.step()
        if look:
            workspace.progress(step + 1, steps, loss=curves["loss"][-1])
            if workspace.due():
                state = _state(model, engine, generators)
                workspace.checkpoint(step + 1, steps, state, curves=curves)
    if not all(p.isfinite().all() for p in parameters):
        raise Diverged(steps, math.nan, "the last update left parameters that are not finite")
    return curves


def _set_pace(engine: torch.optim.Optimizer, rates: list[float], pace: Pace) -> None:
    for group, rate in zip(engine.param_groups, rates, strict=True):
        group["lr"] = rate * pace.factor
        if pace.momentum is not None and "betas" in group:
            group["betas"] = (pace.momentum, group["betas"][1])
        elif pace.momentum is not None:
            group["momentum"] = pace.momentum


def _watch(curves: Curves, step: int, value: float, diverges_at: float) -> None:
    """Put the loss on the curve, or raise Diverged."""
    if not math.isfinite(value):
        raise Diverged(step, value, f"the loss is {value}")
    curves["step"].append(float(step))
    curves["loss"].append(value)
    first = curves["loss"][0]
    if value > diverges_at * first:  # inf * 0 is nan, and nothing exceeds it
        raise Diverged(
            step, value, f"the loss {value:.4g} exceeds {diverges_at:g} x {first:.4g}, the first"
        )


def _state(
    model: nn.Module, engine: torch.optim.Optimizer, generators: Sequence[torch.Generator]
) -> dict[str, Tensor]:
    """What the next step depends on: model.<name>, optimizer.<parameter>.<name>, generator.<i>."""
    state = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for index, memory in engine.state_dict()["state"].items():
        state |= {f"optimizer.{index}.{name}": tensor for name, tensor in memory.items()}
    return state | {f"generator.{i}": g.get_state() for i, g in enumerate(generators)}


def _restore(
    checkpoint: Checkpoint | None,
    model: nn.Module,
    engine: torch.optim.Optimizer,
    generators: Sequence[torch.Generator],
) -> tuple[int, Curves]:
    """Undo `_state`; the number of steps done, and the curves so far."""
    if checkpoint is None:
        return 0, {"step": [], "loss": []}
    parts: dict[str, dict[str, Tensor]] = defaultdict(dict)
    for name, tensor in checkpoint.tensors.items():
        part, _, rest = name.partition(".")
        parts[part][rest] = tensor
    model.load_state_dict(parts["model"])
    memory: dict[int, dict[str, Any]] = defaultdict(dict)
    for name, tensor in parts["optimizer"].items():
        index, _, rest = name.partition(".")
        memory[int(index)][rest] = tensor
    engine.load_state_dict(
        {"state": dict(memory), "param_groups": engine.state_dict()["param_groups"]}
    )
    for number, generator in enumerate(generators):
        generator.set_state(parts["generator"][str(number)])
    return checkpoint.step, checkpoint.curves
