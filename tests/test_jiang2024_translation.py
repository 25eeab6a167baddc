"""Table 1, ENG-DE: sentences, pieces, the translator and its training."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sacrebleu
import torch
from generated_data import parallel_text
from torch import nn

from repro.data.errors import BadData
from repro.jiang2024 import bleu, reordering, sentences, subwords, trained_translation, translation
from repro.jiang2024.subwords import BEGIN, END, PADDING
from repro.jiang2024.translation import GIVEN, MOVED_TO_THE_END, RANDOM, WITHIN_SENTENCES
from repro.training import Adam, Muon, Store, Trapezoid, Workspace
from repro.training.loop import generator_at

SHAPE = translation.Shape(pieces=120, layers=2, width=16, heads=2, hidden=32)
RECIPE = trained_translation.Recipe(Adam(3e-3), Trapezoid(), steps=45, tokens=300)
SELECTION = sentences.Selection(least=3, most=20, tests=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("text")
    parallel_text(place, np.random.default_rng(0), training=80, tests=20)
    return place


@pytest.fixture(scope="module")
def texts(folder):
    return sentences.load(folder, SELECTION)


@pytest.fixture
def spec(texts):
    return trained_translation.FitTranslation(texts.digest, SHAPE, RECIPE, seed=0)


def model(shape=SHAPE, seed=0):
    torch.manual_seed(seed)
    return translation.Translator(shape).eval()


def learnt(texts):
    return subwords.learn([side for pair in texts.training for side in pair], 120)


def pieces(*shape):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(4, SHAPE.pieces, shape, generator=generator)


# --- sentences and pieces ------------------------------------------------------------------------


def test_help_texts_are_split_and_no_test_sentence_is_trained_on(tmp_path):
    every = [(f"one two {k}", f"eins zwei {k // 2}") for k in range(30)]
    sentences.parallel.write(tmp_path, "all", [*every, ("too short", "zu kurz")])
    found = sentences.load(tmp_path, replace(SELECTION, tests=9))
    assert found.name == sentences.HELP_TEXTS
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
    found = subwords.learn(every, 120)
    assert len(found) <= 120
    assert [found.decode(row) for row in found.encode(every)] == every
    assert all(row[-1] == END for row in found.encode(every))
    assert found == subwords.learn(every, 120)
    assert subwords.Subwords.of(found.tensor()) == found


def test_an_epoch_has_every_pair_once_in_batches_of_similar_lengths(texts):
    found = subwords.learn([side for pair in texts.training for side in pair], 40)
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


# --- the order of the source ---------------------------------------------------------------------


def in_order(source, order=GIVEN):
    return translation.places(order, (source != PADDING).sum(1), torch.Generator().manual_seed(0))


def test_the_first_ten_of_all_places_go_to_the_end():
    found = translation.places(MOVED_TO_THE_END, torch.tensor([13, 3])).tolist()
    assert found == [[*range(502, 512), 0, 1, 2]] * 2


def test_the_first_ten_of_each_sentence_go_to_its_end():
    found = translation.places(WITHIN_SENTENCES, torch.tensor([13, 10, 11, 3])).tolist()
    assert found[0] == [*range(3, 13), 0, 1, 2]
    assert found[1] == found[3] == list(range(13))
    assert found[2][:11] == [*range(1, 11), 0]


def test_random_orders_are_fresh_and_of_the_sentence_alone():
    generator = torch.Generator().manual_seed(0)
    found = translation.places(RANDOM, torch.tensor([9, 9, 4]), generator)
    assert sorted(found[0].tolist()) == list(range(9))
    assert found[0].tolist() != found[1].tolist()
    assert sorted(found[2, :4].tolist()) == [0, 1, 2, 3]


def test_what_has_no_places_is_refused():
    with pytest.raises(ValueError, match="order must be one of given, first ten"):
        translation.places("reversed", torch.tensor([3]))
    with pytest.raises(ValueError, match="a random order needs a generator"):
        translation.places(RANDOM, torch.tensor([3]))
    with pytest.raises(ValueError, match="has 512 places, got a sentence of 513 pieces"):
        translation.places(GIVEN, torch.tensor([513]))
    assert translation.places(GIVEN, torch.tensor([512])).tolist() == [[*range(512)]]


def test_places_are_a_permutation_between_embedding_and_position_encoding():
    """Against the permutation itself: a sequence of 512 embedded tokens, rolled by ten, encoded."""
    one, source, target = model(), pieces(2, 13), pieces(2, 5)
    source[1, 4:] = PADDING
    wide = torch.cat([source, torch.full((2, 499), PADDING)], dim=1)
    moved, every = wide.roll(-10, dims=1), torch.arange(512)
    tokens = (one.embedding(wide) * SHAPE.width**0.5).roll(-10, dims=1)
    torch.testing.assert_close(
        one.embedded(moved, every), tokens + translation.positions(every, SHAPE.width)
    )
    expected = one(moved, target, every)
    torch.testing.assert_close(one(source, target, in_order(source, MOVED_TO_THE_END)), expected)
    assert not torch.allclose(one(source, target, in_order(source)), expected)


# --- the model -----------------------------------------------------------------------------------


def test_positions_are_sines_and_cosines():
    found = translation.positions(torch.tensor([0, 7]), 4).tolist()
    assert found[0] == [0, 0, 1, 1]
    assert found[1] == pytest.approx([np.sin(7), np.sin(0.07), np.cos(7), np.cos(0.07)])


def test_scores_have_a_number_for_each_piece():
    source = pieces(3, 7)
    assert model()(source, pieces(3, 5), in_order(source)).shape == (3, 5, SHAPE.pieces)


TORCHS = {
    "attention.W_O": "self_attn.out_proj", "reading.W_O": "multihead_attn.out_proj",
    "mlp.0": "linear1", "mlp.2": "linear2", "norm_1": "norm1", "norm_2": "norm2", "norm_3": "norm3",
}  # fmt: skip


def torchs_layer(kind, layer):
    """A layer of torch with the weights of ours."""
    found = kind(16, 2, 32, 0.0, batch_first=True, norm_first=True, dtype=torch.float64)
    ours, state = layer.state_dict(), {}
    for name in ours:
        module, part = name.rsplit(".", 1)
        if module in TORCHS:
            state[f"{TORCHS[module]}.{part}"] = ours[name]
        elif module.endswith("W_Q"):
            theirs = TORCHS[module.replace("W_Q", "W_O")].replace("out_proj", f"in_proj_{part}")
            state[theirs] = torch.cat([ours[name.replace("W_Q", W)] for W in ("W_Q", "W_K", "W_V")])
    found.load_state_dict(state)
    return found


@torch.no_grad()
def test_the_model_is_made_of_torchs_own_layers():
    one, source, target = model().double(), pieces(2, 7), pieces(2, 5)
    for parameter in one.parameters():
        parameter.normal_(std=0.3)  # no bias at 0, no scale at 1
    source[1, 4:] = PADDING
    x, y = (
        4 * one.embedding(said) + translation.positions(torch.arange(said.shape[1]), 16)
        for said in (source, target)
    )
    for layer in one.encoder:
        x = torchs_layer(nn.TransformerEncoderLayer, layer)(x, None, source == PADDING)
    later = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    for layer in one.decoder:
        read = {"tgt_mask": later, "memory_key_padding_mask": source == PADDING}
        y = torchs_layer(nn.TransformerDecoderLayer, layer)(y, one.norm_source(x), **read)
    expected = one.norm(y) @ one.embedding.weight.T
    torch.testing.assert_close(one(source, target, in_order(source)), expected)


@torch.no_grad()
def test_tokens_one_after_the_other_are_those_of_the_whole():
    one, source = model().double(), pieces(2, 7)
    for parameter in one.parameters():
        parameter.normal_(std=0.3)
    read = one.read(source, in_order(source))
    x = one.embedded(pieces(2, 5), torch.arange(5))
    for layer, given in zip(one.decoder, read.source, strict=True):
        whole, _ = layer(x, given, read.seen)
        past, alone = None, []
        for t in range(5):
            y, past = layer(x[:, t : t + 1], given, read.seen, past)
            alone.append(y)
        torch.testing.assert_close(torch.cat(alone, dim=1), whole)


@pytest.mark.parametrize("order", [GIVEN, MOVED_TO_THE_END])
def test_decoding_with_kept_keys_is_decoding_anew(order):
    one, source = model(), pieces(4, 12)
    with torch.no_grad():  # norms are alike before training
        for norm in (part for part in one.modules() if isinstance(part, torch.nn.LayerNorm)):
            norm.weight.uniform_(0.5, 2)
            norm.bias.uniform_(-1, 1)
    at = in_order(source, order)
    found = one.greedy(source, 9, at)
    said = torch.full((4, 1), BEGIN)
    for _ in range(found.shape[1]):
        best = one(source, said, at)[:, -1].argmax(-1)
        over = (said == END).any(1)
        said = torch.cat([said, torch.where(over, PADDING, best)[:, None]], dim=1)
    assert torch.equal(found, said[:, 1:])
    assert len({tuple(row) for row in found.tolist()}) > 1


def test_decoding_stops_at_the_end():
    one, source = model(), pieces(3, 4)
    with torch.no_grad():  # END alone: its score is the largest whatever was said
        one.norm.weight.zero_()
        one.norm.bias.copy_(one.embedding.weight[END])
        one.embedding.weight[torch.arange(SHAPE.pieces) != END] *= 0.01
    assert one.greedy(source, 9, in_order(source)).tolist() == [[END]] * 3


@pytest.mark.parametrize("most", [9, 2])
def test_a_sentence_that_has_ended_waits_for_the_others(most, monkeypatch):
    """The best pieces are given: one ends after the second, the other after the third."""
    one, source = model(), pieces(2, 4)
    best = iter(torch.tensor([[5, 7], [END, 8], [6, END], [6, 6]]))
    monkeypatch.setattr(one, "scores", lambda _: torch.eye(SHAPE.pieces)[next(best)])
    expected = [[5, END, PADDING], [7, 8, END]]
    assert one.greedy(source, most, in_order(source)).tolist() == [row[:most] for row in expected]


def test_embedded_pieces_begin_with_deviation_1_beside_sines():
    shape = replace(SHAPE, pieces=1000, width=64)
    x = model(shape).embedded(torch.arange(1000), torch.zeros(1, dtype=torch.int64))
    drawn = x - translation.positions(torch.zeros(1), 64)
    assert drawn.std().item() == pytest.approx(1, abs=0.02)  # seven standard errors


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="a width of 16 does not divide into 3 heads"):
        replace(SHAPE, heads=3)
    assert replace(SHAPE, width=6, heads=3).heads == 3  # heads of size 2: one sine, one cosine


def test_heads_of_an_odd_size_are_refused():
    """Three of size 3: a width of 9 has no pairs of a sine and a cosine."""
    with pytest.raises(ValueError, match="a width of 9 does not divide into 3 heads"):
        replace(SHAPE, width=9, heads=3)


def test_the_base_model_has_the_known_number_of_parameters():
    """Attention 4 (512 + 1) 512, MLP 2 x 512 x 2048 with biases, norms 2 x 512: 63.1 M, where
    Vaswani et al. print 65 M for "about 37000" pieces."""
    with torch.device("meta"):
        base = translation.Translator(translation.BASE)
    attention, mlp, norm = 4 * 513 * 512, 2 * 512 * 2048 + 2048 + 512, 2 * 512
    layers = 6 * (attention + mlp + 2 * norm) + 6 * (2 * attention + mlp + 3 * norm)
    found = sum(p.numel() for p in base.parameters())
    assert found == 37000 * 512 + layers + 2 * norm
    assert found == pytest.approx(65e6, rel=0.03)


def test_products_of_a_translator_are_its_matrices():
    """One token on either side meets every matrix once; the embedding is the last layer."""
    shape = translation.Shape(pieces=50, layers=3, width=12, heads=3, hidden=7)
    model = translation.Translator(shape)
    matrices = sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Linear))
    assert shape.products() == matrices + 50 * 12
    recipe = trained_translation.Recipe(
        reordering.SMALL.recipe.optimizer, trained_translation.InverseRoot(5), 30, 40
    )
    setting = reordering.Setting(reordering.SMALL.selection, shape, recipe, 3, seed=5)
    assert setting.operations() == 2 * 3 * (30 * 20) * shape.products()
    tuned = setting.tuned("digest", translation.RANDOM)
    assert (tuned.recipe.steps, tuned.seed, setting.first("digest").seed) == (3, 6, 5)


def test_the_printed_schedule():
    schedule = trained_translation.InverseRoot(100)
    assert schedule.pace(99, 1000).factor == 1
    assert schedule.pace(49, 1000).factor == 0.5
    assert schedule.pace(399, 1000).factor == 0.5


# --- training ------------------------------------------------------------------------------------


def test_an_interrupted_training_ends_with_the_same_bits(tmp_path, monkeypatch, spec, texts):
    spec = replace(spec, shape=replace(SHAPE, dropout=0.1), order=RANDOM)

    def train(spec, workspace):
        return trained_translation.train(spec, workspace, texts=texts)

    drawn = sentences.Batches.at

    def interrupted(self, step):
        if step == 30:
            raise KeyboardInterrupt
        return drawn(self, step)

    store = Store(tmp_path / "one", checkpoint_every=0.0)
    monkeypatch.setattr(sentences.Batches, "at", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.get(spec, train)
    monkeypatch.undo()
    resumed, whole = store.get(spec, train), Store(tmp_path / "other").get(spec, train)
    assert "resumed from step 21 of 45" in resumed.reason
    assert resumed.outcome.numbers == whole.outcome.numbers
    for name, tensor in resumed.outcome.tensors.items():
        assert torch.equal(tensor, whole.outcome.tensors[name])


def test_no_two_draws_of_a_training_share_their_stream(spec, texts, monkeypatch):
    """An epoch is one batch here, and so are the tests: four epochs, four steps, the first weights,
    the loss on tests and the translations."""
    streams = {sentences: [], trained_translation: []}
    for module, asked in streams.items():

        def noted(seed, step, asked=asked):
            asked.append(step)
            return generator_at(seed, step)

        monkeypatch.setattr(module, "generator_at", noted)
    recipe = replace(RECIPE, steps=4, tokens=10**6)
    spec = replace(spec, recipe=recipe, order=RANDOM)
    trained_translation.train(spec, Workspace(), texts=texts)
    batches, others = streams.values()
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


def test_small_translators_are_trained_with_the_moments_of_vaswani_et_al():
    """Adam's beta = (0.9, 0.98) where Muon is not used: for the embedding, and for vectors."""
    recipe = reordering._muon(0.5, 0.25, steps=3, tokens=40)
    assert recipe.optimizer == Muon(0.5, Adam(0.25, (0.9, 0.98)), apart=("embedding",))
    assert (recipe.steps, recipe.tokens) == (3, 40)


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
    logs = one(batch.source, batch.said, in_order(batch.source)).log_softmax(-1)
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
        scores = one(read, said, in_order(read))[0].log_softmax(-1)
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
    found = subwords.Subwords.of(outcome.tensors[trained_translation.PIECES])
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


# --- BLEU ----------------------------------------------------------------------------------------


def test_the_score_of_counts_is_sacrebleus():
    said = ["the cat sat on the mat", "a dog", "nothing at all like it"]
    references = ["the cat sat on a mat", "a dog ran off", "something else"]
    found = bleu.judged(said, references)
    assert found.score == pytest.approx(sacrebleu.corpus_bleu(said, [references]).score, abs=1e-9)
    assert bleu.judged(references, references).score == pytest.approx(100)
    expected = sacrebleu.corpus_bleu(
        [said[1]] * 2 + [said[0]], [[references[1]] * 2 + [references[0]]]
    )
    assert found.resampled(np.array([[1, 2, 0]]))[0] == pytest.approx(expected.score, abs=1e-9)
    with pytest.raises(ValueError, match="one sentence or more"):
        bleu.judged([], [])


def test_systems_are_compared_on_the_same_samples():
    """One that says the same is ahead by 0 in each; a better one by a positive interval."""
    references = [f"this is sentence number {k} of many" for k in range(40)]
    worse = [r.replace("number", "no") if k % 2 else r for k, r in enumerate(references)]
    good, bad = bleu.judged(references, references), bleu.judged(worse, references)
    assert bleu.estimate(bad, np.random.default_rng(0), bad) == bleu.Estimate(0, 0, 0)
    found = bleu.estimate(good, np.random.default_rng(0), bad)
    alone = bleu.estimate(bad, np.random.default_rng(0))
    assert found.value == pytest.approx(100 - bad.score)
    assert 5 < found.low < found.value < found.high
    assert (alone.low, alone.high) == pytest.approx((100 - found.high, 100 - found.low))
    assert str(bleu.Estimate(1, 0.5, 2)) == "1.00 (0.50 to 2.00)"
