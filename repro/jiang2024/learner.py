"""(5) with trainable weights, and one training for all tasks: Figures 1, 4, 5, 6, Tables 2, 3.

f^, of "width 128 and depth 3", is `Dense`, depth hidden layers of that width and an affine one; F^
is another, d_v -> outputs. Dense, W_Q, W_K and W_V have the "PyTorch default initialization", W_Q
and W_K times `sharpen`. "Adam" is Recipe.printed; ours, which is faster, is Recipe.ours.

The paper names no activation. SiLU is smooth, like the targets. A first layer of sines of given
frequencies learns waves that SiLU does not find in the steps of Figure 1 (claim on Figure 1).
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from repro.jiang2024.model import Transformer
from repro.training import SGD, Adam, Constant, Cosine, Muon, Outcome, Spec, Trapezoid, Workspace
from repro.training.loop import fit, generator_at

JUDGED = 2000  # fresh sequences, on which a trained network is judged
M = TypeVar("M")
# Sequences and what is wanted of them, a frozen dataclass with the sizes `inputs` and `outputs`:
# draw(generator, count) gives tokens (count, tau, inputs), wanted(tokens) (count, tau, outputs).
Task = Any


@dataclass(frozen=True)
class Dense:
    """A feed-forward network of `depth` hidden layers; `sines` is the frequency of the first."""

    width: int = 128
    depth: int = 3
    sines: float | None = None

    def build(self, inputs: int, outputs: int) -> nn.Sequential:
        network = nn.Sequential()
        sizes = [inputs, *[self.width] * self.depth]
        for number, (a, b) in enumerate(itertools.pairwise(sizes)):
            sine = number == 0 and self.sines is not None
            network.add_module(f"hidden_{number}" if number else "first", nn.Linear(a, b))
            network.add_module(f"bend_{number}", Sine(self.sines or 0.0) if sine else nn.SiLU())
        network.add_module("last", nn.Linear(sizes[-1], outputs))
        return network


class Sine(nn.Module):
    def __init__(self, frequency: float) -> None:
        super().__init__()
        self.frequency = frequency

    def forward(self, x: Tensor) -> Tensor:
        return (self.frequency * x).sin()


@dataclass(frozen=True)
class Shape:
    """The sizes in (5). The first m_h x n matrices are made `sharpen` times larger."""

    m_h: int = 32
    n: int = 32
    d_v: int = 32
    f: Dense = Dense()
    F: Dense = Dense()
    sharpen: float = 1.0


@dataclass(frozen=True)
class Recipe:
    optimizer: Adam | Muon | SGD
    schedule: Constant | Cosine | Trapezoid
    steps: int
    batch: int

    @classmethod
    def ours(
        cls,
        steps: int,
        batch: int = 64,
        lr: float = 0.01,
        rest: float = 2e-3,
        apart: tuple[str, ...] = ("first", "F"),
    ) -> "Recipe":
        """Muon for f^ and W_Q, W_K, W_V, Adam for F^ and first layers (Figure 5: Muon for F^)."""
        return cls(Muon(lr, Adam(rest), apart=apart), Trapezoid(), steps, batch)

    @classmethod
    def printed(cls, steps: int, batch: int = 64) -> "Recipe":
        """ "Adam", nothing else: at torch's rate."""
        return cls(Adam(1e-3), Constant(), steps, batch)


@dataclass(frozen=True)
class FitAttention(Spec):
    kind: ClassVar[str] = "jiang2024-attention"
    version: ClassVar[int] = 1

    task: Task
    shape: Shape
    recipe: Recipe
    seed: int


class Learner(nn.Module):
    """The weights of (5)."""

    def __init__(self, task: Task, shape: Shape) -> None:
        super().__init__()
        self.f = shape.f.build(task.inputs, shape.n)
        self.F = shape.F.build(shape.d_v, task.outputs)
        queries = keys = (shape.m_h, shape.sharpen)
        self.W_Q, self.W_K, self.W_V = (
            nn.Parameter(nn.Linear(shape.n, rows, bias=False).weight.detach() * scale)
            for rows, scale in (queries, keys, (shape.d_v, 1.0))
        )

    def transformer(self) -> Transformer:
        return Transformer(self.f, self.W_Q, self.W_K, self.W_V, self.F)

    def forward(self, tokens: Tensor) -> Tensor:  # (count, tau, outputs)
        return self.transformer()(tokens)


def drawn(seed: int, build: Callable[[], M]) -> M:
    """What `build` makes with the first weights of this seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator_at(seed, -1).initial_seed())
        return build()


def fitted(
    model: Any, loss: Callable[[Any, int], Tensor], recipe: Any, workspace: Workspace, **others: Any
) -> dict[str, list[float]]:
    """Train as every recipe here is meant: clipped at norm 1, looked at every 20 steps."""
    chosen = {name: getattr(recipe, name) for name in ("steps", "optimizer", "schedule")}
    return fit(model, loss, **chosen, workspace=workspace, every=20, clip=1.0, **others)


def untrained(spec: FitAttention) -> Learner:
    """The network before training: the twin that controls compare with."""
    return drawn(spec.seed, lambda: Learner(spec.task, spec.shape))


def train(spec: FitAttention, workspace: Workspace) -> Outcome:
    return improve(untrained(spec), spec, workspace)


def improve(
    model: Learner, spec: FitAttention, workspace: Workspace, *, diverges_at: float = 1e3
) -> Outcome:
    """Train from where the model is, and judge it."""
    model = model.to(workspace.device)

    def loss(model: Learner, step: int) -> Tensor:
        tokens, wanted = batch(spec, step, spec.recipe.batch)
        return (model(tokens.to(workspace.device)) - wanted.to(workspace.device)).square().mean()

    curves = fitted(model, loss, spec.recipe, workspace, diverges_at=diverges_at)
    tokens, wanted = batch(spec, -2, JUDGED)
    with torch.no_grad():
        errors = model.cpu()(tokens) - wanted
    numbers = {**sizes(errors), "variance": wanted.var(dim=0).mean().item()}
    return Outcome(numbers, curves, dict(model.state_dict()))


def sizes(errors: Tensor) -> dict[str, float]:
    square, absolute = errors.square().mean().item(), errors.abs().mean().item()
    return {"mean square error": square, "mean absolute error": absolute}


def trained(spec: FitAttention, outcome: Outcome) -> Learner:
    model = Learner(spec.task, spec.shape)
    model.load_state_dict(outcome.tensors)
    return model.requires_grad_(False)


def batch(spec: FitAttention, step: int, count: int) -> tuple[Tensor, Tensor]:
    """The sequences of one step, in float32, and what is wanted (computed in double precision)."""
    tokens = spec.task.draw(generator_at(spec.seed, step), count).double()
    return tokens.float(), spec.task.wanted(tokens).float()
