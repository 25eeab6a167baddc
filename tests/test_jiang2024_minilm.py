"""MiniLM: words into pieces, and the forward pass against torch's own layers."""

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from repro.data.errors import BadData
from repro.jiang2024 import minilm, scores

SMALL = minilm.Shape(words=20, positions=9, depth=3, width=12, heads=3, hidden=20)
LIST = "[PAD] [UNK] [CLS] [SEP] un ##aff ##able ##a cafe a ! ' $".split()  # noqa: SIM905


@pytest.fixture
def pieces(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(LIST), encoding="utf-8")
    return minilm.Pieces.read(tmp_path / "vocab.txt")


def small(seed=0):
    """No bias at 0, no scale at 1."""
    model = minilm.MiniLM.untrained(seed, SMALL).double()
    torch.manual_seed(seed)
    for W in model.parameters():
        W.add_(0.3 * torch.randn_like(W))
    return model


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unaffable", ["un", "##aff", "##able"]),  # the longest beginning, then what continues it
        ("una", ["un", "##a"]),
        ("affable", ["[UNK]"]),  # '##aff' begins no word
        ("unx", ["[UNK]"]),  # not 'un' and a rest
        ("Café!", ["cafe", "!"]),
        ("a'a $a", ["a", "'", "a", "$", "a"]),
        ("a\u00ada\ta\n", ["a", "##a", "a"]),  # a soft hyphen is no letter
        ("«a»", ["[UNK]", "a", "[UNK]"]),
        ("un" + "a" * 99, ["[UNK]"]),  # 101 letters
        ("un" + "a" * 98, ["un", *["##a"] * 98]),
        (" ", []),
    ],
)
def test_pieces_of_words(pieces, text, expected):
    names = [LIST[number] for number in pieces.of(text)]
    assert names == ["[CLS]", *expected, "[SEP]"]


def test_batches_and_texts_of_one_length(pieces):
    tokens, real = pieces.batch(["a", "a a!"])
    assert tokens.tolist() == [[2, 9, 3, 0, 0], [2, 9, 9, 10, 3]]
    assert real.tolist() == [[True, True, True, False, False], [True] * 5]
    tokens = pieces.of_length(["a", "a a !", "a ! a a a", "a a a"], tau=5, count=2)
    assert tokens.tolist() == [[2, 9, 9, 10, 3], [2, 9, 10, 9, 3]]
    with pytest.raises(LookupError, match="3 texts have 5 pieces or more, 4 are needed"):
        pieces.of_length(["a", "a a !", "a ! a a a", "a a a"], tau=5, count=4)


def torchs_layer(model, number):
    """nn.TransformerEncoderLayer with the weights of a layer of the model."""
    found = nn.TransformerEncoderLayer(
        12, 3, 20, 0.0, "gelu", 1e-12, batch_first=True, dtype=torch.float64
    )
    names = {
        "self_attn.out_proj": "attention.output.dense", "linear1": "intermediate.dense",
        "linear2": "output.dense", "norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm",
    }  # fmt: skip
    prefix, weights, state = f"encoder.layer.{number}", model.state_dict(), {}
    for part in ("weight", "bias"):
        fused = [
            weights[f"{prefix}.attention.self.{name}.{part}"] for name in ("query", "key", "value")
        ]
        state[f"self_attn.in_proj_{part}"] = torch.cat(fused)
        for theirs, ours in names.items():
            state[f"{theirs}.{part}"] = weights[f"{prefix}.{ours}.{part}"]
    found.load_state_dict(state)
    return found.requires_grad_(False)


def embedded(model, tokens):
    weights = {name: W for name, W in model.state_dict().items() if name.startswith("embeddings")}
    word, position, kind, scale, shift = weights.values()
    x = word[tokens] + position[: tokens.shape[1]] + kind[0]
    x = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0)
    return x * scale + shift


def test_scores_and_states_are_those_of_torchs_own_layers():
    """The weights of nn.MultiheadAttention, head by head, in all three layers."""
    model = small()
    tokens = torch.randint(20, (4, 7), generator=torch.Generator().manual_seed(1))
    x = embedded(model, tokens)
    every = [scores.of(Q, K) for Q, K in model.queries_and_keys(tokens)]
    assert len(every) == 3
    for number, found in enumerate(every):
        layer = torchs_layer(model, number)
        _, weights = layer.self_attn(x, x, x, average_attn_weights=False)
        torch.testing.assert_close(found.softmax(-1), weights)
        x = layer(x)
    torch.testing.assert_close(model(tokens), x)


def test_padding_does_not_matter():
    model, tokens = small(), torch.tensor([[2, 5, 6, 3]])
    padded = torch.cat([tokens, torch.tensor([[0, 0, 0]])], 1)
    real = torch.tensor([[True] * 4 + [False] * 3])
    torch.testing.assert_close(model(padded, real)[:, :4], model(tokens))
    alone = model.embedding(tokens, torch.ones(1, 4, dtype=torch.bool))
    torch.testing.assert_close(model.embedding(padded, real), alone)
    assert alone.norm().item() == pytest.approx(1)


def test_weights_are_read_and_others_are_named(tmp_path):
    file, model = tmp_path / "model.safetensors", small()
    save_file({name: W.float() for name, W in model.state_dict().items()}, file)
    tokens = torch.tensor([[2, 5, 3]])
    read = minilm.MiniLM.read(file, SMALL)
    torch.testing.assert_close(read(tokens).double(), model(tokens), rtol=1e-4, atol=1e-5)
    with pytest.raises(BadData, match=r"model\.safetensors: expected 'embeddings\.word.*' of shape "
                       r"\(30522, 384\), found \(20, 12\)"):  # fmt: skip
        minilm.MiniLM.read(file)


def test_the_untrained_twin_depends_on_its_seed_only():
    one, same, other = (minilm.MiniLM.untrained(seed, SMALL).state_dict() for seed in (0, 0, 1))
    name = "encoder.layer.0.attention.self.query.weight"
    assert torch.equal(one[name], same[name])
    assert not torch.equal(one[name], other[name])
    assert one[name].std().item() == pytest.approx(0.02, rel=0.2)
    assert not one["encoder.layer.0.attention.self.query.bias"].any()
    assert (one["embeddings.LayerNorm.weight"] == 1).all()
