"""Floors: what no coupling of a rank, and no affine network, can do better than."""

import math

import flint
import numpy as np
import pytest
import torch

from repro.jiang2024 import (
    affine_networks,
    couplings,
    encodings,
    logit_floor,
    output_floor,
    rate,
)
from repro.numerics import lowrank, pod
from repro.numerics.exact import rational, rationals, vector

ROUNDED = 1e-13  # waves of arguments up to 300, each rounded: 300 * 2^-53 = 3e-14, and a few sums


def fractions(*values):
    return rationals(list(values))


def waves(x, n):
    """e_1, ..., e_n of output_floor.Pair at x in [0, 1], in balls."""
    angles = [flint.arb(2 * k * x) for k in range(1, (n - 1) // 2 + 1)]
    pairs = [(a.cos_pi(), a.sin_pi()) for a in angles]
    return vector([flint.arb(1), *(flint.arb(2).sqrt() * wave for pair in pairs for wave in pair)])


def test_row_floor_is_below_every_coupling_tried():
    """Random rank-one couplings on a grid, with their diagonal, for two equal sines."""
    n, tau, rng = 12, 3, np.random.default_rng(0)
    sigma = fractions(1, "1/2")
    x = torch.arange(n, dtype=torch.float64)[:, None] / n
    A = couplings.Coupling(sigma).rho(x, x).numpy()
    floor = float(logit_floor.row_floor(sigma[1], sigma[1] ** 2, 1, tau))
    cost = lowrank.Cost(pairs=tau - 1, diagonal=1)
    costs = [cost(A, np.outer(*rng.normal(0, 1, (2, n)))) for _ in range(200)]
    best = lowrank.fit(A, rng.standard_normal((n, 1)), cost)
    assert min(costs) > floor
    assert floor < best.cost <= float(rate.row_error(sigma, rate.ridge(sigma, 1, tau), tau, "sin"))
    assert cost(A, best.left @ best.right.T) == pytest.approx(best.cost)


def best_apart(A, apart, m, gauge, rng):
    """The least cost found, over the pairs `apart` alone, of U V^T of rank m, plus a function of the
    row if `gauge`; least squares for U and for V in turn."""
    V, ones = rng.standard_normal((len(A), m)), np.ones((len(A), gauge))

    def solved(rows, V, seen):
        return np.stack([np.linalg.lstsq(V[w], a[w])[0] for a, w in zip(rows, seen, strict=True)])

    for _ in range(60):
        U = solved(A, np.hstack([V, ones]), apart)
        V = solved((A - U[:, m:] @ ones.T).T, U[:, :m], apart.T)
    return (((A - U @ np.hstack([V, ones]).T) * apart) ** 2).sum()


@pytest.mark.parametrize("key", ["sin", "cos"])
@pytest.mark.parametrize("gauge", [0, 1])
def test_encoded_floor_is_below_every_coupling_found(key, gauge):
    """tau = 4, three waves, 8 midpoints in each room, rank 1; on the two halves, without functions
    of the row, it is attained."""
    tau, k, sigma, rng = 4, 8, fractions(1, "1/2", "1/3"), np.random.default_rng(0)
    x = (torch.arange(k, dtype=torch.float64) + 0.5) / k
    x = encodings.shifted(x.expand(tau, k)).flatten()[:, None]
    A = couplings.Coupling(sigma, key, tau).rho(x, x).numpy() / k  # squares add up to E delta^2
    places = np.arange(32)
    rooms, halves = (places[:, None] // size != places // size for size in (k, 16))
    T = couplings.tails(sigma)[1]  # the function is rank 1 more
    floor = float(logit_floor.encoded_floor(T.__getitem__, gauge, tau))
    all_pairs, between = (
        min(best_apart(A, apart, 1, gauge, rng) for _ in range(6)) for apart in (rooms, halves)
    )
    assert all_pairs > between > (1 - 1e-12) * floor
    assert between == pytest.approx(floor, rel=1e-9) or gauge
    left = [(np.linalg.svd(half)[1][1 + gauge :] ** 2).sum() for half in (A[:16, 16:], A[16:, :16])]
    assert sum(left) == pytest.approx(floor, abs=ROUNDED)


def test_encoded_cost_against_a_quadrature():
    """alpha = 3/2, tau = 4: a half has two rooms, and the bound of delta is integrated there; only
    beyond d = 1/tau more was counted."""
    r, tau, n = 400, 4, 1500
    S, T = map(float, couplings.infinite_tails("3/2", r))
    near = float(logit_floor.encoded_cost("3/2", r, tau)) - T / 2
    d = (np.arange(n)[:, None] + np.arange(n) + 1) / (tau * n)  # between two rooms side by side
    integral = 4 * (np.minimum(2 * S, (r + 1) ** -1.5 / d) ** 2).mean() / tau**2
    beyond = 4 * (r + 1) ** -3 * (math.log(2) - 1 / 2)  # with 1/tau for 2/tau - d
    assert near == pytest.approx(integral + beyond, rel=2e-3)
    few = logit_floor.encoded_cost("3/2", 4, tau)
    assert float(few) == float(couplings.infinite_tails("3/2", 4)[1])


def test_floors_by_hand():
    """4 (5 + 3^2 / (2 + 4)) for a row; half a tail for an even number of rooms."""
    assert logit_floor.least_cost(3, 5, 2, 4) == logit_floor.row_floor(3, 5, 2, tau=5) == 26
    floor, third = logit_floor.encoded_floor, rational("1/3")
    assert floor([9, 9, 9, third, 9].__getitem__, 2, 6) == third / 2
    assert floor([9, 9, 6].__getitem__, 1, 2) == 3
    T = couplings.infinite_tails(2, 3)[1]
    assert logit_floor.encoded_cost(2, 3, 2) < T * 0.51  # no other room


def test_pair_on_a_grid_has_its_singular_values_and_obeys_its_floor():
    """The matrix of the proof; truncations of either kind lie above the floor."""
    pair = output_floor.Pair(2, 9)
    u, v = ([flint.fmpq(3 * j + k, 27) for j in range(9)] for k in (1, 2))
    A = [[(pair.sigma * waves(a, 9) * waves(b, 9)).sum() for b in v] for a in u]
    values = pod.singular_values(flint.arb_mat(A))[0]
    for value, sigma in zip(values, pair.sigma, strict=True):
        assert (value / 9).overlaps(sigma)
    assert pair.mean_square_floor(3) < pair.mean_square_bound(3)
    assert pair.mean_floor(3) < pair.mean_square_bound(3).sqrt()


def test_all_waves_of_a_pair_are_the_limit_of_finitely_many():
    """alpha = 3 and 3001 waves: what is left out is below 2 / (2 n^2 64) = 2e-9."""
    x = torch.tensor([[[2.3], [4.6]], [[2.0], [4.0]], [[2.99], [4.5]]], dtype=torch.float64)
    endless, finite = output_floor.EndlessPair(3, 5), output_floor.Pair(3, 3001)
    logits = [pair.target().logits(x).numpy() for pair in (endless, finite)]
    assert logits[0] == pytest.approx(logits[1], abs=4e-9)
    kept = finite.target(4).logits(x)[0, 0, 1].item()
    u, v = (waves(flint.fmpq(k, 10), 5)[:4] for k in (3, 6))
    assert kept == pytest.approx(float((finite.sigma[:4] * u * v).sum()), abs=ROUNDED)


def test_pair_in_floats_and_its_coupling_of_rank_one():
    """Logits at two tokens, against balls and by hand."""
    pair, x = output_floor.Pair(2, 5), torch.tensor([[[2.3], [4.6]]], dtype=torch.float64)
    u, v = (waves(flint.fmpq(k, 10), 5) for k in (3, 6))
    logits = pair.target().logits(x)[0]
    assert logits[0, 1].item() == pytest.approx(float((pair.sigma * u * v).sum()), abs=ROUNDED)
    assert logits[0, 0] == logits[1, 0] == logits[1, 1] == 0
    sigma, e = [float(s) for s in pair.sigma], [float(wave[1]) for wave in (u, v)]
    g = pair.rank_one(0.1).logits(x)[0]
    free = sigma[0] * e[0] ** 2 / (e[0] ** 2 + 0.01)
    assert (g[0, 1] - g[0, 0]).item() == pytest.approx(free + sigma[1] * e[0] * e[1], abs=ROUNDED)
    assert g[1].tolist() == [0, 0], "queries are 0 on I_2"
    assert pair.rank_one(0.1)(x)[0, 1].item() == 0.5


def test_affine_networks_by_hand():
    # A + (B + C y) l(a + b y) with l = 3/4 at y = 2, where a + b y = log 3.
    y = np.array([2.0, -1.0])
    found = affine_networks.affine_network(y, 1, 2, 3, math.log(3) - 4, 2)
    assert found == pytest.approx([1 + 8 * 3 / 4, 1 - 1 / (1 + math.exp(6) / 3)])
