"""Figure 2 (jiang2024, Section 5.2, settings in Appendix C): spectra of attention, over inputs.

"We use a violin plot to show the distribution of each singular value" of the scores before the
softmax, first head of ViT-B/16. "We observe that the singular values tend to be more concentrated,
suggesting that we can effectively estimate the rank of rho^(u, v) by evaluating it at sampled
inputs."

Looked at: a Vision Transformer trained here on CIFAR-10, and a pretrained language model, MiniLM,
on English sentences; all heads of all layers, and in the picture the first head of the last layer
(the layer is not printed; Figure 3 has the last). A user's own ViT-B/16, if VIT_B16 names its file.

Checked, with the measures of scores.py. The rank itself is m_h for every input, trained or not:
nothing need be estimated, and an effective rank says more. One input tells it roughly. Most of the
variance of log sigma_k is explained by the index; but a value varies by a good part of its mean,
over images more than over sentences.
Concentration is no sign of training: the language model is more concentrated without it, in every
layer, and the Vision Transformer nearly as much (recorded). A low effective rank is: training
lowers that of the last layer, and it rises if W_Q and W_K alone are drawn anew: for images less, so
there the tokens have a part in it.
Controls: every other input of another kind (one colour, one word repeated) doubles the spread and
more; the untrained twin and the redrawn heads have a higher effective rank.

Not checked: the printed picture, whose numbers are not given and whose weights no registry has;
what "more" compares with is not said. Reduced: at laptop scale 65 tokens, two layers of two heads
of size 32, 700 steps; at smoke scale 17 tokens, one layer, 150 steps. MiniLM is whole at any scale.
"""

import functools

import pytest

from repro.bounds import as_printed, chosen
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


def spreads(heads):
    """Median over k, (layers, heads)."""
    return scores.spread(heads.values).median(-1).values


def unexplained(heads):
    """Of the variance of log sigma_k, what the index leaves to the inputs, (layers, heads)."""
    return 1 - scores.index_share(heads.values)


def effective_ranks(heads):
    """Input by input, (layers, heads, inputs)."""
    return scores.effective_rank(heads.values)


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
    off = scores.spread(ranks, inputs=-1)
    by_layer(claim, "effective rank", ranks.mean(-1))
    by_layer(claim, "its spread over inputs", off)
    name = "spread of the effective rank over inputs, worst head"
    claim.measured(name, off.max(), equation="Section 5.2").at_most(
        chosen(0.4, "one input tells whether the rank of a head is small, not its value to a digit")
    )
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
        by_layer(claim, "spread, median over k", spreads(found.heads(network)), network=network)
    by_layer(claim, "share that the index leaves", unexplained(heads))
    claim.record("inputs for a standard error of 5 % of each value", (widest / 0.05) ** 2)
    most = {"images": 0.8, "sentences": 0.45}[kind]
    name = "spread over inputs, median over k, worst head"
    claim.measured(name, spreads(heads).max(), equation="Figure 2").at_most(
        chosen(most, "below 1: a singular value varies by less than its mean")
    )
    claim.measured(f"{SHARE}, worst head", unexplained(heads).max(), equation="Figure 2").at_most(
        chosen(0.2, "at one half the inputs would say as much as the index")
    )
    seen = "concentrated" if unexplained(heads).max() <= 0.2 else "spread out"
    of = {"printed_size": PRINTED_SIZE, "run_size": TITLES[kind]}
    claim.cell("singular values over inputs", kind, paper="concentrated", ours=seen, **of)
    drawn(claim, found, kind, TITLES[kind])


@kinds
def test_control_inputs_of_two_kinds_are_not_concentrated(kind, claim):
    """Every other image in one colour, every other sentence one word repeated; last layer."""
    found = subject(claim, kind)
    for name, measure, least in (
        ("spread, median over k", spreads, 1.4),
        ("share that the index leaves", unexplained, 2),
    ):
        mixed, plain = (
            measure(found.heads("trained", inputs))[-1].mean().item()
            for inputs in ("mixed", "inputs")
        )
        claim.record(name, mixed, inputs="two kinds")
        claim.record(name, plain, inputs="one kind")
        name = f"{name}, inputs of two kinds over one"
        claim.measured(name, mixed / plain, equation="Figure 2").at_least(
            chosen(least, "1 if the measure did not see that inputs are of two kinds")
        )


@pytest.mark.train
def test_concentration_is_no_sign_of_training(claim):
    """MiniLM before training is more concentrated than after it, in every layer."""
    found = subject(claim, "sentences")
    trained, twin = (spreads(found.heads(name)) for name in ("trained", "untrained"))
    name = "spread over sentences, untrained over trained"
    for layer, ratio in enumerate((twin.mean(-1) / trained.mean(-1)).tolist(), start=1):
        claim.measured(name, ratio, equation="Figure 2", layer=layer).at_most(
            chosen(0.8, "below 1 training spreads the values")
        )


@kinds_with_training
def test_control_an_untrained_twin_has_a_higher_effective_rank(kind, claim):
    """Last layer, mean over heads; the same inputs. At smoke scale training is too short for it."""
    found = subject(claim, kind)
    ranks = {name: last_rank(found.heads(name)) for name in ("trained", "untrained")}
    for network, rank in ranks.items():
        claim.record("effective rank, last layer", rank, network=network)
    name = "effective rank in the last layer, untrained over trained"
    claim.measured(name, ranks["untrained"] / ranks["trained"], equation="Figure 2").at_least(
        chosen(1.3, "1 if training did not lower the rank")
    )


@kinds_with_training
def test_control_queries_and_keys_drawn_anew_have_a_higher_effective_rank(kind, claim):
    """Tokens of the trained network, W_Q and W_K of the last layer untrained: so it is not only the
    tokens that make the rank low."""
    found = subject(claim, kind)
    for what, heads in (("scores", found.heads), ("what the softmax sees", found.seen)):
        ratio = last_rank(heads("redrawn")) / last_rank(heads("trained"))
        name = f"effective rank of {what} in the last layer, redrawn over trained"
        claim.measured(name, ratio, equation="Figure 2").at_least(
            chosen(1.1, "1 if the tokens alone made the rank low")
        )


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
    by_layer(claim, "spread, median over k", spreads(heads))
    by_layer(claim, "effective rank", effective_ranks(heads).mean(-1))
    by_layer(claim, "share that the index leaves", unexplained(heads))
    claim.measured("size of a head", heads.m_h, equation="Appendix C").equals(64)
    most, share = heads.ranks.max().item(), unexplained(heads).median()
    claim.measured("most values above round-off", most, equation="(18)").equals(64)
    claim.measured(f"{SHARE}, median over heads", share, equation="Figure 2").at_most(
        chosen(0.5, "at one half the inputs would say as much as the index")
    )
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
        f"{spreads(heads).min():.2f} to {spreads(heads).max():.2f}"
        for network, heads in both.items()
    )
    claim.figure(
        pictures.violins(violins, f"{title}: first head of the last layer"),
        name,
        caption=f"{title}. Singular values of the scores over {len(found.inputs)} inputs, "
        f"τ = {tau}, m_h = {both['trained'].m_h}; bars are means. Right halves: untrained.",
        alt=f"Violins that fall with the index. {said}.",
    )
