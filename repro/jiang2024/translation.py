"""The Transformer of Vaswani et al. (2017), from sentences to sentences: Table 1, ENG-DE.

"The base Transformer structure" is BASE: one embedding of the pieces of both languages, times
sqrt(width) at the entrance and itself again as the last layer; places as sines and cosines, not
trained. "Fix a permutation such that the first 10 elements are shifted to the end of the sequence"
is MOVED_TO_THE_END, of all PLACES, with padding behind the shorter sentences. WITHIN_SENTENCES is
another reading: the sequence is the sentence, so each length has a permutation of its own.

A permutation between embedding and position encoding is done by the latter: the piece that would be
moved to place t stays and gets the encoding of t; layers without a mask know no other places.

Departures: layers are normalised before, not after, attention and MLP, and once more at the end:
that trains without a long warm-up. Sentences are decoded greedily, without a beam.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from repro.jiang2024.sentences import BEGIN, END, PADDING
from repro.jiang2024.vit import Attention, glorot

MOVED, PLACES = 10, 512
GIVEN, RANDOM = "given", "random for every sentence"
MOVED_TO_THE_END = "first ten of all places to the end"
WITHIN_SENTENCES = "first ten to the end"  # of each sentence
KeysValues = tuple[Tensor, Tensor]  # each (batch, heads, tokens, size)
# of a source what each layer of the decoder attends to, and (batch, 1, 1, tokens), False at padding
Read = tuple[list[KeysValues], Tensor]


@dataclass(frozen=True)
class Shape:
    """Sizes; as many layers on both sides. `dropout` is a probability, 0 outside training."""

    pieces: int
    layers: int
    width: int
    heads: int
    hidden: int
    dropout: float = 0.0

    def weights(self) -> int:
        with torch.device("meta"):
            return sum(p.numel() for p in Translator(self).parameters())

    def products(self) -> int:
        """Multiplications of weights for one source and one target token on their way through."""
        return self.width * (self.layers * (12 * self.width + 4 * self.hidden) + self.pieces)


BASE = Shape(pieces=37000, layers=6, width=512, heads=8, hidden=2048, dropout=0.1)


def places(order: str, lengths: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """(batch, longest): the place of each piece. Padding beyond a length may be anywhere."""
    longest = int(lengths.max())
    if longest > PLACES:
        raise ValueError(f"a sequence has {PLACES} places, got a sentence of {longest} pieces")
    own, length = torch.arange(longest), lengths[:, None]
    if order == MOVED_TO_THE_END:
        return ((own - MOVED) % PLACES).expand(len(lengths), -1)
    if order == WITHIN_SENTENCES:
        return torch.where((own < length) & (length > MOVED), (own - MOVED) % length, own)
    if order == RANDOM:
        keys = torch.rand(len(lengths), longest, generator=generator)
        return torch.where(own < length, keys, 1.0 + own).argsort(dim=1)
    return own.expand(len(lengths), -1)


def positions(at: Tensor, width: int) -> Tensor:
    """sin and cos of t / 10000^(2i/width) for the places t; (..., width)."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    angles = at[..., None] * rates.to(at.device)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def attention(shape: Shape) -> Attention:
    size = shape.width // shape.heads
    return Attention(shape.width, shape.heads, size, size)


def perceptron(shape: Shape) -> nn.Sequential:
    first, last = nn.Linear(shape.width, shape.hidden), nn.Linear(shape.hidden, shape.width)
    return nn.Sequential(first, nn.ReLU(), last)


class EncoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.attention, self.mlp = attention(shape), perceptron(shape)
        self.drop = nn.Dropout(shape.dropout)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        h = self.norm_1(x)
        own = self.attention.keys_and_values(h)
        x = x + self.drop(self.attention(h, own, attn_mask=seen))
        return x + self.drop(self.mlp(self.norm_2(x)))


class DecoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(shape.width) for _ in range(3))
        self.attention, self.reading = attention(shape), attention(shape)
        self.mlp, self.drop = perceptron(shape), nn.Dropout(shape.dropout)

    def forward(
        self, x: Tensor, source: KeysValues, seen: Tensor, past: KeysValues | None = None
    ) -> tuple[Tensor, KeysValues]:
        """With keys and values of the `past`, x is the one token after it."""
        h = self.norm_1(x)
        own = self.attention.keys_and_values(h)
        if past is not None:
            own = torch.cat([past[0], own[0]], dim=2), torch.cat([past[1], own[1]], dim=2)
        x = x + self.drop(self.attention(h, own, is_causal=past is None))
        x = x + self.drop(self.reading(self.norm_2(x), source, attn_mask=seen))
        return x + self.drop(self.mlp(self.norm_3(x))), own


class Translator(nn.Module):
    encoder: list[EncoderLayer]  # type: ignore[assignment]
    decoder: list[DecoderLayer]  # type: ignore[assignment]

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.pieces, shape.width)
        self.encoder = nn.ModuleList(EncoderLayer(shape) for _ in range(shape.layers))  # type: ignore
        self.decoder = nn.ModuleList(DecoderLayer(shape) for _ in range(shape.layers))  # type: ignore
        self.norm_source, self.norm = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.drop = nn.Dropout(shape.dropout)
        nn.init.normal_(self.embedding.weight, std=shape.width**-0.5)
        glorot(self)

    def embedded(self, pieces: Tensor, at: Tensor) -> Tensor:
        """Pieces with the position encoding of their places, which are (tokens,) or of each row."""
        x = self.embedding(pieces) * self.shape.width**0.5
        return self.drop(x + positions(at, self.shape.width))

    def read(self, source: Tensor, at: Tensor) -> Read:
        x, seen = self.embedded(source, at), (source != PADDING)[:, None, None]
        for layer in self.encoder:
            x = layer(x, seen)
        x = self.norm_source(x)
        return [layer.reading.keys_and_values(x) for layer in self.decoder], seen

    def states(self, read: Read, target: Tensor) -> Tensor:
        """What the decoder makes of the target so far, (batch, tokens, width)."""
        x = self.embedded(target, torch.arange(target.shape[1], device=target.device))
        sources, seen = read
        for layer, source in zip(self.decoder, sources, strict=True):
            x, _ = layer(x, source, seen)
        return self.norm(x)

    def scores(self, states: Tensor) -> Tensor:
        """Logits of the next piece, (..., pieces)."""
        return states @ self.embedding.weight.T

    def forward(self, source: Tensor, target: Tensor, at: Tensor | None = None) -> Tensor:
        """Logits of each next piece of the target; `at` None: the source is in its own order."""
        at = torch.arange(source.shape[1], device=source.device) if at is None else at
        return self.scores(self.states(self.read(source, at), target))

    @torch.no_grad()
    def greedy(self, source: Tensor, most: int, at: Tensor) -> Tensor:
        """The likeliest next piece, again and again; (batch, at most `most`), END and padding.

        Keys and values of what has been said are kept, so each step computes one token.
        """
        sources, seen = self.read(source, at)
        said = source.new_full((len(source), 1), BEGIN)
        past: list[KeysValues | None] = [None] * len(self.decoder)
        for step in range(most):
            x = self.embedded(said[:, -1:], torch.tensor([step], device=said.device))
            for number, layer in enumerate(self.decoder):
                x, past[number] = layer(x, sources[number], seen, past[number])
            best = self.scores(self.norm(x[:, -1])).argmax(-1)
            over = (said == END).any(1)
            said = torch.cat([said, torch.where(over, PADDING, best)[:, None]], dim=1)
            if (said == END).any(1).all():
                break
        return said[:, 1:]
