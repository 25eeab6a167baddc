"""all-MiniLM-L6-v2, a pretrained transformer: its forward pass, and its scores before the softmax.

The architecture is BERT's (Devlin et al. 2019): words, positions and a type are added and
normalised; then in every layer, each head with queries, keys and values of its own,

    x <- norm(x + W_O concat(softmax(Q K^T / sqrt(m_h)) V) + b_O),
    x <- norm(x + W_2 gelu(W_1 x + b_1) + b_2).

W_Q and W_K have biases. They do not raise the rank, but they move the spectrum: in

    q_t . k_s = (W_Q x_t) . (W_K x_s) + b_Q . (W_K x_s) + (W_Q x_t + b_Q) . b_K

the last term is the same for all s. No softmax can see it, but the first singular value can.

A sentence is cut by WordPiece (Wu et al. 2016): lower case, no accents, and of every word the
longest beginning that is on the list, then the longest that continues it. Not for Chinese.
"""

import itertools
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from repro.data import weights
from repro.data.errors import BadData

EPSILON = 1e-12  # of all norms
LONGEST = 100  # letters of a word; a longer one is not cut
DEVIATION = 0.02  # of the weights of BERT before training


@dataclass(frozen=True)
class Pieces:
    """The pieces of words, by number; '##ing' continues a word."""

    numbers: Mapping[str, int]

    @classmethod
    def read(cls, file: Path) -> "Pieces":
        lines = file.read_text(encoding="utf-8").splitlines()
        numbers = {piece: number for number, piece in enumerate(lines)}
        for needed in ("[PAD]", "[UNK]", "[CLS]", "[SEP]"):
            if needed not in numbers:
                raise BadData(file, f"expected {needed} among its {len(lines)} pieces")
        return cls(numbers)

    def of(self, text: str) -> list[int]:
        """[CLS], the pieces of the text, [SEP]."""
        inner = [piece for word in words(text) for piece in self._cut(word)]
        return [self.numbers[piece] for piece in ("[CLS]", *inner, "[SEP]")]

    def _cut(self, word: str) -> list[str]:
        pieces, rest = [], word
        while rest and len(word) <= LONGEST:
            marked = "##" + rest if pieces else rest
            ends = range(len(marked), len(marked) - len(rest), -1)
            end = next((end for end in ends if marked[:end] in self.numbers), None)
            if end is None:
                return ["[UNK]"]
            pieces.append(marked[:end])
            rest = marked[end:]
        return pieces or ["[UNK]"]

    def batch(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Numbers (count, longest), filled up with [PAD], and where they are real."""
        rows = [torch.tensor(self.of(text)) for text in texts]
        real = pad_sequence([torch.ones_like(row, dtype=torch.bool) for row in rows], True)
        return pad_sequence(rows, True, self.numbers["[PAD]"]), real

    def of_length(self, texts: Sequence[str], tau: int, count: int) -> Tensor:
        """The first `count` texts that have tau pieces or more, cut to tau: (count, tau)."""
        rows = (self.of(text) for text in texts)
        cut = ([*row[: tau - 1], row[-1]] for row in rows if len(row) >= tau)
        long = list(itertools.islice(cut, count))
        if len(long) < count:
            raise LookupError(f"{len(long)} texts have {tau} pieces or more, {count} are needed")
        return torch.tensor(long)


def words(text: str) -> list[str]:
    """Lower case, without accents; every sign of punctuation is a word."""
    spaced = ""
    for letter in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(letter)
        if kind[0] == "P" or (letter.isascii() and kind[0] == "S"):
            spaced += f" {letter} "
        elif letter.isspace() or kind not in ("Mn", "Cc", "Cf"):
            spaced += letter
    return spaced.split()


@dataclass(frozen=True)
class Shape:
    words: int = 30522
    positions: int = 512
    depth: int = 6
    width: int = 384
    heads: int = 12
    hidden: int = 1536

    @property
    def m_h(self) -> int:
        return self.width // self.heads

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes as they stand in the published file."""
        d = self.width
        embeddings = {"word": self.words, "position": self.positions, "token_type": 2}
        shapes = {f"embeddings.{name}_embeddings.weight": (n, d) for name, n in embeddings.items()}
        affine: dict[str, tuple[int, ...]] = {"embeddings.LayerNorm": (d,)}
        for layer in (f"encoder.layer.{number}" for number in range(self.depth)):
            for name in ("self.query", "self.key", "self.value", "output.dense"):
                affine[f"{layer}.attention.{name}"] = (d, d)
            affine[f"{layer}.attention.output.LayerNorm"] = (d,)
            affine[f"{layer}.intermediate.dense"] = (self.hidden, d)
            affine[f"{layer}.output.dense"] = (d, self.hidden)
            affine[f"{layer}.output.LayerNorm"] = (d,)
        for name, shape in affine.items():
            shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
        return shapes


MINILM = Shape()


@dataclass(frozen=True)
class MiniLM:
    shape: Shape
    weights: Mapping[str, Tensor]

    @classmethod
    def read(cls, file: Path, shape: Shape = MINILM) -> "MiniLM":
        """BadData that names file, tensor and both shapes, if it is not this model."""
        return cls(shape, weights.checked(file, weights.load(file), shape.tensors()))

    @classmethod
    def untrained(cls, seed: int, shape: Shape = MINILM) -> "MiniLM":
        """As BERT begins: normal weights of deviation 0.02, no biases, norms without scales."""
        generator = torch.Generator().manual_seed(seed)
        drawn: dict[str, Tensor] = {}
        for name, size in shape.tensors().items():
            if len(size) == 2:
                drawn[name] = DEVIATION * torch.randn(size, generator=generator)
            else:
                drawn[name] = torch.full(size, float("LayerNorm.weight" in name))
        return cls(shape, drawn)

    def double(self) -> "MiniLM":
        """But for the table of words: few rows are used, and to add positions makes them double."""
        kept = "embeddings.word_embeddings.weight"
        weights = {name: W if name == kept else W.double() for name, W in self.weights.items()}
        return MiniLM(self.shape, weights)

    def embedding(self, tokens: Tensor, real: Tensor) -> Tensor:
        """One unit vector a sentence, (count, width): the direction of the sum of its tokens."""
        return functional.normalize((self.states(tokens, real) * real[..., None]).sum(1), dim=-1)

    @torch.no_grad()
    def states(self, tokens: Tensor, real: Tensor | None = None) -> Tensor:
        """What the last layer says of every token, (count, tau, width)."""
        x = self._embedded(tokens)
        for number in range(self.shape.depth):
            x, _, _ = self._passed(number, x, real)
        return x

    __call__ = states

    @torch.no_grad()
    def queries_and_keys(self, tokens: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Of every layer, (count, heads, tau, m_h) each; no token is padding."""
        x, pairs = self._embedded(tokens), []
        for number in range(self.shape.depth):
            x, Q, K = self._passed(number, x)
            pairs.append((Q, K))
        return pairs

    def _passed(
        self, number: int, x: Tensor, real: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What a layer makes of x, and its queries and keys."""
        mask = None if real is None else real[:, None, None, :]
        Q, K, V = (self._projected(number, part, x) for part in ("query", "key", "value"))
        mixed = functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
        mixed = mixed.transpose(1, 2).flatten(2)  # (count, tau, width)
        layer = f"encoder.layer.{number}"
        output = f"{layer}.attention.output"
        x = self._norm(output, x + self._affine(f"{output}.dense", mixed))
        bent = functional.gelu(self._affine(f"{layer}.intermediate.dense", x))
        return self._norm(f"{layer}.output", x + self._affine(f"{layer}.output.dense", bent)), Q, K

    def _embedded(self, tokens: Tensor) -> Tensor:
        names = ("word", "position", "token_type")
        word, position, kind = (self.weights[f"embeddings.{n}_embeddings.weight"] for n in names)
        return self._norm("embeddings", word[tokens] + position[: tokens.shape[1]] + kind[0])

    def _projected(self, number: int, part: str, x: Tensor) -> Tensor:
        x = self._affine(f"encoder.layer.{number}.attention.self.{part}", x)
        return x.unflatten(-1, (self.shape.heads, -1)).transpose(1, 2)  # (count, heads, tau, m_h)

    def _affine(self, name: str, x: Tensor) -> Tensor:
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, name: str, x: Tensor) -> Tensor:
        scale, shift = (self.weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return functional.layer_norm(x, x.shape[-1:], scale, shift, EPSILON)
