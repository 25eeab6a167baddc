"""Figure 2: whose heads are looked at, on which inputs, and what they are compared with.

untrained    the same network before training, with the same inputs
redrawn      the trained network, but for W_Q and W_K of the last layer, which are the untrained:
             the tokens that the last layer sees are those of the trained network
mixed        inputs, every other of which is of another kind: one colour, or one word repeated
"""

import copy
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from repro.data import parallel
from repro.jiang2024.minilm import MINILM, MiniLM, Pieces, Shape
from repro.jiang2024.scores import Heads
from repro.jiang2024.vit import VisionTransformer

Network = VisionTransformer | MiniLM


@dataclass(frozen=True, eq=False)
class Subject:
    """Networks in double precision, without gradients."""

    trained: Network
    untrained: Network
    redrawn: Network
    inputs: Tensor
    mixed: Tensor
    _known: dict[tuple[str, str], tuple[Heads, Heads]] = field(default_factory=dict, init=False)

    def heads(self, network: str, inputs: str = "inputs") -> Heads:
        """Of the network and the inputs of these names."""
        return self._passed(network, inputs)[0]

    def seen(self, network: str) -> Heads:
        """What the softmax of the last layer sees."""
        return self._passed(network, "inputs")[1]

    def _passed(self, network: str, inputs: str) -> tuple[Heads, Heads]:
        if (network, inputs) not in self._known:
            pairs = getattr(self, network).queries_and_keys(getattr(self, inputs))
            self._known[network, inputs] = Heads.of(pairs), Heads.of(pairs[-1:], see=True)
        return self._known[network, inputs]


def of_images(trained: VisionTransformer, untrained: VisionTransformer, images: Tensor) -> Subject:
    """`images` (count, 3, ., .) as the networks want them."""
    images = images.double()
    mixed = images.clone()
    mixed[::2] = mixed[::2].mean((-1, -2), keepdim=True)
    last = f"layers.{trained.shape.depth - 1}.attention"
    return _of(trained, untrained, (f"{last}.W_Q", f"{last}.W_K"), images, mixed)


def of_sentences(
    folder: Path, texts: Path, count: int, tau: int, seed: int, shape: Shape = MINILM
) -> Subject:
    """MiniLM, on the first English sentences that have tau pieces, cut there."""
    name = "newstest2014" if (texts / "newstest2014.en").exists() else "all"
    english = [pair[0] for pair in parallel.read(texts, name)]
    tokens = Pieces.read(folder / "vocab.txt").of_length(english, tau, count)
    mixed = tokens.clone()
    mixed[::2, 1:-1] = tokens[::2, 1:2]
    trained = MiniLM.read(folder / "model.safetensors", shape)
    last = f"encoder.layer.{shape.depth - 1}.attention.self"
    parts = (f"{last}.query", f"{last}.key")
    return _of(trained, MiniLM.untrained(seed, shape), parts, tokens, mixed)


def _of(
    trained: Network, untrained: Network, parts: tuple[str, str], inputs: Tensor, mixed: Tensor
) -> Subject:
    """`parts` of the redrawn network are those of the untrained one."""
    for network in (trained, untrained):
        network.double().requires_grad_(False)
    redrawn = copy.deepcopy(trained)
    for part in parts:
        redrawn.get_submodule(part).load_state_dict(untrained.get_submodule(part).state_dict())
    return Subject(trained, untrained, redrawn, inputs, mixed)
