"""BLEU by sacrebleu, and how far chance in the choice of test sentences moves it.

BLEU is a function of sums over sentences, so a sample of them, drawn with repetition, is a weight
for each; two systems are compared on the same samples (Koehn 2004).
"""

import functools
from dataclasses import dataclass

import numpy as np
from sacrebleu.metrics.bleu import BLEU

ORDERS = 4  # n-grams of up to so many words
SAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """A number, and the middle 95 of 100 of what samples of the sentences give."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@functools.cache
def judged(said: tuple[str, ...], references: tuple[str, ...]) -> np.ndarray:
    """A row for each sentence: n-grams that match, n-grams, words said, words of the reference."""
    metric = BLEU(effective_order=True)  # for single sentences: it does not change their counts
    rows = []
    for one, reference in zip(said, references, strict=True):
        found = metric.sentence_score(one, [reference])
        rows.append([*found.counts, *found.totals, found.sys_len, found.ref_len])
    return np.array(rows)  # (sentences, 2 ORDERS + 2)


def estimate(
    one: np.ndarray, rng: np.random.Generator, other: np.ndarray | None = None
) -> Estimate:
    """The score of one, or how far it is ahead of the other."""
    count = len(one)  # a row of weights: how often each sentence is in a sample
    weights = rng.multinomial(count, np.full(count, 1 / count), size=SAMPLES)
    value, found = score(one), np.array([score(one, sample) for sample in weights])
    if other is not None:
        value, found = value - score(other), found - [score(other, row) for row in weights]
    low, high = np.quantile(found, [0.025, 0.975]).tolist()
    return Estimate(value, low, high)


def score(counts: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Smoothed as sacrebleu does unless it is told otherwise."""
    sums = counts.sum(0) if weights is None else weights @ counts
    *grams, said, wanted = sums.tolist()
    matching, all_of_them = grams[:ORDERS], grams[ORDERS:]
    return BLEU.compute_bleu(matching, all_of_them, said, wanted, smooth_method="exp").score
