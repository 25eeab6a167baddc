"""The loop for one model, or for a stack of models that share their steps: step, watch, save.

On a CPU, with the same number of threads, a resumed run gives the same bits as an uninterrupted
one. It can, because everything a step depends on is either saved (parameters and buffers, the
optimiser's state) or a function of the step alone: the schedule, and all that is drawn at random,
if the caller draws it from `generator_at(seed, step)`.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from repro.training.recipes import Constant, Optimizer, Pace, Schedule
from repro.training.stack import members
from repro.training.workspace import Checkpoint, Workspace

M = TypeVar("M", bound=nn.Module)
Curves = dict[str, list[float]]
Engines = list[torch.optim.Optimizer]


class Diverged(ArithmeticError):
    """The loss is not a number any more, or has grown beyond what was allowed."""

    def __init__(self, step: int, message: str) -> None:
        super().__init__(f"diverged at step {step}: {message}")


def generator_at(seed: int, step: int) -> torch.Generator:
    """The generator of one step.

    Hashed, because torch's CPU generator uses only the lower 32 bits of its seed: in a seed made
    as `seed << 32 | step` the first would not count.
    """
    digest = hashlib.sha256(f"{seed}:{step}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4]))


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
    diverges_at: float = 1e6,
) -> Curves:
    """Train `model` in place on `loss(model, step)`; returns the curves "step" and "loss".

    Every `every` steps, and at the last, the loss is looked at: it goes on the curve, must be
    finite and below `diverges_at` times the first (else Diverged), progress is reported, and a
    checkpoint is written if the workspace says it is due. `clip` bounds the norm of the gradient.

    A Stack has a loss for each member, a vector, and curves "loss 0", "loss 1" and so on. Members
    do not touch each other: each has its own gradient, and is clipped by its own norm.
    """
    workspace = workspace or Workspace()
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    engines = optimizer.build(named)
    checkpoint = workspace.resume()
    done, curves = _restore(checkpoint, model, engines) if checkpoint else (0, {})
    groups = [group for engine in engines for group in engine.param_groups]
    rates = [group["lr"] for group in groups]
    for step in range(done, steps):
        look = step % every == 0 or step == steps - 1
        _set_pace(groups, rates, schedule.pace(step, steps))
        for engine in engines:
            engine.zero_grad()
        value = loss(model, step)
        if look:
            _watch(curves, step, value.tolist(), diverges_at)
        value.sum().backward()
        if clip is not None:
            for member in members(model):
                nn.utils.clip_grad_norm_((p for p in member.parameters() if p.requires_grad), clip)
        for engine in engines:
            engine.step()
        if look:
            workspace.progress(step + 1, steps, loss=value.mean().item())
            if workspace.due():
                workspace.checkpoint(step + 1, steps, _state(model, engines), curves=curves)
    if not all(p.isfinite().all() for p in named.values()):
        raise Diverged(steps, "the last update left parameters that are not finite")
    return curves


def _set_pace(groups: list[dict[str, Any]], rates: list[float], pace: Pace) -> None:
    for group, rate in zip(groups, rates, strict=True):
        group["lr"] = rate * pace.factor
        if pace.momentum is not None and "betas" in group:
            group["betas"] = (pace.momentum, group["betas"][1])
        elif pace.momentum is not None:
            group["momentum"] = pace.momentum


def _watch(curves: Curves, step: int, values: float | list[float], diverges_at: float) -> None:
    """Put the losses on their curves, or raise Diverged."""
    several = isinstance(values, list)
    named = {f"loss {i}": v for i, v in enumerate(values)} if several else {"loss": values}
    curves.setdefault("step", []).append(float(step))
    for name, value in named.items():
        if not math.isfinite(value):
            raise Diverged(step, f"the {name} is {value}")
        curve = curves.setdefault(name, [])
        curve.append(value)
        if curve[0] and value > diverges_at * curve[0]:
            beyond = f"exceeds {diverges_at:g} x {curve[0]:.4g}, the first"
            raise Diverged(step, f"the {name} {value:.4g} {beyond}")


def _state(model: nn.Module, engines: Engines) -> dict[str, Tensor]:
    """What the next step depends on: model.<name>, optimizer.<engine>.<parameter>.<name>."""
    state = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for number, engine in enumerate(engines):
        for index, memory in engine.state_dict()["state"].items():
            place = f"optimizer.{number}.{index}"
            state |= {f"{place}.{name}": tensor for name, tensor in memory.items()}
    return state


def _restore(checkpoint: Checkpoint, model: nn.Module, engines: Engines) -> tuple[int, Curves]:
    """Undo `_state`; the number of steps done, and the curves so far."""
    weights: dict[str, Tensor] = {}
    memories: list[dict[int, dict[str, Tensor]]] = [defaultdict(dict) for _ in engines]
    for place, tensor in checkpoint.tensors.items():
        part, rest = place.split(".", 1)
        if part == "model":
            weights[rest] = tensor
        else:
            number, index, name = rest.split(".", 2)
            memories[int(number)][int(index)][name] = tensor
    model.load_state_dict(weights)
    for engine, memory in zip(engines, memories, strict=True):
        groups = engine.state_dict()["param_groups"]
        engine.load_state_dict({"state": dict(memory), "param_groups": groups})
    return checkpoint.step, checkpoint.curves
