"""What jiang2024 is trained with: printed numbers are those of the papers, ours fit together."""

import inspect
import math

import pytest
import torch
from torch import nn

from repro.jiang2024 import (
    bleu,
    comparison,
    complexity,
    convolution,
    couplings,
    image_settings,
    learner,
    memory,
    minilm,
    output_floor,
    rate,
    reordering,
    scores,
    spectra,
    tasks,
    trained_translation,
    translation,
    vit,
    vit_weights,
)
from repro.training import SGD, Adam

# --- printed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["LAPTOP_2", "PAPER_2", "LAPTOP_3", "PAPER_3"])
def test_tables_2_and_3_have_the_sizes_of_appendix_c(name):
    """tau = 32, 128 units, n = d_v = m_h = 32, width 128 and depth 3."""
    setting = getattr(comparison, name)
    assert (setting.tau, setting.units) == (32, 128)
    shape = setting.shape
    assert (shape.n, shape.d_v, shape.m_h) == (32, 32, 32)
    assert {(net.width, net.depth, net.sines) for net in (shape.f, shape.F)} == {(128, 3, None)}


def test_figure_1_has_the_sizes_of_section_5_1():
    assert (spectra.TAU, spectra.MOST) == (16, 16)
    assert spectra.Spectrum("2", 1).draw(torch.Generator(), 3).shape == (3, 16, 1)


def test_images_of_the_paper_are_trained_on_as_dosovitskiy_et_al_do():
    """SGD of momentum 0.9, 10000 steps, batches of 512, rate 0.03; heads of Figure 3 (a)."""
    paper = image_settings.PAPER
    recipe = paper.recipe
    assert recipe.optimizer == SGD(0.03, momentum=0.9)
    assert (recipe.steps, recipe.batch) == (10_000, 512)
    others = {paper.further, paper.contrast_recipe, paper.contrast_further, paper.sweep_recipe}
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


def test_minilm_has_the_published_number_of_weights():
    """22713216, less those of the pooler, 384 384 + 384, which is not read; heads of size 32."""
    sizes = minilm.Shape().tensors().values()
    assert sum(torch.Size(size).numel() for size in sizes) == 22_713_216 - 384 * 384 - 384
    assert (minilm.Shape().m_h, minilm.Shape().positions) == (32, 512)
    assert (minilm.EPSILON, minilm.DEVIATION, minilm.LONGEST) == (1e-12, 0.02, 100)  # of BERT


def test_pixels_are_scaled_as_the_layouts_have_them():
    """By halves in timm; torchvision's numbers are the statistics of ImageNet."""
    assert vit_weights.TIMM.mean == vit_weights.TIMM.deviation == (1 / 2, 1 / 2, 1 / 2)
    assert vit_weights.TORCHVISION.mean == (0.485, 0.456, 0.406)
    assert vit_weights.TORCHVISION.deviation == (0.229, 0.224, 0.225)


def test_the_printed_adam_has_the_rate_of_torch():
    default = inspect.signature(torch.optim.Adam).parameters["lr"].default
    recipe = learner.Recipe.printed(5)
    assert recipe.optimizer.lr == default
    assert recipe.schedule.pace(3, 5).factor == 1
    assert (recipe.steps, recipe.batch) == (5, learner.Recipe.ours(5).batch)


def test_tasks_have_the_sizes_of_appendix_b():
    """Points of the plane; tau = 8 and k = 3 in (66)."""
    sizes = [(t.inputs, t.outputs) for t in (tasks.Nearest(), tasks.Gravity(), tasks.Selection())]
    assert sizes == [(4, 2), (5, 1), (6, 2)]
    assert (tasks.Selection().tau, tasks.Selection().k) == (8, 3)
    assert tasks.Gravity().layouts(3) == [(2,)]


def test_points_and_masses_are_drawn_as_the_readings_say():
    """Points from [-1, 1]^d, masses from [1/10, 1]; 4000 draws reach within 1/100 of every end."""
    generator = torch.Generator().manual_seed(0)
    points = tasks.Nearest().draw(generator, 1000)
    assert points.shape == (1000, 6, 4)
    assert -1 <= points.min() < -0.99 < 0.99 < points.max() <= 1
    masses = tasks.Gravity().draw(generator, 1000)[..., 2]
    masses = masses[masses > 0]
    assert 0.1 <= masses.min() < 0.11 < 0.99 < masses.max() <= 1


def test_what_is_left_out_is_plain():
    """Defaults: one room, one coordinate, Lipschitz constants and heights 1, no sharpening."""
    sigma = couplings.powers(2, 3)
    assert couplings.Coupling(sigma).pieces == couplings.endless(2, 3).pieces == 0
    assert output_floor.Pair(2, 9).tau == 2
    assert (memory.spike(2).first, memory.Exponential(1, 1).sign) == ((0, 0, 1), 1)
    assert float(rate.mean_square_bound(8)) == 1
    assert float(rate.encoded_bound(2, 4)) == pytest.approx(1 / (3 * 64))
    assert learner.Shape().sharpen == 1
    assert vit.Shape(8, 4, 1, 4, 1, 2, 4).classes == 10
    assert translation.Shape(9, 1, 4, 1, 4).dropout == 0
    assert torch.finfo(torch.float64).eps / 2 == scores.UNIT


def test_schemes_of_equation_13():
    """sup |f''| / 8 with beta = 2 and the Fourier moment with 1/2, of sqrt2 sin(2 pi 3 x)."""
    omega = 6 * math.pi
    for scheme, beta, constant in (
        (complexity.INTERPOLATION, 2, omega**2 / 8),
        (complexity.BARRON, 1 / 2, omega),
    ):
        assert float(scheme.beta) == beta
        assert float(scheme.of_wave(3)) == pytest.approx(math.sqrt(2) * constant)
    first = complexity.BARRON.of_wave(1)
    assert float(complexity.C_2(complexity.BARRON, 1) / first) == pytest.approx(2)
    assert float(complexity.least_bill(3)) == pytest.approx(math.pi**2 / 4)  # p = 1, one room


# --- ours ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SMOKE", "LAPTOP", "PAPER"])
def test_the_contrast_sees_the_same_patches(name):
    setting = getattr(image_settings, name)
    network, contrast = setting.network, setting.contrast
    for size in ("image", "patch", "depth", "width", "classes", "patches"):
        assert getattr(network, size) == getattr(contrast, size)
    assert contrast.side**2 == contrast.patches
    assert setting.convolutional("digest").seed == setting.original("digest").seed == 0


@pytest.mark.parametrize("setting", [image_settings.SMOKE, image_settings.LAPTOP])
def test_the_contrast_is_trained_as_long(setting):
    for ours, theirs in (
        (setting.recipe, setting.contrast_recipe),
        (setting.further, setting.contrast_further),
    ):
        assert (ours.steps, ours.batch) == (theirs.steps, theirs.batch)
    assert setting.further.optimizer.lr == setting.recipe.optimizer.lr / 2
    assert setting.contrast_further.optimizer.lr == setting.contrast_recipe.optimizer.lr / 2
    assert setting.recipe.optimizer.rest == setting.further.optimizer.rest
    assert setting.further.batch == setting.sweep_recipe.batch == setting.recipe.batch


@pytest.mark.parametrize("setting", [image_settings.SMOKE, image_settings.LAPTOP])
def test_the_swept_network_sees_the_same_patches_and_has_its_own_head_among_the_sizes(setting):
    network, swept = setting.network, setting.swept
    for size in ("image", "patch", "depth"):
        assert getattr(network, size) == getattr(swept, size)
    assert network.image == 32  # CIFAR-10's own, not enlarged
    assert swept.m_h in setting.head_sizes
    assert setting.head_sizes[0] == 1
    assert setting.head_sizes[-1] == 4 * swept.m_h
    assert sorted(set(setting.head_sizes)) == list(setting.head_sizes)
    assert setting.seeds == image_settings.PAPER.seeds == 2
    assert (network.heads, network.m_h, network.hidden) == (2, 2 * swept.m_h, 2 * network.width)


def test_the_laptop_has_64_patches_and_two_layers_and_smoke_one_of_the_smallest():
    laptop, smallest = image_settings.LAPTOP, image_settings.SMOKE.swept
    assert (laptop.network.patches, laptop.network.depth) == (64, 2)
    assert (laptop.swept.heads, laptop.swept.hidden) == (2, 2 * laptop.swept.width)
    assert set(laptop.head_sizes) < set(image_settings.PAPER.head_sizes)
    assert (smallest.heads, smallest.depth) == (1, 1)
    assert smallest.hidden == smallest.width == image_settings.SMOKE.network.width


@pytest.mark.parametrize("scale", ["LAPTOP", "PAPER"])
def test_tables_2_and_3_have_the_same_sizes_the_third_half_the_rate(scale):
    """From weak first couplings in Table 2, from strong ones in Table 3."""
    second, third = (getattr(comparison, f"{scale}_{number}") for number in (2, 3))
    for size in ("tau", "seeds", "units", "recurrent_steps"):
        assert getattr(second, size) == getattr(third, size)
    assert second.recipe.batch == third.recipe.batch
    assert [s.recipe.optimizer.lr for s in (second, third)] == [0.02, 0.01]
    steps = {"LAPTOP": (2000, 1400), "PAPER": (8000, 8000)}[
        scale
    ]  # 1400 end near the printed cells
    assert (second.recipe.steps, third.recipe.steps) == steps
    assert {s.recipe.optimizer.rest.lr for s in (second, third)} == {0.004}
    assert second.shape.sharpen == comparison.SMALL.shape.sharpen == 1 / 2
    assert third.shape.sharpen == 3


@pytest.mark.parametrize("setting", [reordering.SMALL, reordering.LAPTOP])
def test_small_translators_have_heads_of_size_32(setting):
    assert setting.shape.width // setting.shape.heads == 32
    assert setting.selection.most == 14
    assert setting.recipe.optimizer.rest.betas == (0.9, 0.98)
    assert setting.recipe.smoothing == 0.1


def test_translations_of_the_paper_leave_out_no_short_sentence_and_go_on_for_a_tenth():
    paper, laptop = reordering.PAPER, reordering.LAPTOP
    assert paper.selection.least == 1 < laptop.selection.least < reordering.SMALL.selection.least
    assert paper.further == paper.recipe.steps // 10
    assert laptop.shape.hidden == 4 * laptop.shape.width  # as in the base model


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


def test_convolutions_count_their_patches():
    shape = convolution.Shape(image=12, patch=4, depth=1, width=2)
    assert (shape.side, shape.patches, shape.classes) == (3, 9, 10)
