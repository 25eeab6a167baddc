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
from torch import Tensor, nn
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


MINILM = Shape()


class Output(nn.Module):
    """x <- norm(x + W change + b). Modules have the names that the published file gives them."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, width)
        self.LayerNorm = nn.LayerNorm(width, eps=EPSILON)

    def forward(self, x: Tensor, change: Tensor) -> Tensor:
        return self.LayerNorm(x + self.dense(change))


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        d, self.heads = shape.width, shape.heads
        parts = nn.ModuleDict({part: nn.Linear(d, d) for part in ("query", "key", "value")})
        self.attention = nn.ModuleDict({"self": parts, "output": Output(d, d)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(d, shape.hidden)})
        self.output = Output(shape.hidden, d)

    def forward(self, x: Tensor, real: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """What the layer makes of x, and its queries and keys (count, heads, tau, m_h)."""
        mask = None if real is None else real[:, None, None, :]
        Q, K, V = (
            part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.attention["self"].children()
        )
        mixed = functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
        x = self.attention["output"](x, mixed.transpose(1, 2).flatten(2))
        return self.output(x, functional.gelu(self.intermediate["dense"](x))), Q, K


class MiniLM(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        counts = {"word": shape.words, "position": shape.positions, "token_type": 2}
        tables = {f"{name}_embeddings": nn.Embedding(n, shape.width) for name, n in counts.items()}
        norm = nn.LayerNorm(shape.width, eps=EPSILON)
        self.embeddings = nn.ModuleDict({**tables, "LayerNorm": norm})
        layers = nn.ModuleList(Layer(shape) for _ in range(shape.depth))
        self.encoder = nn.ModuleDict({"layer": layers})

    @classmethod
    def read(cls, file: Path, shape: Shape = MINILM) -> "MiniLM":
        """BadData that names file, tensor and both shapes, if it is not this model."""
        model = cls(shape)
        sizes = {name: tuple(W.shape) for name, W in model.state_dict().items()}
        model.load_state_dict(weights.checked(file, weights.load(file), sizes))
        return model.requires_grad_(False)

    @classmethod
    def untrained(cls, seed: int, shape: Shape = MINILM) -> "MiniLM":
        """As BERT begins: normal weights of deviation 0.02, no biases, norms without scales."""
        model, generator = cls(shape).requires_grad_(False), torch.Generator().manual_seed(seed)
        for name, W in model.named_parameters():
            if W.ndim == 2:
                W.copy_(DEVIATION * torch.randn(W.shape, generator=generator))
            else:
                W.fill_("LayerNorm.weight" in name)
        return model

    def embedding(self, tokens: Tensor, real: Tensor) -> Tensor:
        """One unit vector a sentence, (count, width): the direction of the sum of its tokens."""
        return functional.normalize((self(tokens, real) * real[..., None]).sum(1), dim=-1)

    def forward(self, tokens: Tensor, real: Tensor | None = None) -> Tensor:
        """What the last layer says of every token, (count, tau, width)."""
        x = self._embedded(tokens)
        for layer in self.encoder["layer"].children():
            x, _, _ = layer(x, real)
        return x

    def queries_and_keys(self, tokens: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Of every layer; no token is padding."""
        x, pairs = self._embedded(tokens), []
        for layer in self.encoder["layer"].children():
            x, Q, K = layer(x)
            pairs.append((Q, K))
        return pairs

    def _embedded(self, tokens: Tensor) -> Tensor:
        word, position, kind, norm = self.embeddings.children()
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return norm(word(tokens) + position(places) + kind(0 * places))
