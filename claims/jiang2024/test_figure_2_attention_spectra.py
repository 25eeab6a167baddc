"""Figure 2 (jiang2024, Section 5.2, settings in Appendix C): spectra of attention, over inputs.

"We use a violin plot to show the distribution of each singular value" of the scores before the
softmax, first head of ViT-B/16. "We observe that the singular values tend to be more concentrated,
suggesting that we can effectively estimate the rank of rho^(u, v) by evaluating it at sampled
inputs."

Looked at: a Vision Transformer trained here on CIFAR-10, and a pretrained language model, MiniLM,
on English sentences; all heads of all layers, and in the picture the first head of the last layer
(the layer is not printed; Figure 3 has the last). A user's own ViT-B/16, if VIT_B16 names its file.

Checked, with the measures of scores.py, beyond five standard errors over the inputs (jackknife).
The rank itself is m_h for every input, trained or not: nothing need be estimated, and an effective
rank says more. One input tells it roughly (cell). Most of the variance of log sigma_k is explained
by the index; but a value varies by a good part of its mean, over images more than over sentences.
Concentration is no sign of training: the language model is more concentrated without it, in every
layer, and the Vision Transformer nearly as much (recorded). A low effective rank is: training
lowers that of the last layer, and it rises if W_Q and W_K alone are drawn anew: for images less, so
there the tokens have a part in it.
Controls: every other input of another kind (one colour, one word repeated) raises the spread; the
untrained twin and the redrawn heads have a higher effective rank.

Not checked: the printed picture, whose numbers are not given and whose weights no registry has;
what "more" compares with is not said. Reduced: at laptop scale 65 tokens, two layers of two heads
of size 32, 700 steps; at smoke scale 17 tokens, one layer, 150 steps. MiniLM is whole at any scale.
"""

import functools

import pytest

from repro.bounds import as_printed, rounding_error, stderr
from repro.jiang2024 import image_settings, minilm, scores, subjects, trained_vit, vit_weights
from repro.jiang2024.pictures import trained as pictures

kinds = pytest.mark.parametrize("kind", ["images", "sentences"])
kinds_with_training = pytest.mark.parametrize(
    "kind", [pytest.param("images", marks=pytest.mark.needs(scale="laptop")), "sentences"]
)
TAU = 40  # pieces of a sentence: more than m_h = 32
PRINTED_SIZE = "ViT-B/16"
SHARE = "share of the variance of log σ_k that the index leaves to the inputs"
TITLES = {"images": "Vision Transformer, CIFAR-10", "sentences": "MiniLM, English sentences"}


def count(claim, kind):
    """How many inputs."""
    few, some = {"images": (50, 200), "sentences": (16, 100)}[kind]
    return claim.at_scale(smoke=few, laptop=some, paper=64 if kind == "images" else 400)


def subject(claim, kind):
    if kind == "sentences":
        folders = claim.data("minilm"), claim.data("english-german")
        try:
            return _sentences(*folders, count(claim, kind), claim.seed("twin"))
        except LookupError as short:
            pytest.skip(f"needs longer sentences for minilm: {short}")
    images, of = trained_vit.Images.read(claim.data("cifar-10")), trained_vit
    spec = image_settings.SCALES[claim.scale].original(images.digest)
    outcome = of.stored(claim.train, spec, images).outcome
    for name, value in outcome.numbers.items():
        claim.record(name, value)
    inputs = images.prepared(images.test_pixels[: count(claim, kind)], spec.shape.image)
    return subjects.of_images(of.trained(spec, outcome), of.untrained(spec), inputs)


@functools.cache
def _sentences(weights, texts, inputs, seed):
    return subjects.of_sentences(weights, texts, inputs, TAU, seed)


def spreads(values):
    """Median over k, (layers, heads)."""
    return scores.spread(values).median(-1).values


def unexplained(values):
    """Of the variance of log sigma_k, what the index leaves to the inputs, (layers, heads)."""
    return 1 - scores.index_share(values)


def above(claim, name, measure, *values, parts: int = 8, **at):
    """measure(values) beyond five standard errors: a jackknife leaves out runs of inputs."""
    import torch

    count, whole = values[0].shape[2], torch.as_tensor(measure(*values))
    kept = [torch.arange(count) * parts // count != part for part in range(parts)]
    left = torch.tensor([float(measure(*(v[:, :, rows] for v in values))) for rows in kept])
    deviation = ((left - left.mean()).square().sum() * (parts - 1) / parts).sqrt()
    claim.record(name, whole.item(), **{k: v for k, v in at.items() if k != "equation"})
    found = (whole / deviation).item()
    claim.measured(f"{name}, in its standard errors", found, **at).at_least(
        stderr(5, f"five standard errors over {count} inputs, {parts} runs left out")
    )


def effective_ranks(heads):
    """Input by input, (layers, heads, inputs)."""
    return scores.effective_rank(heads.values)


def rank_spread(values):
    """Deviation over mean, over inputs; (layers, heads)."""
    return scores.spread(scores.effective_rank(values), inputs=-1)


def last_rank(heads):
    """Effective rank in the last layer, mean over heads and inputs."""
    return effective_ranks(heads)[-1].mean().item()


def by_layer(claim, name, numbers, **settings):
    """Record one number for each head."""
    for layer, row in enumerate(numbers.tolist(), start=1):
        claim.record(name, [round(number, 3) for number in row], layer=layer, **settings)


@kinds
@pytest.mark.train
def test_every_input_has_the_rank_of_the_size_of_the_head(kind, claim):
    """Values above derived round-off, of every input in every head: m_h, trained or not."""
    found = subject(claim, kind)
    for network in ("trained", "untrained"):
        heads = found.heads(network)
        at = {"equation": "(18)", "network": network}
        for which, ranks in (("fewest", heads.ranks.min()), ("most", heads.ranks.max())):
            name = f"{which} values above round-off over inputs and heads"
            claim.measured(name, ranks.item(), **at).equals(heads.m_h)


@kinds
@pytest.mark.train
def test_one_input_tells_the_effective_rank(kind, claim):
    """Deviation of the effective rank over inputs, relative to its mean, in the worst head."""
    heads = subject(claim, kind).heads("trained")
    ranks = effective_ranks(heads)
    off = rank_spread(heads.values)
    by_layer(claim, "effective rank", ranks.mean(-1))
    by_layer(claim, "its spread over inputs", off)
    ours = "one less the spread of the effective rank over inputs, worst head"
    above(claim, ours, lambda v: 1 - rank_spread(v).max(), heads.values, equation="Section 5.2")
    seen = "tells it roughly" if off.max() <= 0.4 else "does not tell it"
    of = {"printed_size": PRINTED_SIZE, "run_size": TITLES[kind]}
    claim.cell(
        "rank from one input", kind, paper="tells it", ours=seen, order=off.max() <= 0.4, **of
    )


@kinds
@pytest.mark.train
def test_the_singular_values_are_concentrated(kind, claim):
    found = subject(claim, kind)
    heads = found.heads("trained")
    widest = scores.spread(heads.values).max().item()
    for network in ("trained", "untrained"):
        values = found.heads(network).values
        by_layer(claim, "spread, median over k", spreads(values), network=network)
    by_layer(claim, "share that the index leaves", unexplained(heads.values))
    claim.record("inputs for a standard error of 5 % of each value", (widest / 0.05) ** 2)
    name = "one less the spread, median over k, worst head"
    above(claim, name, lambda v: 1 - spreads(v).max(), heads.values, equation="Figure 2")
    name = f"half less the {SHARE}, worst head"
    above(claim, name, lambda v: 0.5 - unexplained(v).max(), heads.values, equation="Figure 2")
    seen = "concentrated" if unexplained(heads.values).max() <= 0.2 else "spread out"
    of = {"printed_size": PRINTED_SIZE, "run_size": TITLES[kind]}
    claim.cell("singular values over inputs", kind, paper="concentrated", ours=seen, **of)
    drawn(claim, found, kind, TITLES[kind])


@kinds
def test_control_inputs_of_two_kinds_are_not_concentrated(kind, claim):
    """Every other image in one colour, every other sentence one word repeated; last layer."""
    found = subject(claim, kind)
    mixed, plain = (found.heads("trained", name).values[-1:] for name in ("mixed", "inputs"))
    for name, measure in (
        ("spread, median over k", spreads),
        ("share that the index leaves", unexplained),
    ):
        for inputs, values in (("two kinds", mixed), ("one kind", plain)):
            claim.record(name, measure(values).mean().item(), inputs=inputs)
        above(
            claim,
            f"{name}, inputs of two kinds less one",
            lambda a, b, measure=measure: (measure(a) - measure(b)).mean(),
            mixed,
            plain,
            equation="Figure 2",
        )


@pytest.mark.train
def test_concentration_is_no_sign_of_training(claim):
    """MiniLM before training is more concentrated than after it, in every layer."""
    found = subject(claim, "sentences")
    trained, twin = (found.heads(name).values for name in ("trained", "untrained"))
    name = "spread over sentences, trained less untrained"
    for layer, both in enumerate(zip(trained.split(1), twin.split(1), strict=True), start=1):
        above(
            claim,
            name,
            lambda a, b: (spreads(a) - spreads(b)).mean(),
            *both,
            equation="Figure 2",
            layer=layer,
        )


@pytest.mark.exact
def test_the_measures_by_hand(claim):
    """Three equal values: effective rank 3. Spread of 1 and 3: sqrt2 over 2. Logarithms 0, 2 and 1,
    3: between the means 1/2 and 5/2 the variance is 1, in all 5/4, so that the index has 4/5.
    q = (2, 2), k = (1, 3), m_h = 2: score 8/sqrt2; scores 1, 3 are seen as -1, 1."""
    import torch

    x, of = torch.tensor([[0.0, 2.0], [1.0, 3.0]], dtype=torch.float64), scores
    three = torch.tensor([2.0, 2.0, 2.0, 0.0], dtype=torch.float64)
    score = of.of(2 * torch.ones(1, 2).double(), torch.tensor([[1.0, 3.0]]).double())
    for name, found, expected in (
        ("effective rank", of.effective_rank(three), 3),
        ("spread", of.spread(torch.tensor([[1.0], [3.0]]).double())[0], 2**0.5 / 2),
        ("share of the index", of.index_share(x.exp()), 4 / 5),
        ("score", score[0, 0], 8 / 2**0.5),
        ("seen of it", of.seen(torch.tensor([[1.0, 3.0]]).double())[0, 1], 1),
        ("first singular value", of.spectra(torch.tensor([[0.0, 3.0], [2.0, 0.0]]))[0], 3),
    ):
        claim.measured(name, found.item(), equation="Section 5.2").within(
            expected, rounding_error(2**-48, "at most twenty operations on numbers below 8")
        )
    Q = torch.ones(2, 1).double()  # (1 + 4 + 4) u |Q| |K|, both norms sqrt2
    claim.measured("rounding", of.rounding(Q, Q).item(), equation="(18)").within(
        18 * 2**-53, rounding_error(2**-100, "a product of roots, less than 4 u of 18 u")
    )


@kinds_with_training
def test_control_an_untrained_twin_has_a_higher_effective_rank(kind, claim):
    """Last layer, mean over heads; the same inputs. At smoke scale training is too short for it."""
    found = subject(claim, kind)
    both = {name: found.heads(name) for name in ("untrained", "trained")}
    for network, heads in both.items():
        claim.record("effective rank, last layer", last_rank(heads), network=network)
    check_the_rank_is_higher(claim, *both.values(), what="scores")


def check_the_rank_is_higher(claim, heads, trained, **at):
    def more(a, b):
        return (scores.effective_rank(a) - scores.effective_rank(b)).mean()

    name = "effective rank in the last layer, less that of the trained"
    above(claim, name, more, heads.values[-1:], trained.values[-1:], equation="Figure 2", **at)


@kinds_with_training
def test_control_queries_and_keys_drawn_anew_have_a_higher_effective_rank(kind, claim):
    """Tokens of the trained network, W_Q and W_K of the last layer untrained: so it is not only the
    tokens that make the rank low."""
    found = subject(claim, kind)
    for what, heads in (("scores", found.heads), ("what the softmax sees", found.seen)):
        check_the_rank_is_higher(claim, heads("redrawn"), heads("trained"), what=what)


SENTENCES = ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
SIMILARITIES = {(0, 1): 0.6660, (0, 2): 0.1046, (1, 2): 0.1411}


@pytest.mark.train
def test_the_language_model_gives_the_published_similarities(claim):
    """Cosines of three sentences, from the documentation of sentence-transformers."""
    folder = claim.data("minilm")
    model = minilm.MiniLM.read(folder / "model.safetensors")
    vectors = model.embedding(*minilm.Pieces.read(folder / "vocab.txt").batch(SENTENCES))
    where = "documentation of sentence-transformers, all-MiniLM-L6-v2"
    for (a, b), printed in SIMILARITIES.items():
        cosine, at = (
            (vectors[a] @ vectors[b]).item(),
            {"first": SENTENCES[a], "second": SENTENCES[b]},
        )
        claim.measured("cosine of two sentences", cosine, equation=where, **at).within(
            printed, as_printed(0.00005, "half a unit of the fourth digit")
        )


@pytest.mark.train
def test_a_users_own_vit_b16(claim):
    """Twelve layers of twelve heads of size 64; its weights have not been looked at here."""
    file, cell = vit_weights.place(), ("singular values over inputs", "ViT-B/16")
    if file is None:
        claim.cell(*cell, paper="concentrated", ours=None, printed_size=PRINTED_SIZE)
        pytest.skip("needs VIT_B16, a file with the weights of ViT-B/16 (no registry holds one)")
    images = trained_vit.Images.read(claim.data("cifar-10"))
    given = vit_weights.read(file)
    some = images.test_pixels[: claim.at_scale(smoke=2, laptop=16, paper=64)]
    found = subjects.of_images(given.model, given.model.shape.build(), given.prepared(some))
    heads = found.heads("trained")
    by_layer(claim, "spread, median over k", spreads(heads.values))
    by_layer(claim, "effective rank", effective_ranks(heads).mean(-1))
    by_layer(claim, "share that the index leaves", unexplained(heads.values))
    claim.measured("size of a head", heads.m_h, equation="Appendix C").equals(64)
    most, share = heads.ranks.max().item(), unexplained(heads.values).median()
    claim.measured("most values above round-off", most, equation="(18)").equals(64)
    claim.record(f"{SHARE}, median over heads", share)
    of = {"printed_size": PRINTED_SIZE, "run_size": PRINTED_SIZE}
    seen = "concentrated" if share <= 0.2 else "spread out"
    claim.cell(*cell, paper="concentrated", ours=seen, **of)
    drawn(claim, found, "vit-b-16", "ViT-B/16")


def drawn(claim, found, name, title):
    """Violins of one head beside its twin."""
    both = {network: found.heads(network) for network in ("trained", "untrained")}
    tau = both["trained"].spectra.shape[-1]
    violins = {network: heads.values[-1, 0] / tau for network, heads in both.items()}
    said = "; ".join(
        f"{network}: effective rank {last_rank(heads):.1f} in the last layer, spread "
        f"{spreads(heads.values).min():.2f} to {spreads(heads.values).max():.2f}"
        for network, heads in both.items()
    )
    claim.figure(
        pictures.violins(violins, f"{title}: first head of the last layer"),
        name,
        caption=f"{title}. Singular values of the scores over {len(found.inputs)} inputs, "
        f"τ = {tau}, m_h = {both['trained'].m_h}; bars are means. Right halves: untrained.",
        alt=f"Violins that fall with the index. {said}.",
    )
