"""Figure 2: twins that differ where they should and nowhere else, and inputs of two kinds."""

import weakref

import pytest
import torch
from safetensors.torch import save_file

from repro.data import parallel
from repro.jiang2024 import minilm, subjects, vit

VIT = vit.Shape(image=8, patch=2, depth=2, width=12, heads=3, m_h=4, hidden=20)
MINILM = minilm.Shape(words=9, positions=9, depth=2, width=12, heads=3, hidden=20)
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "one", "two", "three", "four", "."]


@pytest.fixture
def images():
    torch.manual_seed(0)
    return subjects.of_images(VIT.build(), VIT.build(), torch.randn(6, 3, 8, 8))


@pytest.fixture
def sentences(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES))
    weights = minilm.MiniLM.untrained(1, MINILM).state_dict()
    save_file(weights, tmp_path / "model.safetensors")
    english = ["One.", "Two three four one.", "One two three four.", "Four four one two three."]
    parallel.write(tmp_path, "all", [(line, "Eins zwei drei vier.") for line in english])
    return subjects.of_sentences(tmp_path, tmp_path, count=3, tau=7, seed=0, shape=MINILM)


@pytest.mark.parametrize("kind", ["images", "sentences"])
def test_only_the_last_layer_of_the_redrawn_network_differs(kind, request):
    """Its queries and keys, not the tokens that they are of: those of a twin would differ."""
    subject = request.getfixturevalue(kind)
    trained, redrawn, untrained = (
        subject.heads(network).values for network in ("trained", "redrawn", "untrained")
    )
    torch.testing.assert_close(redrawn[0], trained[0], rtol=0, atol=0)
    for other in (trained, untrained):
        assert not torch.isclose(redrawn[1], other[1]).all(-1).any()
    assert not torch.isclose(untrained[0], trained[0]).all(-1).any()


def test_every_other_image_is_of_one_colour(images):
    assert (images.mixed[1::2] == images.inputs[1::2]).all()
    assert images.mixed[::2].std((-1, -2)).max() < 1e-12
    torch.testing.assert_close(images.mixed.mean((-1, -2)), images.inputs.mean((-1, -2)))


def test_every_other_sentence_is_one_word_repeated(sentences):
    first, second, third = [2, 5, 6, 7, 4, 8, 3], [2, 4, 5, 6, 7, 8, 3], [2, 7, 7, 4, 5, 6, 3]
    assert sentences.inputs.tolist() == [first, second, third]
    assert sentences.mixed.tolist() == [[2, *[5] * 5, 3], second, [2, *[7] * 5, 3]]


def test_what_the_softmax_sees_is_of_the_last_layer(images):
    scores = images.trained.scores(images.inputs)[-1]  # (inputs, heads, tau, tau)
    expected = torch.linalg.svdvals(scores - scores.mean(-1, keepdim=True)).transpose(0, 1)
    torch.testing.assert_close(images.seen("trained").spectra[0], expected)


def test_what_was_found_is_kept_with_the_subject_and_goes_with_it():
    subject = subjects.of_images(VIT.build(), VIT.build(), torch.randn(2, 3, 8, 8))
    assert subject.heads("trained") is subject.heads("trained")
    left = weakref.ref(subject)
    del subject
    assert left() is None
