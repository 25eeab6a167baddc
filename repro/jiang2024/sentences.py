"""Table 1, ENG-DE: which pairs are trained on, which are for tests, and the batch of every step.

Help texts are in the order of a hash: the first pairs are for tests, the others for training. A
user's own text has a file for each. Sentences of the tests are left out of the training. The batch
of a step depends on the step and the seed alone, so that trainings can be resumed.
"""

import functools
import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sentencepiece
import torch
from torch import Tensor

from repro.data import parallel
from repro.data.errors import BadData
from repro.data.parallel import Pair
from repro.training.loop import generator_at

PADDING, BEGIN, END, UNKNOWN = range(4)
HELP_TEXTS, OWN = "LibreOffice help texts", "a user's own text (WMT14)"


@dataclass(frozen=True)
class Selection:
    """Pairs with that many words on both sides; the first `tests` of those for tests."""

    least: int
    most: int
    tests: int

    def of(self, pairs: Sequence[Pair]) -> list[Pair]:
        def fits(side: str) -> bool:
            return self.least <= len(side.split()) <= self.most

        return [pair for pair in pairs if all(map(fits, pair))]


@dataclass(frozen=True)
class Texts:
    name: str
    training: tuple[Pair, ...]
    tests: tuple[Pair, ...]

    @functools.cached_property
    def digest(self) -> str:
        """Of all sentences in their order: another text is another training."""
        return hashlib.sha256(repr((self.training, self.tests)).encode()).hexdigest()[:16]


@functools.cache
def load(folder: Path, selection: Selection) -> Texts:
    """A user's own train and newstest2014, if they are there, or else the help texts."""
    if (folder / "train.en").exists():
        name = OWN
        training = selection.of(parallel.read(folder, "train"))
        tests = selection.of(parallel.read(folder, "newstest2014"))[: selection.tests]
    else:
        name, pairs = HELP_TEXTS, selection.of(parallel.read(folder, "all"))
        tests, training = pairs[: selection.tests], pairs[selection.tests :]
    english, german = ({pair[side] for pair in tests} for side in (0, 1))
    training = [pair for pair in training if pair[0] not in english and pair[1] not in german]
    if not tests or not training:
        words = f"{selection.least} to {selection.most} words"
        raise BadData(folder, f"expected pairs of {words}, found none")
    return Texts(name, tuple(training), tuple(tests))


@dataclass(frozen=True)
class Subwords:
    """Pieces of words: one byte-pair encoding for both languages, by sentencepiece.

    The model is a string of bytes; as a tensor it is kept with the weights trained on its pieces.
    """

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
    """At most that many pieces: fewer if the sentences do not have as many.

    One thread, sentences in the order given: the same sentences give the same bytes.
    """
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


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """(rows, longest), PADDING behind the shorter ones."""
    wide = max(len(row) for row in rows)
    return torch.tensor([[*row, *[PADDING] * (wide - len(row))] for row in rows])


@dataclass(frozen=True)
class Batch:
    source: Tensor  # (pairs, longest), each ends with END
    lengths: Tensor  # (pairs,), of the sources
    said: Tensor  # (pairs, longest), BEGIN and the target without its END
    wanted: Tensor  # the target


class Batches:
    """Pairs of encoded sentences in batches of about `tokens` pieces of both languages."""

    def __init__(self, pairs: Sequence[Pair], subwords: Subwords, tokens: int, seed: int) -> None:
        self.sources = subwords.encode([pair[0] for pair in pairs])
        self.targets = subwords.encode([pair[1] for pair in pairs])
        self.seed = seed
        lengths = ([len(row) for row in rows] for rows in (self.sources, self.targets))
        self._lengths = torch.tensor(list(lengths)).mT
        self.tokens = int(self._lengths.sum())  # of an epoch
        self.count = -(-self.tokens // tokens)
        self._epochs = functools.lru_cache(maxsize=1)(self._epoch)

    def at(self, step: int) -> Batch:
        epoch, number = divmod(step, self.count)
        members = self._epochs(epoch)[number]
        source, target = ([rows[i] for i in members] for rows in (self.sources, self.targets))
        said = padded([[BEGIN, *row[:-1]] for row in target])
        return Batch(padded(source), self._lengths[members, 0], said, padded(target))

    def _epoch(self, epoch: int) -> list[list[int]]:
        """Sorted by length, ties and near ties at random; cut where the count of tokens says."""
        generator = generator_at(self.seed, -100 - epoch)
        noise = torch.rand(len(self._lengths), generator=generator)
        long = self._lengths.double()
        order = (long[:, 1] + long[:, 0] / 2 + 2 * noise).argsort()
        before = long[order].sum(1).cumsum(0) - long[order].sum(1)
        cut = (before * self.count / self.tokens).long()
        batches = order.split(cut.bincount(minlength=self.count).tolist())
        shuffled = torch.randperm(self.count, generator=generator).tolist()
        return [batches[k].tolist() for k in shuffled]
