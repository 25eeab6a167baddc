"""Every model of the wings is called as model(x) on floats, or says what to do instead."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from repro.fang2022 import experiments, multiplication, network, piecewise, powers
from repro.fang2022.polynomials import Polynomial
from repro.jiang2024 import (
    convolution,
    couplings,
    minilm,
    networks,
    rate,
    recurrent,
    translation,
    vit,
)
from repro.numerics.exact import rationals
from repro.numerics.logarithms import Log
from repro.wang2024 import heads, model
from repro.wang2024 import recurrent as units

Q = Polynomial(2, {(2, 0): 1, (1, 1): 3})
HALF = heads.summed("lin", [Log(2)], heads.normalisers("lin", [Log(2)], 4))
RNN = rationals([["1/2"]]), rationals([[1]]), rationals([1])


def drawn(d=1):
    return networks.drawn(np.random.default_rng(0), d, n=2, m_h=2, d_v=2)


def one_layer():
    """Attention, then the sum of the token and of what it fetched."""
    a, b, c = map(rationals, ([[1, -1]], [[1], [-1]], [0, 0]))
    layer = model.Layer(HALF, model.FeedForward(a, b, c))
    return model.Transformer(rationals([[1]]), rationals([0]), [layer])


# What is built, and the shape of x.
EXACT = {
    "fang2022: blocks": (lambda: multiplication.multiplication_block(2, 3, 2), (7, 2)),
    "fang2022: Theorem 3.5": (lambda: powers.construction(Q, 2), (1, 2)),
    "jiang2024: (5)": (drawn, (1, 3, 1)),
    "wang2024: one layer": (one_layer, (1, 4, 1)),
    "wang2024: heads": (lambda: HALF, (1, 4, 1)),
}
PIXELS = (2, 3, 8, 8)
MODULES = {
    "fang2022: Theorem 3.5": (
        lambda kind: network.polynomial_transformer(Q, 2, dtype=kind),
        (1, 2),
    ),
    "fang2022: attention": (lambda kind: experiments.Attention(2, 2, 3).to(kind), (4, 2)),
    "fang2022: depth": (lambda kind: experiments.Depth(2, 3, 2).to(kind), (4, 2)),
    "fang2022: width": (lambda kind: experiments.Width(2, 3).to(kind), (4, 2)),
    "jiang2024: ViT": (lambda kind: vit.Shape(8, 4, 1, 6, 2, 3, 5).build().to(kind), PIXELS),
    "jiang2024: convolution": (lambda kind: convolution.Shape(8, 4, 1, 6).build().to(kind), PIXELS),
}
KINDS = pytest.mark.parametrize("kind", [torch.float64, torch.float32], ids=str)


def ones(shape, kind):
    return torch.full(shape, 0.5, dtype=kind)


@KINDS
@pytest.mark.parametrize(("build", "shape"), EXACT.values(), ids=EXACT)
def test_a_model_of_exact_numbers_becomes_one_of_floats(build, shape, kind):
    exact, x = build(), ones(shape, torch.float64)
    found, wanted = (
        exact.to(kind)(x.to(kind)),
        exact.balls(128) if hasattr(exact, "balls") else exact,
    )
    assert found.dtype == kind
    if not isinstance(exact, networks.Networks):  # its logits are rational on integers alone
        numbers = wanted(rationals(x.tolist())).astype(float)
        np.testing.assert_allclose(
            found.numpy(), numbers, rtol=1e-5 if kind.itemsize == 4 else 1e-14
        )


@pytest.mark.parametrize(("build", "shape"), EXACT.values(), ids=EXACT)
def test_a_model_of_exact_numbers_says_how_to_get_one_of_floats(build, shape):
    exact, x = build(), ones(shape, torch.float64)
    for given in (x, x.numpy(), x.tolist()):
        with pytest.raises(TypeError, match=r"exact weights .*take model\.to\(torch\.float64\)"):
            exact(given)
    floats = exact.to(torch.float64)
    for given in (x.float(), x.numpy(), x.tolist(), rationals(x.tolist())):
        with pytest.raises(
            TypeError, match=r"in torch\.float64 .* call it on a tensor, x\.to\(torch"
        ):
            floats(given)


@KINDS
@pytest.mark.parametrize(("build", "shape"), MODULES.values(), ids=MODULES)
def test_a_module_takes_floats_of_its_own_type_and_names_it(build, shape, kind):
    other = {torch.float64: torch.float32, torch.float32: torch.float64}[kind]
    made = build(kind)
    assert isinstance(made, nn.Module)
    assert made(ones(shape, kind)).dtype == kind
    with pytest.raises((TypeError, ValueError), match=re.escape(str(kind))):
        made(ones(shape, other))


def test_networks_of_a_coupling_take_the_floats_that_they_were_built_for():
    """Six waves kept, which is all there are: (18) is the target."""
    coupling = couplings.Coupling(couplings.powers(2, 6))
    for kind in (torch.float64, torch.float32):
        x = torch.linspace(0.1, 0.9, 4, dtype=kind)[:, None]
        found = rate.truncated(coupling, coupling.sigma[:6], x)
        torch.testing.assert_close(found(x), coupling.target()(x))
        with pytest.raises(TypeError, match=rf"weights in {kind}"):
            found(x.to(torch.bfloat16))


def test_linear_rnns_take_tensors_or_numpys_floats_or_rationals():
    W, U, c = (torch.tensor(part.astype(float)) for part in RNN)
    impulse = torch.eye(3, dtype=torch.float64)[:, :1]
    assert recurrent.LinearRNN(W, U, c)(impulse).tolist() == [1, 0.5, 0.25]
    exact = recurrent.LinearRNN(*RNN)
    assert exact(rationals(impulse.int().tolist())).astype(float).tolist() == [1, 0.5, 0.25]
    with pytest.raises(TypeError, match=r"exact weights .* rationals\(x\)"):
        exact(impulse)
    floats: Any = units.diagonal([0.5], [1.0])
    assert floats(impulse.numpy()).ravel().tolist() == [1, 0.5, 0.25]
    with pytest.raises(TypeError, match="call it on a numpy array"):
        floats(impulse)


def test_a_network_of_rationals_says_that_it_takes_rationals():
    exact: Any = piecewise.interpolant(2, 0)
    assert exact(rationals([0, 1])).tolist() == [0, 1]
    with pytest.raises(TypeError, match=r"take layers of torch\.nn, or call it on rationals\(x\)"):
        exact(torch.zeros(2))


def test_models_of_words_take_the_numbers_of_words():
    shape = translation.Shape(pieces=20, layers=1, width=8, heads=2, hidden=4)
    translator, words = translation.Translator(shape).eval(), torch.tensor([[5, 6, 7]])
    assert translator(words, words).shape == (1, 3, 20)
    torch.testing.assert_close(translator(words, words), translator(words, words, torch.arange(3)))
    small = minilm.Shape(words=20, positions=4, width=8, depth=1, heads=2, hidden=4)
    assert minilm.MiniLM.untrained(0, small)(words).shape == (1, 3, 8)


def test_a_head_takes_its_slope_as_a_number():
    W = torch.eye(1, dtype=torch.float64)
    layer = model.Attention([model.Head(W, 1.0)], W, "lin")
    assert layer(torch.tensor([[0.0], [1.0]], dtype=torch.float64))[1].item() == pytest.approx(
        1 / (1 + np.exp(-1))
    )
    exact = model.Attention([model.Head(rationals([[1]]), 1.0)], rationals([[1]]), "lin")
    assert exact.to(torch.float64).heads[0].p == 1
