"""The Vision Transformer: sizes, order of patches, scores, and a user's own weights."""

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from repro.data.errors import BadData
from repro.jiang2024 import vit, vit_weights

SMALL = vit.Shape(image=8, patch=2, depth=2, width=12, heads=3, m_h=4, hidden=20)


def images(count, side=8, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 3, side, side, generator=generator, dtype=torch.float64)


def model(shape=SMALL, seed=0):
    """In double, and no parameter left at 0."""
    torch.manual_seed(seed)
    made = vit.VisionTransformer(shape).double()
    for parameter in made.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return made.requires_grad_(False)


def test_the_printed_model_has_85_8_million_parameters():
    """85.8 M count all but the head: 10 classes add 7690, and ImageNet's 1000 would make it 86.6."""
    with torch.device("meta"):
        count = sum(p.numel() for p in vit.VisionTransformer(vit.B16).parameters())
    d, hidden = 768, 3072
    tokens = 16 * 16 * 3 * d + d + d + (14 * 14 + 1) * d  # embedding, class token, positions
    layer = 4 * (d * d + d) + 2 * (2 * d) + (d * hidden + hidden) + (hidden * d + d)
    body = tokens + 12 * layer + 2 * d
    assert body == 85_798_656
    assert count == body + 10 * d + 10
    assert f"{count / 1e6:.1f}" == "85.8"
    assert (vit.B16.heads, vit.B16.m_h, vit.B16.patches) == (12, 64, 196)


@pytest.mark.parametrize("d_v", [None, 7])
def test_products_are_those_that_torch_counts(d_v):
    shape = vit.Shape(image=8, patch=2, depth=2, width=12, heads=3, m_h=5, hidden=20, d_v=d_v)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        vit.VisionTransformer(shape)(images(1).float())
    head = shape.width * shape.classes
    assert counter.get_total_flops() == 2 * (shape.products() + head)


def test_positions_begin_with_the_deviation_of_the_vit():
    """0.02: 65 x 96 draws tell it to one part in 60, three standard errors."""
    torch.manual_seed(0)
    made = vit.VisionTransformer(vit.Shape(32, 4, 1, 96, 2, 4, 8))
    assert made.position.std().item() == pytest.approx(0.02, rel=3 / (2 * 65 * 96) ** 0.5)


def test_orders_of_patches():
    made, x, order = model(), images(2), torch.arange(16).roll(-3)
    plain, moved = made.tokens(x), made.tokens(x, order)
    torch.testing.assert_close(moved[:, 0], plain[:, 0], rtol=0, atol=0)  # the class token stays
    embedded = plain - made.position
    torch.testing.assert_close((moved - made.position)[:, 1:], embedded[:, 1:][:, order])
    made, x = model(), images(3)
    generator = torch.Generator().manual_seed(5)
    orders = torch.stack([torch.randperm(16, generator=generator) for _ in range(3)])
    one_by_one = [made(x[k : k + 1], orders[k]) for k in range(3)]
    torch.testing.assert_close(made(x, orders), torch.cat(one_by_one))


class Reference(nn.Module):
    """The same model from torch's own layers."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Conv2d(3, 12, 2, stride=2)
        self.class_token = nn.Parameter(torch.randn(1, 1, 12))
        self.position = nn.Parameter(torch.randn(1, 17, 12))
        layer = nn.TransformerEncoderLayer(
            12, 3, 20, 0.0, "gelu", 1e-6, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(12, eps=1e-6)
        self.head = nn.Linear(12, 4)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.3)

    def forward(self, x):
        patches = self.embedding(x).flatten(2).mT
        tokens = torch.cat([self.class_token.expand(len(x), 1, 12), patches], 1) + self.position
        return self.head(self.norm(self.layers(tokens))[:, 0])


@pytest.fixture
def reference():
    torch.manual_seed(6)
    return Reference().requires_grad_(False)


# Names as the two libraries have them, beside those of torch's layers
NAMES = {
    "timm": {
        "class_token": "cls_token", "position": "pos_embed", "embedding.": "patch_embed.proj.",
        "layers.layers.": "blocks.", "self_attn.in_proj_": "attn.qkv.",
        "self_attn.out_proj.": "attn.proj.", "linear1.": "mlp.fc1.", "linear2.": "mlp.fc2.",
    },
    "torchvision": {
        "position": "encoder.pos_embedding", "embedding.": "conv_proj.",
        "layers.layers.": "encoder.layers.encoder_layer_", "self_attn.": "self_attention.",
        "norm1.": "ln_1.", "norm2.": "ln_2.", "linear1.": "mlp.0.", "linear2.": "mlp.3.",
        "norm.": "encoder.ln.", "head.": "heads.head.",
    },
}  # fmt: skip
INSIDE = "vit.encoder.layer."
NAMES["transformers"] = {
    "class_token": "vit.embeddings.cls_token", "position": "vit.embeddings.position_embeddings",
    "embedding.": "vit.embeddings.patch_embeddings.projection.", "layers.layers.": INSIDE,
    "self_attn.out_proj.": "attention.output.dense.", "linear1.": "intermediate.dense.",
    "linear2.": "output.dense.", "norm1.": "layernorm_before.", "norm2.": "layernorm_after.",
    "norm.": "vit.layernorm.", "head.": "classifier.",
}  # fmt: skip
NAMES["torchvision, older"] = {
    **NAMES["torchvision"], "linear1.": "mlp.linear_1.", "linear2.": "mlp.linear_2.",
}  # fmt: skip


def named(reference, library):
    tensors = {}
    for name, tensor in reference.state_dict().items():
        for old, new in NAMES[library].items():
            name = name.replace(old, new) if not name.startswith(new) else name
        if library == "transformers" and "in_proj_" in name:
            for part, some in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                ours = f"attention.attention.{part}."
                tensors[name.replace("self_attn.in_proj_", ours)] = some.clone()
        else:
            tensors[name] = tensor.clone()
    return tensors


@pytest.mark.parametrize("library", NAMES)
@pytest.mark.parametrize("suffix", ["safetensors", "pth"])
def test_weights_of_all_libraries_give_torchs_own_output(tmp_path, reference, library, suffix):
    file = tmp_path / f"vit.{suffix}"
    (save_file if suffix == "safetensors" else torch.save)(named(reference, library), file)
    read = vit_weights.read(file, SMALL)
    assert read.layout.name == library.partition(",")[0]
    assert read.model.shape.classes == 4
    x = images(3).float()
    torch.testing.assert_close(read.model(x), reference(x))


def test_a_checkpoint_of_a_training_has_the_model_in_it(tmp_path, reference):
    tensors = named(reference, "timm")
    torch.save({"model": tensors, "epoch": 3}, tmp_path / "vit.pth")
    read = vit_weights.read(tmp_path / "vit.pth", SMALL)
    x = images(1).float()
    torch.testing.assert_close(read.model(x), reference(x))


def test_pixels_are_enlarged_shifted_and_scaled(tmp_path, reference):
    """White and black are 1 and -1 for timm, 2.2489 and -2.1179 in torchvision's red."""
    for library, (black, white) in {"timm": (-1, 1), "torchvision": (-2.1179, 2.2489)}.items():
        save_file(named(reference, library), tmp_path / "vit.safetensors")
        read = vit_weights.read(tmp_path / "vit.safetensors", SMALL)
        pixels = torch.tensor([0, 255], dtype=torch.uint8)[:, None, None, None].expand(2, 3, 4, 4)
        seen = read.prepared(pixels)
        assert seen.shape == (2, 3, 8, 8)
        assert seen[0, 0].unique().item() == pytest.approx(black, abs=1e-4)
        assert seen[1, 0].unique().item() == pytest.approx(white, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "tensor", "says"),
    [
        ("blocks.1.attn.qkv.weight", torch.zeros(24, 12),
         r"expected 'blocks.1.attn.qkv.weight' of shape \(36, 12\), found \(24, 12\)"),
        ("pos_embed", torch.zeros(1, 37, 12),
         r"'pos_embed' of shape \(1, 17, 12\), found \(1, 37, 12\)"),
        ("norm.bias", None, r"expected a tensor 'norm.bias' of shape \(12,\), there is none"),
        ("head.weight", None, r"expected a tensor 'head.weight' of shape \(10, 12\), there is none"),
        ("head.weight", torch.zeros(4),
         r"expected 'head.weight' of shape \(10, 12\), found \(4,\)"),
        ("cls_token", None, r"expected a tensor 'cls_token' \(timm\) or 'class_token' \(torchv"),
        ("blocks.0.ls1.gamma", torch.ones(12), "found 'blocks.0.ls1.gamma' besides"),
        ("dist_token", torch.zeros(1, 1, 12), "found 'dist_token' besides"),
    ],
    ids=["shape", "resolution", "missing", "no head", "flat head", "another model",
         "layer scale", "distilled"],
)  # fmt: skip
def test_another_model_is_named_with_both_shapes(tmp_path, reference, name, tensor, says):
    tensors = named(reference, "timm") | {name: tensor}
    file = tmp_path / "vit.safetensors"
    save_file({n: t for n, t in tensors.items() if t is not None}, file)
    with pytest.raises(BadData, match=rf"vit\.safetensors: .*{says}"):
        vit_weights.read(file, SMALL)
