"""Pieces of words: one byte-pair encoding for both languages, by sentencepiece.

The model is a string of bytes, and as a tensor it is kept with the weights that were trained on its
pieces. One thread, sentences in the order given: the same sentences give the same bytes.
"""

import functools
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import sentencepiece
import torch
from torch import Tensor

PADDING, BEGIN, END, UNKNOWN = range(4)


@dataclass(frozen=True)
class Subwords:
    model: bytes

    @functools.cached_property
    def _processor(self) -> sentencepiece.SentencePieceProcessor:
        return sentencepiece.SentencePieceProcessor(model_proto=self.model)

    def __len__(self) -> int:
        return self._processor.vocab_size()

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """The pieces of each sentence, and the end."""
        return [[*pieces, END] for pieces in self._processor.encode(list(sentences))]

    def decode(self, pieces: Sequence[int]) -> str:
        """The sentence up to the end."""
        row = list(pieces)
        return self._processor.decode(row[: row.index(END)] if END in row else row)

    def tensor(self) -> Tensor:
        return torch.from_numpy(np.frombuffer(self.model, dtype=np.uint8).copy())

    @classmethod
    def of(cls, tensor: Tensor) -> "Subwords":
        return cls(tensor.numpy().tobytes())


def learn(sentences: Iterable[str], most: int) -> Subwords:
    """At most that many pieces: fewer if the sentences do not have as many."""
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=made,
        model_type="bpe",
        vocab_size=most,
        hard_vocab_limit=False,
        character_coverage=1.0,
        num_threads=1,
        pad_id=PADDING,
        bos_id=BEGIN,
        eos_id=END,
        unk_id=UNKNOWN,
        minloglevel=2,
    )
    return Subwords(made.getvalue())
