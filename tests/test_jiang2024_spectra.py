"""Figure 1's task, and the references that trainings are compared with."""

import math

import pytest
import torch
from torch import nn

from repro.jiang2024 import learner, spectra
from repro.jiang2024.couplings import Coupling, infinite_tails, powers
from repro.numerics.exact import to_float
from repro.training import Workspace

SINES = learner.Dense(width=64, depth=3, sines=40.0)


def task(rank):
    return spectra.Spectrum("3/2", rank)


def spec(rank, m, kind: type[learner.FitAttention] = spectra.FromConstruction, f=SINES):
    shape = learner.Shape(m, n=32, d_v=8, f=f, F=learner.Dense(16, 3))
    return kind(task(rank), shape, learner.Recipe.ours(2, batch=4), 0)


def tokens(count=50):
    return spectra.Spectrum("2", 2).draw(torch.Generator().manual_seed(0), count)


@pytest.mark.parametrize("alpha", ["3/2", "2"])
def test_infinite_rank_is_the_limit_of_finite_ranks(alpha):
    x, R = tokens(5), 1000
    finite = Coupling(powers(alpha, R)).target()(x)[..., None]
    off = (spectra.Spectrum(alpha, None).wanted(x) - finite).abs().max().item()
    left = float(infinite_tails(alpha, R)[0])  # a logit lacks at most twice that, an output half
    assert off <= left
    rank_6 = spectra.Spectrum(alpha, 6).wanted(x)
    assert (finite - rank_6).abs().max().item() >= 0.005


def test_what_is_kept_by_hand():
    rank_3 = spectra.Spectrum("2", 3)
    assert to_float(spectra.kept(rank_3, 16)).tolist() == [1, 1 / 4, 1 / 9]
    assert len(spectra.kept(rank_3, 2)) == 2
    raised = to_float(spectra.kept(rank_3, 2))[0] - 1
    assert math.isclose(raised, 1 / 9 / (2 + 15.5))
    raised = to_float(spectra.kept(spectra.Spectrum("2", None), 1))[0] - 1
    assert math.isclose(raised, (math.pi**2 / 6 - 1) / (1 + 15.5))


@torch.no_grad()
def test_layers_of_silu_carry_what_they_are_told():
    layers = [nn.Linear(a, b, dtype=torch.float64) for a, b in ((3, 10), (10, 9), (9, 5))]
    read, shift = torch.randn(2, 3, dtype=torch.float64), torch.tensor([0.5, -2.0])
    spectra.carried(layers, read, shift)
    x = torch.randn(7, 3, dtype=torch.float64)
    out = layers[2](nn.functional.silu(layers[1](nn.functional.silu(layers[0](x)))))
    assert torch.allclose(out[:, :2], x @ read.mT + shift, rtol=0, atol=1e-13)


@torch.no_grad()
@pytest.mark.parametrize(("rank", "m"), [(2, 1), (2, 2), (6, 9), (None, 4), (None, 16)])
def test_the_planted_network_is_the_construction(rank, m):
    x = tokens()
    network, exact = spectra.planted(spec(rank, m)), spectra.construction(task(rank), m, x)
    assert network.W_Q.shape == (m, 32)
    assert (network(x.float())[..., 0] - exact(x)).abs().max() <= 1e-5


def test_units_that_the_construction_does_not_use_stay_as_they_are_drawn():
    """Five waves of rank 5 and the four slow sines are units 1, ..., 9 of the first layer."""
    given = spec(5, 7)
    before, after = (
        next(layer for layer in model.f if isinstance(layer, nn.Linear))
        for model in (learner.untrained(given), spectra.planted(given))
    )
    for drawn, now in ((before.weight, after.weight), (before.bias, after.bias)):
        assert torch.equal(now[9:], drawn[9:])
        assert (now[:9] != drawn[:9]).all()


def test_the_waves_of_the_best_coupling_are_orthonormal():
    """On a grid of 64 points sums of frequencies up to 16 are exact; eps for each of 64 terms."""
    given = spectra.BestCoupling(spectra.Spectrum("2", None), 1, 8, 100, 40, 0)
    w = spectra._basis(given, torch.arange(64, dtype=torch.float64)[:, None] / 64)
    torch.testing.assert_close(w.mT @ w / 64, torch.eye(17).double(), rtol=0, atol=64 * 2**-52)


def test_the_search_starts_near_the_construction():
    """Rank 2 with sigma = 1, 1/4, in 3 rows of 1 + 4 + 4 columns; noise of deviation 1/100."""
    given = spectra.BestCoupling(spectra.Spectrum("2", 2), 3, 4, 50, 60, 0)
    exact = torch.zeros(3, 9, dtype=torch.float64)
    exact[0, 1], exact[1, 2] = 1, 1 / 2
    noise = torch.cat([W - exact for W in spectra._start(given)])
    assert 0.007 < noise.std() < 0.013  # of 54 numbers: three standard errors of 1/10
    assert noise.abs().max() < 0.05


def test_the_best_coupling_is_better_than_where_it_starts():
    given = spectra.BestCoupling(spectra.Spectrum("2", None), 1, 8, 100, 40, 0)
    found = spectra.best_coupling(given, Workspace())
    assert found.numbers["mean square error, fitted"] < found.curves["loss"][0] / 3
    assert found.tensors["A"].shape == (1, 17)
    exact = spectra.BestCoupling(spectra.Spectrum("2", 2), 2, 4, 50, 60, 0)
    assert spectra.best_coupling(exact, Workspace()).numbers["mean square error"] < 1e-8


def test_the_search_is_given_the_gradient_of_its_own_loss(monkeypatch):
    """A difference quotient along the gradient of A is its norm, up to h^2 = 1e-10 times a third
    derivative."""
    quotients = []

    class Search:
        def __init__(self, weights, **_):
            self.A, self.B = weights

        def zero_grad(self):
            self.A.grad = self.B.grad = None

        def step(self, loss):
            loss()
            norm, h = self.A.grad.norm(), 1e-5
            ahead = h * self.A.grad / norm
            ends = []
            for move in (ahead, -2 * ahead):
                self.A.data += move
                ends.append(loss())
            quotients.append((ends[0] - ends[1]) / (2 * h * norm))

    monkeypatch.setattr(torch.optim, "LBFGS", Search)
    given = spectra.BestCoupling(spectra.Spectrum("2", None), 1, 8, 20, 1, 0)
    spectra.best_coupling(given, Workspace())
    assert math.isclose(quotients[0], 1, rel_tol=1e-8)
