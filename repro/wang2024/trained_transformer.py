"""Sections 4 and 5, trained: does gradient descent find what the proofs write down?

The weights of a Transformer of the shared model are fitted to a target by the mean square error
over random windows. It starts at random, or at the construction of the proof, with or without
noise.

- From a random start every weight moves freely, but p = e^theta keeps slopes of the RPE positive.
- From the construction weight w becomes w e^{u/A} and u moves: zeros stay zeros. A is the total
  weight of the heads. They cancel, so that a relative change of 1/A in each moves the output by up
  to 1: steps in u, and noise, are measured by what they do.
- At random starts the feed-forward layers do not round: (15) has no gradient. A start at the
  construction keeps it, so that its pointers stay what they are and heads and readout move.
- With softmax the normaliser depends on the position, and the constructions are meant for the last
  one: only this is trained and judged. Without, all positions are that the window determines.
- `attention_only` freezes the readout at the last coordinate of the token: the class of
  Proposition 5.2, which has no feed-forward network.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from repro.numerics.exact import rationals
from repro.numerics.l1 import indicator
from repro.training import Adam, Cosine, Outcome, Spec, Workspace
from repro.training.loop import fit, generator_at
from repro.wang2024 import adaptive, fixed, moving, targets
from repro.wang2024.heads import fit as fit_heads
from repro.wang2024.model import Attention, FeedForward, Head, Layer, Transformer

TARGETS = {one.name: one for one in vars(targets).values() if isinstance(one, targets.Target)}
JUDGED = 512  # windows


@dataclass(frozen=True)
class FitTransformer(Spec):
    kind: ClassVar[str] = "wang2024-transformer"
    version: ClassVar[int] = 1

    target: str
    rpe: str
    layers: int
    heads: int
    steps: int
    seed: int
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
    """All weights as parameters: themselves, but log p for p; or, if A is given, by u."""

    def __init__(self, start: Transformer, A: float | None = None) -> None:
        super().__init__()
        self.start, self.A = start, A
        free: list[nn.Parameter] = []
        start.map(lambda weight: free.append(nn.Parameter(self._free(weight))) or weight)
        self.weights = nn.ParameterList(free)

    def freeze_readout(self) -> None:
        for weight in list(self.weights)[-3:]:  # a, b, c of the last layer
            weight.requires_grad_(False)

    def network(self) -> Transformer:
        weights: Iterator[Tensor] = iter(self.weights)
        return self.start.map(lambda weight: self._bound(weight, next(weights)))

    def _free(self, weight: Tensor) -> Tensor:
        if self.A is not None:
            return torch.zeros_like(weight)
        return weight.log() if weight.ndim == 0 else weight.clone()

    def _bound(self, weight: Tensor, free: Tensor) -> Tensor:
        if self.A is not None:
            return weight * (free / self.A).exp()
        return free.exp() if weight.ndim == 0 else free


def train(spec: FitTransformer, workspace: Workspace) -> Outcome:
    target, device = TARGETS[spec.target], workspace.device
    start, A = beginning(spec)
    model = Trainable(start.to(torch.float64, device), A)
    if spec.attention_only:
        model.freeze_readout()
    judged = target.draw(JUDGED, spec.length, np.random.default_rng(spec.seed))
    before = _judge(model.network(), target, judged)
    curves = fit(
        model,
        lambda model, step: _errors(model.network(), target, _windows(spec, step)).square().mean(),
        steps=spec.steps,
        optimizer=Adam(lr=spec.lr),
        schedule=Cosine(),
        workspace=workspace,
        every=50,
        clip=1.0,
    )
    after = _judge(model.network(), target, judged)
    numbers = {f"{name} at the start": value for name, value in before.items()} | after
    return Outcome(numbers, curves, dict(model.state_dict()))


def network(spec: FitTransformer, outcome: Outcome) -> Transformer:
    """The trained network."""
    model = Trainable(*beginning(spec))
    model.load_state_dict(outcome.tensors)
    return model.network().map(Tensor.detach)


def _windows(spec: FitTransformer, step: int) -> np.ndarray:
    seed = generator_at(spec.seed, step).initial_seed()
    return TARGETS[spec.target].draw(spec.batch, spec.length, np.random.default_rng(seed))


def _errors(network: Transformer, target: targets.Target, tokens: np.ndarray) -> Tensor:
    """Output minus target, at the last position after a softmax and else at all that count."""
    device = network.W_E.device
    outputs = network(torch.from_numpy(tokens).to(device))[..., 0]
    positions = 1 if network.layers[-1].attention.normalised else tokens.shape[-2] - target.reach
    wanted = torch.from_numpy(target(tokens)).to(device)
    return outputs[..., -positions:] - wanted[..., -positions:]


@torch.no_grad()
def _judge(network: Transformer, target: targets.Target, tokens: np.ndarray) -> dict[str, float]:
    errors = _errors(network, target, tokens)
    return {
        "mean square error": errors.square().mean().item(),
        "largest error": errors.abs().max().item(),
    }


# --- where it begins -----------------------------------------------------------------------------


def beginning(spec: FitTransformer) -> tuple[Transformer, float | None]:
    """The network before training, and A if it is a construction."""
    if spec.target not in TARGETS:
        raise ValueError(f"no target {spec.target!r}: there are {', '.join(TARGETS)}")
    if spec.start == "random":
        return _random(spec), None
    if spec.start != "construction":
        raise ValueError(f"training starts at random or at the construction, got {spec.start!r}")
    built, A = (_one_layer if spec.layers == 1 else _layers)(spec)
    return _disturbed(built.to(torch.float64), spec, A), A


def _random(spec: FitTransformer) -> Transformer:
    """Small enough that three layers without normalisation stay finite; slopes around 1."""
    target, draw = TARGETS[spec.target], generator_at(spec.seed, -1)
    D = adaptive.Layout(target.M, target.d).D

    def normal(*shape: int, size: float = 1.0) -> Tensor:
        return size * torch.randn(shape, generator=draw, dtype=torch.float64)

    def head() -> Head:
        small = 0.5 * D**-0.5
        names = ("W_Q", "W_K") if spec.dot_product else ()
        pair = {name: normal(1, D, size=small) for name in names}
        return Head(
            normal(D, D, size=0.5 * (D * spec.heads) ** -0.5), normal(size=0.5).exp(), **pair
        )

    def layer(last: bool) -> Layer:
        heads, m = tuple(head() for _ in range(spec.heads)), spec.width
        attention = Attention(heads, torch.eye(D, dtype=torch.float64), spec.rpe, spec.normalised)
        a = normal(1 if last else D, m, size=0.5 * m**-0.5)
        return Layer(attention, FeedForward(a, normal(m, D, size=D**-0.5), normal(m)))

    layers = [layer(number == spec.layers) for number in range(1, spec.layers + 1)]
    if spec.attention_only:
        layers[-1] = Layer(layers[-1].attention, _last_coordinate(D))
    return Transformer(normal(D, target.d, size=0.5), normal(D, size=0.5), layers)


def _last_coordinate(D: int) -> FeedForward:
    """x_D = relu(x_D) - relu(-x_D)."""
    b = torch.zeros(2, D, dtype=torch.float64)
    b[:, -1] = torch.tensor([1.0, -1.0])
    return FeedForward(torch.tensor([[1.0, -1.0]], dtype=b.dtype), b, torch.zeros_like(b[:, 0]))


def _one_layer(spec: FitTransformer) -> tuple[Transformer, float]:
    """The network of Theorem 4.1, all heads shared."""
    target, exponents = TARGETS[spec.target], moving.usual_exponents(spec.rpe, spec.heads)
    fits = [fit_heads(spec.rpe, indicator(T), exponents, spec.length) for T in target.distances]
    sums = fixed.normalisers(spec.rpe, exponents, spec.length).astype(float)
    alphas = rationals(np.stack([one.values / sums for one in fits], axis=1))
    built = fixed.transformer(target, spec.rpe, exponents, alphas, length=spec.length)
    return built, max(1.0, *(one.weight for one in fits))


def _layers(spec: FitTransformer) -> tuple[Transformer, float]:
    """The network of Theorems 5.1 and 5.4."""
    target = TARGETS[spec.target]
    stages = adaptive.nested(target)
    if spec.layers != len(stages) + 1:
        raise ValueError(f"{target.name} is built with {len(stages) + 1} layers, not {spec.layers}")
    heads = [moving.fitted(spec.rpe, T, spec.heads) for T in target.distances]
    return adaptive.transformer(target, heads, stages), max(one.weight for one in heads)


def _disturbed(network: Transformer, spec: FitTransformer, A: float) -> Transformer:
    """Every weight times e^{noise / A times a normal number}."""
    draw = generator_at(spec.seed, -1)

    def disturb(weight: Tensor) -> Tensor:
        normal = torch.randn(weight.shape, generator=draw, dtype=weight.dtype)
        return weight * (spec.noise / A * normal).exp()

    return network.map(disturb)
