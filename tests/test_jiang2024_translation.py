"""The translator of Table 1: the order of its source, its layers, greedy decoding."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from repro.jiang2024 import reordering, translation
from repro.jiang2024.sentences import BEGIN, END, PADDING
from repro.jiang2024.translation import GIVEN, MOVED_TO_THE_END, RANDOM, WITHIN_SENTENCES

SHAPE = translation.Shape(pieces=120, layers=2, width=16, heads=2, hidden=32)


def model(shape=SHAPE, seed=0):
    torch.manual_seed(seed)
    return translation.Translator(shape).eval()


def pieces(*shape):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(4, SHAPE.pieces, shape, generator=generator)


def in_order(source, order=GIVEN):
    return translation.places(order, (source != PADDING).sum(1), torch.Generator().manual_seed(0))


def test_orders_by_hand():
    """The first ten of all places go to the end; or those of each sentence; or all, at random."""
    found = translation.places(MOVED_TO_THE_END, torch.tensor([13, 3])).tolist()
    assert found == [[*range(502, 512), 0, 1, 2]] * 2
    found = translation.places(WITHIN_SENTENCES, torch.tensor([13, 10, 11, 3])).tolist()
    assert found[0] == [*range(3, 13), 0, 1, 2]
    assert found[1] == found[3] == list(range(13))
    assert found[2][:11] == [*range(1, 11), 0]
    generator = torch.Generator().manual_seed(0)
    found = translation.places(RANDOM, torch.tensor([9, 9, 4]), generator)
    assert sorted(found[0].tolist()) == list(range(9))
    assert found[0].tolist() != found[1].tolist()
    assert sorted(found[2, :4].tolist()) == [0, 1, 2, 3]


def test_what_has_no_places_is_refused():
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


def test_positions_are_sines_and_cosines():
    found = translation.positions(torch.tensor([0, 7]), 4).tolist()
    assert found[0] == [0, 0, 1, 1]
    assert found[1] == pytest.approx([np.sin(7), np.sin(0.07), np.cos(7), np.cos(0.07)])


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
    recipe = replace(reordering.SMALL.recipe, steps=30, tokens=40)
    setting = reordering.Setting(reordering.SMALL.selection, shape, recipe, 3, seed=5)
    assert setting.operations() == 2 * 3 * (30 * 20) * shape.products()
    tuned = setting.tuned("digest", translation.RANDOM)
    assert (tuned.recipe.steps, tuned.seed, setting.first("digest").seed) == (3, 6, 5)
