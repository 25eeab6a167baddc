"""Table 1, ENG-DE: a translator trained, trained on in another order, and judged.

"Initialize the model with parameters that are trained on the original dataset": `start`. With 0
steps the model is only read in another order. The translations of the tests are kept with the
weights and with the pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from repro.jiang2024.learner import drawn, fitted
from repro.jiang2024.sentences import PADDING, Batch, Batches, Subwords, Texts, learn, padded
from repro.jiang2024.translation import GIVEN, Shape, Translator, places
from repro.training import Adam, Muon, Outcome, Spec, Trapezoid, Workspace
from repro.training.loop import generator_at
from repro.training.recipes import Pace

PIECES = "subwords"  # the name of the tensor
AT_ONCE = 3000  # tokens, when the loss on the tests is computed


@dataclass(frozen=True)
class InverseRoot:
    """Up to lr in `warmup` steps, then down as one over the root of the step (Vaswani et al.)."""

    warmup: int

    def pace(self, step: int, steps: int) -> Pace:
        way = (step + 1) / self.warmup
        return Pace(min(way, way**-0.5))


@dataclass(frozen=True)
class Recipe:
    """`tokens` of both languages a step."""

    optimizer: Adam | Muon
    schedule: Trapezoid | InverseRoot
    steps: int
    tokens: int
    smoothing: float = 0.1


@dataclass(frozen=True)
class FitTranslation(Spec):
    """`texts` is their digest. `mismatched`: each source gets the target of another one."""

    kind: ClassVar[str] = "jiang2024-translation"
    version: ClassVar[int] = 1

    texts: str
    shape: Shape
    recipe: Recipe
    seed: int
    order: str = GIVEN
    mismatched: bool = False
    start: "FitTranslation | None" = None


def train(
    spec: FitTranslation, workspace: Workspace, *, texts: Texts, start: Outcome | None = None
) -> Outcome:
    """`start` is the outcome of spec.start."""
    if start is None:
        subwords = learn([side for pair in texts.training for side in pair], spec.shape.pieces)
        model = drawn(spec.seed, lambda: Translator(spec.shape))
    else:
        model, subwords = trained(spec, start)
    model = model.requires_grad_(True).to(workspace.device)
    batches = Batches(pairs(spec, texts), subwords, spec.recipe.tokens, spec.seed)

    def of_step(model: Translator, step: int) -> Tensor:
        return loss(model, batches.at(step), spec, step)

    curves = fitted(model, of_step, spec.recipe, workspace)
    model.eval()
    tests = Batches(texts.tests, subwords, AT_ONCE, spec.seed)
    most = 2 * max(len(row) for row in batches.targets)
    said = translations(model, subwords, [pair[0] for pair in texts.tests], spec, most=most)
    numbers = {
        "tokens": batches.tokens / batches.count * spec.recipe.steps,
        "pieces": len(subwords),
        "loss on tests": surprise(model, tests, spec),
        "translations": "\n".join(said),
    }
    return Outcome(numbers, curves, {**model.cpu().state_dict(), PIECES: subwords.tensor()})


def trained(spec: FitTranslation, outcome: Outcome) -> tuple[Translator, Subwords]:
    weights = dict(outcome.tensors)
    subwords = Subwords.of(weights.pop(PIECES))
    model = Translator(spec.shape)
    model.load_state_dict(weights)
    return model.requires_grad_(False).eval(), subwords


def pairs(spec: FitTranslation, texts: Texts) -> Sequence[tuple[str, str]]:
    """Mismatched targets are moved round by half of the pairs, so that none keeps its own."""
    if not spec.mismatched:
        return texts.training
    sources, targets = zip(*texts.training, strict=True)
    half = len(targets) // 2
    return list(zip(sources, targets[half:] + targets[:half], strict=True))


def loss(model: Translator, batch: Batch, spec: FitTranslation, step: int) -> Tensor:
    """Cross-entropy of the wanted pieces, smoothed; orders and dropout are the step's."""
    device = model.embedding.weight.device
    generator = generator_at(spec.seed, step)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(generator.initial_seed())
        scores, wanted = _predicted(model.train(), batch, spec, generator)
    return nn.functional.cross_entropy(scores, wanted, label_smoothing=spec.recipe.smoothing)


def _predicted(
    model: Translator, batch: Batch, spec: FitTranslation, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Logits of the real pieces of all targets, (count, pieces), and which they are."""
    device, real = model.embedding.weight.device, batch.wanted != PADDING
    order = places(spec.order, batch.lengths, generator).to(device)
    states = model.states(model.read(batch.source.to(device), order), batch.said.to(device))
    return model.scores(states[real.to(device)]), batch.wanted[real].to(device)


@torch.no_grad()
def surprise(model: Translator, batches: Batches, spec: FitTranslation) -> float:
    """Cross-entropy of a piece, over all batches once, in nats."""
    total, count = 0.0, 0
    for number in range(batches.count):
        generator = generator_at(spec.seed, -10 - number)
        scores, wanted = _predicted(model, batches.at(number), spec, generator)
        total += nn.functional.cross_entropy(scores, wanted, reduction="sum").item()
        count += len(wanted)
    return total / count


def translations(
    model: Translator,
    subwords: Subwords,
    sentences: Sequence[str],
    spec: FitTranslation,
    *,
    most: int,
    at_once: int = 100,
) -> list[str]:
    """Greedily, in the order of the spec, sentences of similar lengths at once."""
    rows = subwords.encode(sentences)
    device, generator = model.embedding.weight.device, generator_at(spec.seed, -3)
    by_length = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    found = [""] * len(rows)
    for begin in range(0, len(rows), at_once):
        members = by_length[begin : begin + at_once]
        lengths = torch.tensor([len(rows[i]) for i in members])
        order = places(spec.order, lengths, generator).to(device)
        source = padded([rows[i] for i in members]).to(device)
        said = model.greedy(source, min(most, 2 * int(lengths.max()) + 10), order)
        for i, row in zip(members, said.tolist(), strict=True):
            found[i] = subwords.decode(row)
    return found
