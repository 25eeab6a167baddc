"""Theorem 6.1 of wang2024 and linear recurrent networks: weights and worst inputs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from repro.numerics.exact import rational, rationals
from repro.numerics.logarithms import Log
from repro.training import Workspace
from repro.wang2024 import essential, kernels, recurrent, trained_parts
from repro.wang2024.heads import roundoff

EXPONENTS = {"lin": [Log(2), Log(3), Log(Fraction(3, 2))], "log": [2, 3, 5]}


def weight(rpe, p, s):
    return 1 / p.of**s if rpe == "lin" else 1 / rational(s) ** p


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.parametrize("d", [1, 2])
def test_the_network_stores_the_convolutions_in_rationals(rpe, d):
    rng, n, M = np.random.default_rng(d), 6, 2
    alphas, at_zero = (rationals(rng.integers(-5, 6, shape)) for shape in ((3, M), M))
    X = rationals(rng.integers(-3, 4, (n, d)))
    readout = essential.identity_readout(M * d)
    network = essential.network(rpe, EXPONENTS[rpe], alphas, at_zero, readout, length=n, d=d)
    stored = network(X)[-1].reshape(M, d)
    for k in range(M):
        rho = [at_zero[k]]
        for s in range(1, n):
            weights = [weight(rpe, p, s) for p in EXPONENTS[rpe]]
            rho.append(
                sum((a * w for a, w in zip(alphas[:, k], weights, strict=True)), rational(0))
            )
        stated = sum(r * X[n - 1 - s] for s, r in enumerate(rho))
        assert all(stored[k] == stated)
        assert all(essential.convolutions(rationals([rho]), X)[0] == stated)


def test_heads_are_split_into_integers():
    apart = essential.construction("lin", 5, False)
    assert [len(best.family) for best in apart.best] == [3, 2]


@pytest.mark.parametrize("example", list(essential.EXAMPLES))
@pytest.mark.parametrize("shared", [False, True])
def test_the_layer_stores_what_the_construction_says(example, shared):
    heads, n = essential.construction(example, 4, shared), 40
    network = heads.transformer(essential.identity_readout(2), n).to(torch.float64)
    stored = network(torch.eye(n, dtype=torch.float64)[:, :, None])[:, -1].numpy()[::-1].T
    room = roundoff(heads.weight(n), n, 4)
    assert 0 < room < 1e-11
    assert np.abs(stored - heads.values(n)).sum(1).max() <= room
    assert len(heads.exponents) == len(heads.alphas) == 4


def test_the_best_weights_do_not_pay_for_the_present():
    """rho(0) may be anything: E_Attn counts from s = 1 on."""
    halves = kernels.exponential(Log(2))
    moved = essential.starting_with(7, halves)
    plain, other = (essential.best("lin", rho, (Log(2),), 20) for rho in (halves, moved))
    unknown = 2.01 * 2.0**-20  # the tails of kernel and head, which balls do not subtract
    assert max(plain.error, other.error) <= unknown
    assert [moved(t) for t in range(3)] == [7, 0.5, 0.25]
    assert float(moved.tail(0)) == pytest.approx(8.0)


def test_the_examples_are_what_they_are_called():
    after = np.arange(1.0, 6)
    by_hand = {
        "lin": [np.exp(-after) * np.cos(c * after) for c in (1, 3)],
        "log": [(1 + after) ** -4, after**-4 * np.cos(np.log(after))],
        "log, heavy": [(1 + after) ** -2.5, after**-2.5 * np.cos(np.log(after))],
    }
    exponents = {"lin": (0.5, 1, 1.5), "log": (2, 3, 4), "log, heavy": (1.5, 2, 2.5)}
    assert list(essential.EXAMPLES) == list(by_hand)
    for name, example in essential.EXAMPLES.items():
        values = example.values(6)
        assert values[:, 0].tolist() == [1, 1]
        assert values[:, 1:] == pytest.approx(np.array(by_hand[name]), rel=1e-12)
        assert example.exponents(3) == exponents[name]
        assert name.startswith(example.rpe)


def test_norms_of_kernels_are_whole_sums():
    """1 + 1/4 + 1/9 + ..., and 1/2 + 1/4 + ... with signs."""
    squares = kernels.later(kernels.power(2))
    signs = kernels.alternating(kernels.later(kernels.exponential(Log(2))))
    norms = essential.Memories("lin", (squares, signs), lambda H: (Log(2),), 20).norms()
    assert norms == pytest.approx([math.pi**2 / 6, 1], rel=1e-12)
    assert norms[1] >= 1


@pytest.mark.parametrize("seed", range(4))
def test_no_single_token_makes_the_adversary_worse(seed):
    rho, found = np.random.default_rng(seed).standard_normal((2, 2, 30))
    read = lambda y: 3 * np.abs(y).max(-1)  # noqa: E731

    def gap(past):
        return abs(read(found @ past) - np.linalg.norm(rho @ past))

    past = essential.adversary(rho, found, read)[::-1, 0]
    assert set(past) == {1.0, -1.0}
    for place in range(30):
        other = past.copy()
        other[place] *= -1
        assert gap(other) <= gap(past) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_adversary_is_close_to_trying_all_signs(seed):
    rng, n = np.random.default_rng(seed), 9
    rho = rng.standard_normal((2, n))
    found = rho + 0.05 * rng.standard_normal((2, n))
    norm = lambda y: np.linalg.norm(y, axis=-1)  # noqa: E731
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    gaps = np.abs(norm(every @ found.T) - norm(every @ rho.T))
    X = essential.adversary(rho, found, norm)[::-1, 0]
    reached = abs(norm(found @ X) - norm(rho @ X))
    assert set(X) <= {-1.0, 1.0}
    assert 0.9 * gaps.max() <= reached <= gaps.max() + 1e-12


@pytest.mark.parametrize("sixteenth", [1, 7, 9, 15])
def test_the_adversary_looks_in_every_direction(sixteenth):
    """All pasts are alike to this readout, but the one that theta.e has the signs of."""
    rho, error = np.random.default_rng(0).standard_normal((2, 2, 40))
    found, angle = rho + error, 2 * np.pi * sixteenth / 16
    wanted = np.where(np.array([np.cos(angle), np.sin(angle)]) @ error > 0, 1.0, -1.0)

    def read(y):
        return 1e3 * np.isclose(y, found @ wanted, rtol=0, atol=1e-9).all(-1)

    assert essential.adversary(rho, found, read)[::-1, 0].tolist() == wanted.tolist()


def test_norms_weights_and_roundoff_by_hand():
    halves = kernels.exponential(Log(2))  # 1, 1/2, 1/4, ...
    memories = essential.Memories(
        "lin", (halves, essential.starting_with(-7, halves)), lambda H: (), 20
    )
    assert memories.norms() == pytest.approx([2, 8], rel=1e-12)
    assert memories.values(3).tolist() == [[1, 0.5, 0.25], [-7, 0.5, 0.25]]
    assert essential.box([2, 8], 0.5) == 8.5
    assert roundoff(2.0, 10, 3) == (3 * 10 + 3 + 30) * 2.0**-53 * 2


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_the_weight_of_a_construction_is_that_of_its_values_and_its_present(rpe):
    built, n = essential.construction(rpe, 3, True), 30
    alphas = np.array([[float(a) for a in row] for row in built.alphas])
    weights, p = np.abs(alphas).sum(1), np.array(built.exponents, dtype=float)
    present = np.abs(alphas.sum(0)).sum() if rpe == "lin" else 0
    norms = np.abs(built.memories.values(4000)).sum()
    stated = weights @ _sums(rpe, p, n) + present + norms
    assert built.weight(n) == pytest.approx(stated, rel=1e-2)
    longer = weights @ (_sums(rpe, p, n) - _sums(rpe, p, 5))
    assert built.weight(n) - built.weight(5) == pytest.approx(longer, rel=1e-6)


def _sums(rpe, p, n):
    """What a softmax over n tokens divides by, for each head."""
    s = np.arange(rpe == "log", n)[:, None]
    return (np.exp(-p * s) if rpe == "lin" else s**-p).sum(0)


def test_convolutions_are_numpys():
    rho, x = np.random.default_rng(0).standard_normal((2, 7))
    mine = essential.convolutions(rho[None], x[:, None])[0, 0]
    assert mine == pytest.approx(np.convolve(x, rho)[6])
    assert essential.convolutions(rho[None, :3], x[:, None])[0, 0] == pytest.approx(
        x[6] * rho[0] + x[5] * rho[1] + x[4] * rho[2]
    )
    short = essential.convolutions(rho[None], x[:2, None])[0, 0]
    assert short == pytest.approx(x[1] * rho[0] + x[0] * rho[1]), "longer than the sequence"


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_the_trained_layer_is_the_layer_of_the_model(rpe):
    spec = trained_parts.TrainedHeads(example="log", rpe=rpe, H=3, steps=30, seed=1, length=20)
    layer = trained_parts.Kernels(spec, 2)
    assert torch.allclose(layer(), layer.judged(), rtol=0, atol=1e-14)
    outcome = trained_parts.train_heads(spec, Workspace())
    assert outcome.numbers["E_Attn"] < outcome.numbers["E_Attn at the start"]
    assert outcome.tensors["phi"].shape == (2, 20)
    off = np.abs(layer().detach().numpy() - essential.EXAMPLES["log"].values(20))
    assert outcome.numbers["E_Attn at the start"] == pytest.approx(off.sum())


@pytest.mark.parametrize(("rpe", "least"), [("lin", 0), ("log", 1)])
def test_a_layer_to_train_has_summable_heads_and_small_values(rpe, least):
    spec = trained_parts.TrainedHeads(example="log", rpe=rpe, H=500, steps=1, seed=1, length=4)
    layer = trained_parts.Kernels(spec, 3)
    assert torch.allclose(layer.p, least + layer.theta.exp())
    assert layer.V.std().item() == pytest.approx(1 / 500, rel=0.1)
    with torch.no_grad():
        layer.r.copy_(torch.tensor([1.0, -2.0, 0.5]))
        table = torch.zeros(500, 4, dtype=torch.float64)
        table[7, 2] = 1
        found = layer.responses(table)
    assert found[:, 0].tolist() == [1, -2, 0.5]
    assert torch.equal(found[:, 2], layer.V[7])
    assert not found[:, [1, 3]].any()


def test_recurrences_by_hand():
    assert recurrent.shift([5, -7, 2]).response(5).tolist() == [5, -7, 2, 0, 0]


def test_the_response_is_c_times_powers_of_Lambda_times_B():
    rng = np.random.default_rng(3)
    Lambda, B, c = (rationals(rng.integers(-2, 3, shape)) for shape in ((3, 3), 3, 3))
    network = recurrent.LinearRNN(Lambda, B, c)
    state, stated = B, []
    for _ in range(6):
        stated.append(c @ state)
        state = Lambda @ state
    assert network.response(6).tolist() == stated
    assert network.response(1).tolist() == stated[:1]
    X = rationals(rng.integers(-2, 3, (6, 2)))
    assert np.all(network(X)[-1] == sum(stated[s] * X[5 - s] for s in range(6)))


def test_a_mixture_is_positive_and_near_the_power():
    for beta in (2.5, 4.0):
        exponents, alphas = recurrent.mixture(beta, 16)
        t = np.arange(20_000.0)
        phi = np.exp(-np.outer(t, exponents)) @ alphas
        assert min(alphas) > 0
        assert np.abs(phi - (1 + t) ** -beta).sum() < 1e-4
    assert [len(part) for part in recurrent.mixture(1.5, 1)] == [1, 1]


def test_a_mixture_of_two_by_hand():
    """beta = 3: delta = pi/2, y_0 = log(2 pi), Gamma(3) = 2."""
    exponents, alphas = recurrent.mixture(3.0, 2)
    y = [math.log(2 * math.pi), math.log(2 * math.pi) - math.pi / 2]
    assert exponents == pytest.approx([math.exp(v) for v in y], rel=1e-14)
    stated = [math.pi / 4 * math.exp(3 * v) * math.exp(-math.exp(v)) for v in y]
    assert alphas == pytest.approx(stated, rel=1e-13)


def test_the_floor_is_the_sum_of_what_sticks_out():
    kernel, A = kernels.later(kernels.power(2)), 2
    stated = sum(max(0.0, (1 + s) ** -2.0 - A * 2.0**-s) for s in range(50))
    assert float(recurrent.floor(kernel, A, Log(2), window=50)) == pytest.approx(stated, rel=1e-12)
    assert float(recurrent.floor(kernel, 0, 1, window=3)) == pytest.approx(1 + 1 / 4 + 1 / 9)
