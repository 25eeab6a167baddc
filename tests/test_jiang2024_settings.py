"""What the paper and the papers that it cites print of their trainings is what ours at paper scale have."""

import inspect

import pytest
import torch

from repro.jiang2024 import (
    bleu,
    comparison,
    image_settings,
    learner,
    minilm,
    reordering,
    spectra,
    translation,
    vit,
    vit_weights,
)
from repro.training import SGD, Adam


@pytest.mark.parametrize("name", ["LAPTOP_2", "PAPER_2", "LAPTOP_3", "PAPER_3"])
def test_tables_2_and_3_have_the_sizes_of_appendix_c(name):
    """tau = 32, 128 units, n = d_v = m_h = 32, width 128 and depth 3."""
    setting = getattr(comparison, name)
    assert (setting.tau, setting.units) == (32, 128)
    shape = setting.shape
    assert (shape.n, shape.d_v, shape.m_h) == (32, 32, 32)
    assert {(net.width, net.depth, net.sines) for net in (shape.f, shape.F)} == {(128, 3, None)}


def test_figure_1_and_the_printed_adam():
    assert (spectra.TAU, spectra.MOST) == (16, 16)
    assert spectra.Spectrum("2", 1).draw(torch.Generator(), 3).shape == (3, 16, 1)
    default = inspect.signature(torch.optim.Adam).parameters["lr"].default
    recipe = learner.Recipe.printed(5)
    assert recipe.optimizer.lr == default
    assert recipe.schedule.pace(3, 5).factor == 1
    assert (recipe.steps, recipe.batch) == (5, learner.Recipe.ours(5).batch)


def test_images_of_the_paper_are_trained_on_as_dosovitskiy_et_al_do():
    """SGD of momentum 0.9, 10000 steps, batches of 512, rate 0.03; heads of Figure 3 (a)."""
    paper = image_settings.PAPER
    recipe = paper.recipe
    assert recipe.optimizer == SGD(0.03, momentum=0.9)
    assert (recipe.steps, recipe.batch) == (10_000, 512)
    contrast = paper.convolutional("")
    further = paper.continued(contrast, "given").recipe
    others = {paper.further, contrast.recipe, further, paper.sweep_recipe}
    assert others == {recipe}
    assert {1, 3, 50, 55, 64} <= set(paper.head_sizes)
    assert paper.judged == 10_000  # the test images of CIFAR-10
    assert vit.SMALLEST_DEVIATION == 1e-6


def test_translations_of_the_paper_are_trained_as_vaswani_et_al_do():
    """lr = 512^-1/2 min(step^-1/2, step 4000^-3/2), 100000 steps, 25000 tokens of both languages,
    smoothing and dropout 0.1, beta = (0.9, 0.98); newstest2014 has 3003 sentences."""
    paper = reordering.PAPER
    optimizer, schedule = paper.recipe.optimizer, paper.recipe.schedule
    assert optimizer == Adam(optimizer.lr, (0.9, 0.98))
    for step in (1, 1000, 4000, 64_000):
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        rate = optimizer.lr * schedule.pace(step - 1, 100_000).factor
        assert rate == pytest.approx(expected, rel=1e-12)
    assert (paper.recipe.steps, paper.recipe.tokens) == (100_000, 2 * 25_000)
    assert paper.recipe.smoothing == paper.shape.dropout == 0.1
    assert paper.shape.heads == 8
    assert (paper.selection.tests, paper.seed) == (3003, 0)
    assert (translation.MOVED, translation.PLACES, bleu.ORDERS) == (10, 512, 4)


def test_minilm_and_pixels_are_the_published_ones():
    """22713216, less those of the pooler, 384 384 + 384, which is not read; heads of size 32."""
    weights, shape = minilm.MiniLM(minilm.MINILM).parameters(), minilm.MINILM
    assert sum(W.numel() for W in weights) == 22_713_216 - 384 * 384 - 384
    assert (shape.width / shape.heads, shape.positions) == (32, 512)
    assert (minilm.EPSILON, minilm.DEVIATION, minilm.LONGEST) == (1e-12, 0.02, 100)  # of BERT
    # By halves in timm; torchvision's numbers are the statistics of ImageNet.
    assert vit_weights.TIMM.mean == vit_weights.TIMM.deviation == (1 / 2, 1 / 2, 1 / 2)
    assert vit_weights.TORCHVISION.mean == (0.485, 0.456, 0.406)
    assert vit_weights.TORCHVISION.deviation == (0.229, 0.224, 0.225)
