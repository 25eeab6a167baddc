"""The trainings of Table 1, and BLEU."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
import torch
from generated_data import parallel_text

from repro.jiang2024 import (
    bleu,
    learner,
    reordering,
    sentences,
    trained_translation,
    translation,
)
from repro.jiang2024.sentences import BEGIN, PADDING
from repro.jiang2024.translation import GIVEN, MOVED_TO_THE_END, RANDOM
from repro.training import Adam, Trapezoid, Workspace
from repro.training.loop import generator_at

SHAPE = translation.Shape(pieces=120, layers=2, width=16, heads=2, hidden=32)
RECIPE = trained_translation.Recipe(Adam(3e-3), Trapezoid(), steps=45, tokens=300)
SELECTION = sentences.Selection(least=3, most=20, tests=10)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    parallel_text(folder, np.random.default_rng(0), training=80, tests=20)
    return sentences.load(folder, SELECTION)


@pytest.fixture
def spec(texts):
    return trained_translation.FitTranslation(texts.digest, SHAPE, RECIPE, seed=0)


def model():
    torch.manual_seed(0)
    return translation.Translator(SHAPE).eval()


def learnt(texts):
    return sentences.learn([side for pair in texts.training for side in pair], 120)


def test_the_printed_schedule():
    schedule = trained_translation.InverseRoot(100)
    assert schedule.pace(99, 1000).factor == 1
    assert schedule.pace(49, 1000).factor == 0.5
    assert schedule.pace(399, 1000).factor == 0.5


def test_no_two_draws_of_a_training_share_their_stream(spec, texts, monkeypatch):
    """An epoch is one batch here, and so are the tests: four epochs, four steps, the first weights,
    the loss on tests and the translations."""
    streams = {sentences: [], trained_translation: [], learner: []}
    for module, asked in streams.items():

        def noted(seed, step, asked=asked):
            asked.append(step)
            return generator_at(seed, step)

        monkeypatch.setattr(module, "generator_at", noted)
    recipe = replace(RECIPE, steps=4, tokens=10**6)
    spec = replace(spec, recipe=recipe, order=RANDOM)
    trained_translation.train(spec, Workspace(), texts=texts)
    batches, others, first = streams.values()
    others += first
    assert len(set(batches)) == 4
    assert len(set(others)) == len(others) == 4 + 3
    assert not set(batches) & set(others)


def test_every_order_is_trained_alike_from_the_first_weights_on_other_batches():
    setting = reordering.SMALL
    first, given = setting.first("texts"), setting.tuned("texts", GIVEN)
    moved, read = (make("texts", MOVED_TO_THE_END) for make in (setting.tuned, setting.only_read))
    assert (given.start, moved) == (first, replace(given, order=MOVED_TO_THE_END))
    assert given.seed != first.seed, "the batches of the first training would come again"
    assert given.recipe == replace(first.recipe, steps=setting.further)
    assert (read.start, read.order, read.recipe.steps) == (given, MOVED_TO_THE_END, 0)


def test_no_source_keeps_its_target_if_they_are_mismatched(spec, texts):
    pairs = trained_translation.pairs(replace(spec, mismatched=True), texts)
    assert {p[1] for p in pairs} == {p[1] for p in texts.training}
    assert not set(pairs) & set(texts.training)
    assert [p[0] for p in pairs] == [p[0] for p in texts.training]
    few = replace(texts, training=(("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")))
    halfway = trained_translation.pairs(replace(spec, mismatched=True), few)
    assert halfway == [("a", "3"), ("b", "4"), ("c", "1"), ("d", "2")]


def test_the_loss_is_that_of_real_pieces_only(spec, texts):
    """Against the cross-entropy written out, without smoothing."""
    spec = replace(spec, recipe=replace(RECIPE, smoothing=0.0))
    found = learnt(texts)
    batch = sentences.Batches(texts.training, found, 300, seed=0).at(0)
    one = model()
    logs = one(batch.source, batch.said).log_softmax(-1)
    each = [
        -logs[i, t, piece]
        for i, row in enumerate(batch.wanted.tolist())
        for t, piece in enumerate(row)
        if piece != PADDING
    ]
    value = trained_translation.loss(one, batch, spec, step=0)
    torch.testing.assert_close(value, torch.stack(each).mean())


def test_the_loss_on_tests_is_the_mean_over_all_their_pieces(spec, texts):
    """Pair by pair, without padding."""
    one, found = model(), learnt(texts)
    logs = []
    for source, target in zip(*map(found.encode, zip(*texts.training, strict=True)), strict=True):
        read, said = torch.tensor([source]), torch.tensor([[BEGIN, *target[:-1]]])
        scores = one(read, said)[0].log_softmax(-1)
        logs += [scores[t, piece].item() for t, piece in enumerate(target)]
    batches = sentences.Batches(texts.training, found, 1000, seed=0)
    assert batches.count > 2
    value = trained_translation.surprise(one, batches, spec)
    assert value == pytest.approx(-np.mean(logs), rel=1e-5)  # float32


def test_what_a_training_tells_and_asks_of_its_texts(spec, texts, monkeypatch):
    asked = {}

    def translations(model, subwords, sentences, spec, *, most):
        asked.update(sentences=sentences, most=most)
        return ["one", "two"]

    monkeypatch.setattr(trained_translation, "translations", translations)
    spec = replace(spec, recipe=replace(RECIPE, steps=3))
    outcome = trained_translation.train(spec, Workspace(), texts=texts)
    assert outcome.numbers["translations"] == "one\ntwo"
    found = sentences.Subwords.of(outcome.tensors[trained_translation.PIECES])
    sources, targets = (
        [len(row) for row in found.encode(side)] for side in zip(*texts.training, strict=True)
    )
    assert asked == {"sentences": [pair[0] for pair in texts.tests], "most": 2 * max(targets)}
    total = sum(sources) + sum(targets)
    batches = math.ceil(total / RECIPE.tokens)
    assert batches > 1
    assert outcome.numbers["tokens"] == pytest.approx(3 * total / batches)


def test_a_translation_may_have_ten_pieces_more_than_twice_the_longest_source(
    spec, texts, monkeypatch
):
    """By a model that repeats the source."""
    one, found, asked = model(), learnt(texts), []

    def greedy(source, most, at):
        asked.append(most)
        return source

    monkeypatch.setattr(one, "greedy", greedy)
    sources = [pair[0] for pair in texts.tests]
    lengths = sorted(len(row) for row in found.encode(sources))
    assert len(lengths) == 10
    assert lengths[0] < lengths[4] < lengths[9]
    for most in (1000, 7):
        said = trained_translation.translations(one, found, sources, spec, most=most, at_once=5)
        assert said == sources
    assert asked == [2 * lengths[4] + 10, 2 * lengths[9] + 10, 7, 7]


def test_translations_are_in_the_order_of_the_sentences(spec, texts):
    """Decoded a few at a time or all at once, sorted or not."""
    one = model()
    found = learnt(texts)
    sources = [pair[0] for pair in texts.tests] + ["the dog ."]
    few, all_at_once = (
        trained_translation.translations(one, found, sources, spec, most=8, at_once=n)
        for n in (2, 100)
    )
    assert few == all_at_once
    alone = trained_translation.translations(one, found, sources[-1:], spec, most=8)
    assert alone == few[-1:]


# --- BLEU ------------------------------------------------------------------------------------------


def test_the_score_of_counts_is_sacrebleus():
    said = ("the cat sat on the mat", "a dog", "nothing at all like it")
    references = ("the cat sat on a mat", "a dog ran off", "something else")
    found = bleu.judged(said, references)
    assert bleu.score(found) == pytest.approx(
        sacrebleu.corpus_bleu(said, [references]).score, abs=1e-9
    )
    assert bleu.score(bleu.judged(references, references)) == pytest.approx(100)
    expected = sacrebleu.corpus_bleu(
        [said[1]] * 2 + [said[0]], [[references[1]] * 2 + [references[0]]]
    )
    assert bleu.score(found, np.array([1, 2, 0])) == pytest.approx(expected.score, abs=1e-9)


def test_systems_are_compared_on_the_same_samples():
    """One that says the same is ahead by 0 in each; a better one by a positive interval."""
    references = tuple(f"this is sentence number {k} of many" for k in range(40))
    worse = tuple(r.replace("number", "no") if k % 2 else r for k, r in enumerate(references))
    good, bad = bleu.judged(references, references), bleu.judged(worse, references)
    assert bleu.estimate(bad, np.random.default_rng(0), bad) == bleu.Estimate(0, 0, 0)
    found = bleu.estimate(good, np.random.default_rng(0), bad)
    alone = bleu.estimate(bad, np.random.default_rng(0))
    assert found.value == pytest.approx(100 - bleu.score(bad))
    assert 5 < found.low < found.value < found.high
    assert (alone.low, alone.high) == pytest.approx((100 - found.high, 100 - found.low))
    assert str(bleu.Estimate(1, 0.5, 2)) == "1.00 (0.50 to 2.00)"
