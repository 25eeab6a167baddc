"""Sections 4 and 5, trained: does gradient descent find what the proofs write down?

A Transformer is fitted to a target by the mean square error over random windows. It starts at
random, or at the construction of the proof, with or without noise. A training has several runs,
each with a start and windows of its own, stacked into one loop.

- From a random start the weights are free, with log p for p, which keeps the slopes positive.
  The feed-forward layers do not round: (15) has no gradient.
- From the construction weight w becomes w e^{u/A} and u moves: zeros stay zeros. A is the total
  weight of the heads. They cancel, so that a relative change of 1/A in each moves the output by up
  to 1: steps in u, and noise, are measured by what they do. (15) keeps the pointers what they are.
- With softmax the normaliser depends on the position, and the constructions are meant for the last
  one: only this is trained and judged. Without, all positions are that the window determines.
- `attention_only` freezes the readout at the last coordinate of the token: Proposition 5.2 has no
  feed-forward network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor, nn

from repro.numerics.exact import rationals
from repro.numerics.l1 import indicator
from repro.training import Adam, Cosine, Outcome, Spec, Stack, Workspace
from repro.training.loop import fit, generator_at
from repro.wang2024 import adaptive, fixed, moving, targets
from repro.wang2024.heads import fit as fit_heads
from repro.wang2024.model import Attention, FeedForward, Head, Layer, Transformer

TARGETS = targets.by_name()
JUDGED = 512  # windows


@dataclass(frozen=True)
class FitTransformer(Spec):
    kind: ClassVar[str] = "wang2024-transformer"
    version: ClassVar[int] = 3

    target: str
    rpe: str
    layers: int
    heads: int
    steps: int
    seed: int
    runs: int
    width: int = 16
    dot_product: bool = True
    normalised: bool = False
    attention_only: bool = False
    start: str = "random"
    noise: float = 0.0
    length: int = 24
    batch: int = 64
    lr: float = 5e-3


class Trainable(nn.Module):
    """One run: all weights in one vector, as they are, but log p for p; or, if A is given, by u."""

    def __init__(self, start: Transformer, free: Sequence[Tensor], A: float | None = None) -> None:
        """`free` goes with the first weights of `start`; those that it has none for are fixed."""
        super().__init__()
        self.start, self.A, self.sizes = start, A, [part.numel() for part in free]
        self.free = nn.Parameter(torch.cat([part.flatten() for part in free]))

    def forward(self, tokens: Tensor) -> Tensor:  # (..., n, d) -> (..., n - first)
        *_, outputs = self.network(checked=False).states(tokens)
        return outputs[..., 0]

    def network(self, *, checked: bool = True) -> Transformer:
        parts = iter(self.free.split(self.sizes))
        return self.start.map(lambda w: self._bound(w, next(parts, None)), checked=checked)

    def _bound(self, weight: Tensor, free: Tensor | None) -> Tensor:
        if free is None:
            return weight
        free = free.view(weight.shape)
        if self.A is not None:
            return weight * (free / self.A).exp()
        return free.exp() if weight.ndim == 0 else free


def weights(network: Transformer) -> list[Tensor]:
    """All of them, in the order of `map`."""
    found: list[Tensor] = []
    network.map(lambda weight: found.append(weight) or weight, checked=False)
    return found


def train(spec: FitTransformer, workspace: Workspace) -> Outcome:
    """Numbers are lists, one for each run."""
    target = TARGETS[spec.target]
    stack = Stack(beginning(spec, workspace.device))
    judged = target.draw(JUDGED, spec.length, np.random.default_rng(spec.seed))
    before = _judge(spec, stack, judged)

    def loss(stack: Stack, step: int) -> Tensor:
        windows = _windows(spec, step)
        outputs = _outputs(spec, stack, torch.from_numpy(windows).to(workspace.device))
        return _errors(spec, outputs, windows).square().mean((1, 2))

    curves = fit(
        stack,
        loss,
        steps=spec.steps,
        optimizer=Adam(lr=spec.lr),
        schedule=Cosine(),
        workspace=workspace,
        every=50,
        clip=1.0,
    )
    numbers = {f"{name} at the start": values for name, values in before.items()}
    return Outcome(numbers | _judge(spec, stack, judged), curves, dict(stack.state_dict()))


def networks(spec: FitTransformer, outcome: Outcome) -> list[Transformer]:
    """The trained networks, one for each run."""
    stack = Stack(beginning(spec))
    stack.load_state_dict(outcome.tensors)
    return _networks(stack)


class Compared(NamedTuple):
    """What can be said of all runs of a training."""

    worst: float  # mean square error of the worst run
    over_built: float  # the least largest error of a run over that of the construction
    left: float  # the worst mean square error over the median one before training


def compared(numbers: Mapping[str, Sequence[float]], built: float) -> Compared:
    worst = max(numbers["mean square error"])
    left = worst / float(np.median(numbers["mean square error at the start"]))
    return Compared(worst, min(numbers["largest error"]) / built, left)


def _networks(stack: Stack) -> list[Transformer]:
    runs = (run for run in stack.models if isinstance(run, Trainable))
    return [run.network().map(Tensor.detach) for run in runs]


def _windows(spec: FitTransformer, step: int) -> np.ndarray:  # (runs, batch, n, d)
    target, count = TARGETS[spec.target], spec.runs * spec.batch
    rng = np.random.default_rng(generator_at(spec.seed, step).initial_seed())
    return target.draw(count, spec.length, rng).reshape(spec.runs, spec.batch, spec.length, -1)


def _outputs(spec: FitTransformer, stack: Stack, tokens: Tensor) -> Tensor:
    """(runs, batch, n); (15) for log looks at what it rounds, and a stack cannot be looked at."""
    if spec.start == "random" or spec.layers == 1 or spec.rpe == "lin":
        return stack(tokens)
    return torch.stack([run(x) for run, x in zip(stack.models, tokens, strict=True)])


def _errors(spec: FitTransformer, outputs: Tensor, tokens: np.ndarray) -> Tensor:
    """Output minus target, at the last position after a softmax and else at all that count."""
    target = TARGETS[spec.target]
    positions = 1 if spec.normalised else spec.length - target.reach
    wanted = torch.from_numpy(target(tokens)).to(outputs.device)
    return outputs[..., -positions:] - wanted[..., -positions:]


@torch.no_grad()
def _judge(spec: FitTransformer, stack: Stack, tokens: np.ndarray) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"mean square error": [], "largest error": []}
    for network in _networks(stack):
        outputs = network(torch.from_numpy(tokens).to(network.W_E.device))[..., 0]
        errors = _errors(spec, outputs, tokens)
        found["mean square error"].append(errors.square().mean().item())
        found["largest error"].append(errors.abs().max().item())
    return found


def beginning(spec: FitTransformer, device: str = "cpu") -> list[Trainable]:
    """The runs before training."""
    draw = generator_at(spec.seed, -1)
    if spec.start == "random":
        runs = [_random(spec, draw).to(torch.float64, device) for _ in range(spec.runs)]
        free = [[w.log() if w.ndim == 0 else w for w in weights(run)] for run in runs]
        fixed_ones = -3 if spec.attention_only else None  # the last a, b, c
        return [Trainable(run, w[:fixed_ones]) for run, w in zip(runs, free, strict=True)]
    built, A = (_one_layer if spec.layers == 1 else _layers)(spec)
    if built.layers[-1].attention.normalised != spec.normalised:
        raise ValueError("Theorem 4.1 is built with a softmax, 5.1 and 5.4 are built without")
    start = built.to(torch.float64, device)

    def disturbed() -> list[Tensor]:
        noise = (torch.randn(w.shape, generator=draw, dtype=w.dtype) for w in weights(start))
        return [spec.noise * one.to(device) for one in noise]

    return [Trainable(start, disturbed(), A) for _ in range(spec.runs)]


def _random(spec: FitTransformer, draw: Generator) -> Transformer:
    """Small enough that three layers without normalisation stay finite; slopes around 1."""
    target = TARGETS[spec.target]
    D = adaptive.Layout(target.M, target.d).D

    def normal(*shape: int, size: float = 1.0) -> Tensor:
        return size * torch.randn(shape, generator=draw, dtype=torch.float64)

    def head() -> Head:
        names = ("W_Q", "W_K") if spec.dot_product else ()
        pair = {name: normal(1, D, size=0.5 * D**-0.5) for name in names}
        W_V = normal(D, D, size=0.5 * (D * spec.heads) ** -0.5)
        return Head(W_V, normal(size=0.5).exp(), **pair)

    def layer(last: bool) -> Layer:
        heads, m = tuple(head() for _ in range(spec.heads)), spec.width
        attention = Attention(heads, torch.eye(D, dtype=torch.float64), spec.rpe, spec.normalised)
        a = normal(1 if last else D, m, size=0.5 * m**-0.5)
        return Layer(attention, FeedForward(a, normal(m, D, size=D**-0.5), normal(m)))

    layers = [layer(number == spec.layers) for number in range(1, spec.layers + 1)]
    if spec.attention_only:  # x_D = relu(x_D) - relu(-x_D)
        end = [0] * (D - 1)
        reads = fixed.scalar_readout(targets.neurons((1, [*end, 1], 0), (-1, [*end, -1], 0)))
        layers[-1] = Layer(layers[-1].attention, reads.to(torch.float64))
    return Transformer(normal(D, target.d, size=0.5), normal(D, size=0.5), layers)


def _one_layer(spec: FitTransformer) -> tuple[Transformer, float]:
    """The network of Theorem 4.1, all heads shared."""
    target, exponents = TARGETS[spec.target], moving.usual_exponents(spec.rpe, spec.heads)
    fits = [fit_heads(spec.rpe, indicator(T), exponents, spec.length) for T in target.distances]
    sums = fixed.normalisers(spec.rpe, exponents, spec.length).astype(float)
    alphas = rationals(np.stack([one.values / sums for one in fits], axis=1))
    built = fixed.transformer(target, spec.rpe, exponents, alphas, length=spec.length)
    return built, max(1.0, *(one.weight for one in fits))  # setting: at least 1


def _layers(spec: FitTransformer) -> tuple[Transformer, float]:
    """The network of Theorems 5.1 and 5.4."""
    target = TARGETS[spec.target]
    stages = adaptive.nested(target)
    if spec.layers != len(stages) + 1:
        raise ValueError(f"{target.name} is built with {len(stages) + 1} layers, not {spec.layers}")
    heads = [moving.fitted(spec.rpe, T, spec.heads) for T in target.distances]
    return adaptive.transformer(target, heads, stages), max(one.weight for one in heads)
