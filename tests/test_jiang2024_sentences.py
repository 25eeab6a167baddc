"""Sentences for Table 1: which are chosen, their pieces, and batches of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from generated_data import parallel_text

from repro.data.errors import BadData
from repro.jiang2024 import sentences
from repro.jiang2024.sentences import BEGIN, END

SELECTION = sentences.Selection(least=3, most=20, tests=10)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    parallel_text(folder, np.random.default_rng(0), training=80, tests=20)
    return sentences.load(folder, SELECTION)


def test_help_texts_are_split_and_no_test_sentence_is_trained_on(tmp_path, texts):
    every = [(f"one two {k}", f"eins zwei {k // 2}") for k in range(30)]
    sentences.parallel.write(tmp_path, "all", [*every, ("too short", "zu kurz")])
    found = sentences.load(tmp_path, replace(SELECTION, tests=9))
    assert (found.name, texts.name) == (sentences.HELP_TEXTS, sentences.OWN)
    assert list(found.tests) == every[:9]
    assert list(found.training) == every[10:]  # the German of pair 9 is that of pair 8


def test_pairs_have_the_chosen_number_of_words_on_both_sides():
    words = [(2, 3), (3, 2), (1, 3), (3, 4), (4, 2), (2, 1)]
    pairs = [(" ".join("a" * m), " ".join("b" * n)) for m, n in words]
    assert sentences.Selection(least=2, most=3, tests=1).of(pairs) == pairs[:2]


def test_no_sentence_of_the_tests_is_trained_on_in_either_language(tmp_path):
    """The first pair is for tests; its English comes again in the third, its German in the last."""
    pairs = [("a a a", "u u u"), ("b b b", "v v v"), ("a a a", "w w w"), ("c c c", "u u u")]
    sentences.parallel.write(tmp_path, "all", pairs)
    found = sentences.load(tmp_path, replace(SELECTION, tests=1))
    assert (found.tests, found.training) == ((pairs[0],), (pairs[1],))


def test_texts_without_a_training_and_texts_without_tests_are_refused(tmp_path):
    """The only pair is for tests; and a user's own text, whose tests have too many words."""
    few, long = [("a a a", "b b b")], [(" ".join("a" * 21), " ".join("b" * 21))]
    sentences.parallel.write(tmp_path / "help", "all", few)
    sentences.parallel.write(tmp_path / "own", "train", few)
    sentences.parallel.write(tmp_path / "own", "newstest2014", long)
    for name in ("help", "own"):
        with pytest.raises(BadData, match="expected pairs of 3 to 20 words, found none"):
            sentences.load(tmp_path / name, SELECTION)


def test_pieces_go_round_and_are_the_same_each_time(texts):
    every = [side for pair in texts.training for side in pair]
    found = sentences.learn(every, 120)
    assert len(found) <= 120
    assert [found.decode(row) for row in found.encode(every)] == every
    assert all(row[-1] == END for row in found.encode(every))
    assert found == sentences.learn(every, 120)
    assert sentences.Subwords.of(found.tensor()) == found


def test_an_epoch_has_every_pair_once_in_batches_of_similar_lengths(texts):
    found = sentences.learn([side for pair in texts.training for side in pair], 40)
    batches = sentences.Batches(texts.training, found, 300, seed=0)
    assert batches.count > 5
    for epoch in (0, 1):
        seen = [batches.at(epoch * batches.count + k) for k in range(batches.count)]
        rows = [
            tuple(row[: n - 1].tolist())
            for b in seen
            for row, n in zip(b.source, b.lengths, strict=True)
        ]
        assert sorted(found.decode(row) for row in rows) == sorted(p[0] for p in texts.training)
        assert all(200 <= (b.source > 0).sum() + (b.wanted > 0).sum() <= 400 for b in seen)
    one = batches.at(0)
    assert (one.said[:, 0] == BEGIN).all()
    assert torch.equal(
        one.said[:, 1:][one.wanted[:, 1:] > 0], one.wanted[:, :-1][one.wanted[:, 1:] > 0]
    )
    again = sentences.Batches(texts.training, found, 300, seed=0).at(batches.count + 2)
    assert torch.equal(again.source, batches.at(batches.count + 2).source)
    assert not torch.equal(batches.at(0).source, batches.at(batches.count).source)


def test_an_epoch_is_sorted_by_the_target_and_half_the_source_with_near_ties_at_random():
    """The key is drawn from 2 numbers on: what is 2 apart keeps its order, what is 1 apart not."""

    class Words:
        def encode(self, said):
            return [[4] * len(one.split()) + [END] for one in said]

    sizes = {16: 8, 4: 12, 12: 5, 2: 12, 6: 12}  # source: target; keys 16, 14, 11, 13, 15
    pairs = [("a " * source, "b " * target) for source, target in sizes.items()]
    known: Any = Words()
    batches = sentences.Batches(pairs, known, tokens=1000, seed=0)
    assert batches.count == 1
    orders = [(batches.at(epoch).lengths - 1).tolist() for epoch in range(60)]
    assert all(order.index(4) < order.index(16) for order in orders)
    assert all(order.index(12) < order.index(2) for order in orders)
    assert {order.index(4) < order.index(6) for order in orders} == {True, False}
