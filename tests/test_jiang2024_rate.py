"""Couplings, constructions, floors and bounds of Theorem 4.1; POD and weighted low rank."""

import math

import flint
import numpy as np
import pytest
import torch

from repro.jiang2024 import (
    affine_networks,
    complexity,
    couplings,
    encoded_logit_floor,
    encodings,
    logit_floor,
    output_floor,
    rate,
)
from repro.numerics import lowrank, pod, rates
from repro.numerics.exact import rational, rationals, to_float
from repro.numerics.polylogarithms import fourier_sums

ROUNDED = 1e-13  # waves of arguments up to 300, each rounded: 300 * 2^-53 = 3e-14, and a few sums


def fractions(*values):
    return rationals(list(values))


# Couplings


@pytest.mark.parametrize(("key", "pieces"), [("sin", 0), ("cos", 0), ("sin", 3), ("cos", 3)])
def test_float_and_ball_couplings_agree(key, pieces):
    coupling = couplings.Coupling(couplings.powers("3/2", 5), key, pieces)
    x = fractions("1/7", "2/5", "9/10")[:, None]
    x = encodings.shifted(x) if pieces else x
    balls = to_float(coupling.target()(x))
    floats = coupling.target()(torch.tensor(to_float(x)))
    assert floats.numpy() == pytest.approx(balls, abs=ROUNDED)


def test_waves_against_numpy():
    coupling = couplings.Coupling(couplings.powers(2, 4), "cos")
    x = torch.linspace(0, 1, 7, dtype=torch.float64)[:, None]
    angles = 2 * np.pi * x.numpy() * np.arange(1, 5)
    assert coupling.queries(x).numpy() == pytest.approx(np.sqrt(2) * np.sin(angles), abs=ROUNDED)
    assert coupling.keys(x, slice(2)).numpy() == pytest.approx(
        np.sqrt(2) * np.cos(angles[:, :2]), abs=ROUNDED
    )


@pytest.mark.parametrize("s", ["3/2", "2", "5/2", "3", "4"])
def test_fourier_sums_against_polylogarithms_in_balls(s):
    places = ["0", "1/1000", "1/10", "-3/10", "1/2", "17/10"]
    C, S = fourier_sums(s, torch.tensor([float(rational(x)) for x in places], dtype=torch.float64))
    for x, c, sine in zip(places, C.tolist(), S.tolist(), strict=True):
        with flint.ctx.workprec(128):
            angle = 2 * flint.arb(rational(x))
            z = flint.acb(angle.cos_pi(), angle.sin_pi())
            whole = flint.acb(flint.arb(rational(s)).zeta()) if x == "0" else z.polylog(rational(s))
        assert (c, sine) == pytest.approx((float(whole.real), float(whole.imag)), abs=ROUNDED)
    with pytest.raises(ValueError, match="s > 1, got 1"):
        fourier_sums(1, C)


@pytest.mark.parametrize(("key", "pieces"), [("sin", 0), ("cos", 0), ("sin", 3), ("cos", 3)])
def test_endless_couplings_are_the_limit_of_finite_ones(key, pieces):
    """alpha = 3, R = 2000: what is left out is at most S_R = 1 / (2 R^2), times 2."""
    endless = couplings.endless(3, 2000, key, pieces)
    finite = couplings.Coupling(endless.sigma, key, pieces)
    x = torch.tensor([[0.2], [0.7], [0.75]], dtype=torch.float64)
    x = encodings.shifted(x) if pieces else x
    assert endless.rho(x, x).numpy() == pytest.approx(finite.rho(x, x).numpy(), abs=2.5e-7)
    for coupling in (endless, finite):
        diagonal = coupling.rho(x, x).diagonal().numpy()
        assert coupling.diagonal(x)[:, 0].numpy() == pytest.approx(diagonal, abs=ROUNDED)


def test_glued_coordinate_and_content():
    coupling = couplings.Coupling(couplings.powers(2, 2), pieces=4)
    x = encodings.shifted(fractions("1/2", 0, 1, "1/4")[:, None])
    assert coupling.content(x)[:, 0].tolist() == fractions("1/2", 0, 1, "1/4").tolist()
    assert coupling.glued(x)[:, 0].tolist() == fractions("1/8", "1/4", "3/4", "13/16").tolist()


def test_tails_by_hand():
    S, T = couplings.tails(fractions(3, 2, 1))
    assert S.tolist() == [6, 3, 1, 0]
    assert T.tolist() == [14, 5, 1, 0]
    S, T = couplings.infinite_tails(2, 3)
    assert float(S) == pytest.approx(math.pi**2 / 6 - 1 - 1 / 4 - 1 / 9)
    assert float(T) == pytest.approx(math.pi**4 / 90 - 1 - 1 / 16 - 1 / 81)


def test_alpha_1_by_hand():
    """2 (1 + 1/3 + 1/5) at u = v = 1/4; at u = 1/3, v = 1/6 the sines are 1 and 1/2."""
    assert [couplings.diagonal_at_quarter(R) for R in (1, 5, 6)] == [2, *[rational("46/15")] * 2]
    u, v = fractions("1/3", "1/6")
    assert float(couplings.logarithmic(u, v)) == pytest.approx(math.log(2))
    assert float(couplings.beyond(4, u, v)) == pytest.approx(3 / 5)
    i = np.arange(1, 5)
    waves = (2 * np.sin(2 * np.pi * i / 3) * np.sin(2 * np.pi * i / 6) / i).sum()
    assert 0.01 < abs(waves - math.log(2)) < 3 / 5


def test_alpha_1_where_no_two_sines_agree():
    """At u = 5/12, v = 1/4: those of pi (u + v), pi (u - v) and pi v are sqrt3/2, 1/2, sqrt2/2."""
    u, v = fractions("5/12", "1/4")
    assert couplings.logarithmic(u, v).overlaps(flint.arb(3).log() / 2)
    assert couplings.beyond(1, u, v).overlaps(1 + 1 / flint.arb(3).sqrt())
    i = np.arange(1, 1001)
    waves = (2 * np.sin(2 * np.pi * i * 5 / 12) * np.sin(2 * np.pi * i / 4) / i).sum()
    assert abs(waves - math.log(3) / 2) < (2 + 2 / math.sqrt(3)) / 1001


def test_bad_couplings_are_named():
    with pytest.raises(ValueError, match="key = 'tan'"):
        couplings.Coupling(couplings.powers(2, 2), "tan")
    with pytest.raises(ValueError, match="alpha > 1"):
        couplings.infinite_tails(1, 3)


# Constructions


def test_row_error_against_all_grid_points():
    """One row of tau = 3 tokens, averaged over a grid that sees frequency 4R exactly."""
    sigma, kept, n = fractions(3, 2, 1), fractions("7/2", "1/3"), 13
    x = torch.arange(n, dtype=torch.float64)[:, None] / n
    for key in ("sin", "cos"):
        coupling = couplings.Coupling(sigma, key)
        delta = coupling.rho(x, x) - rate.truncated(coupling, kept, x).target().logits(x)
        by_grid = 2 * (delta**2).mean() + (delta.diagonal() ** 2).mean()
        assert float(rate.row_error(sigma, kept, 3, key)) == pytest.approx(by_grid.item())


def test_ridge_and_trace_by_hand():
    sigma = fractions(4, 2, 1)
    assert rate.ridge(sigma, 1, 2).tolist() == fractions("26/5").tolist()  # 4 + 3 / (1 + 3/2)
    assert rate.trace(sigma, 2).tolist() == fractions("9/2", "5/2").tolist()
    assert rate.plain(sigma, 3).tolist() == sigma.tolist()
    for m in (0, 4):
        with pytest.raises(ValueError, match="1 <= m_h <= R = 3"):
            rate.plain(sigma, m)


def test_mended_diagonal_in_float64():
    coupling = couplings.Coupling(couplings.powers(2, 20), "cos", pieces=3)
    x = encodings.shifted(torch.tensor([[0.3], [0.6], [0.9]], dtype=torch.float64))
    network = rate.with_diagonal(coupling, 4, x)
    off = (network.target().logits(x) - coupling.rho(x, x)).abs()
    assert network.m_h == 7
    assert off.diagonal().max() < 1e-14
    assert off.sum() > 1e-3
    with pytest.raises(ValueError, match="encoded"):
        rate.with_diagonal(couplings.Coupling(couplings.powers(2, 3)), 1, x)


def test_interpolated_waves_are_exact_at_the_knots():
    coupling = couplings.Coupling(couplings.powers(2, 3))
    knots = torch.arange(9, dtype=torch.float64)[:, None] / 8
    exact = rate.truncated(coupling, coupling.sigma, knots)
    layer = rate.interpolated(coupling, coupling.sigma, 8, knots)
    assert layer.f(knots).numpy() == pytest.approx(exact.f(knots).numpy(), abs=ROUNDED)
    between = (layer.f(knots[:-1] + 1 / 16) - exact.f(knots[:-1] + 1 / 16)).abs().max()
    assert between > 0.1


def test_separate_networks_compute_what_a_shared_layer_does():
    coupling = couplings.Coupling(couplings.powers(2, 3), "cos")
    x = torch.rand((4, 5, 1), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    nets = rate.separate(coupling, coupling.sigma[:2], 6, x)
    shared = rate.interpolated(coupling, coupling.sigma[:2], 6, x)
    assert nets.f.neurons == 2 * 2 * 6 + 1
    assert nets.transformer()(x).numpy() == pytest.approx(shared(x).numpy(), abs=ROUNDED)
    touched = (nets.f.W_2 != 0).sum(0)
    assert touched.max() == 1  # no neuron serves two coordinates


def test_encoded_networks_are_exact_at_the_knots_and_near_between():
    tau, w, r = 3, 16, 2
    coupling = couplings.endless(3, 8, "sin", tau)
    rng = np.random.default_rng(0)
    x = encodings.shifted(torch.tensor(rng.random((50, tau, 1))))
    at_knots = encodings.shifted(torch.tensor(rng.integers(0, w + 1, (5, tau, 1)) / w))
    exact, layer = rate.with_diagonal(coupling, r, x), rate.encoded_networks(coupling, r, w, x)
    assert layer.f.neurons == (w + 1) * tau - 1
    assert layer.f(at_knots).numpy() == pytest.approx(exact.f(at_knots).numpy(), abs=ROUNDED)
    off = (layer.target().logits(x) - exact.target().logits(x)).abs().max().item()
    sup = math.sqrt(2 / tau)
    e = [sup * (2 * math.pi * i / (tau * w)) ** 2 / 8 for i in (1, 2)]
    waves = 2 * rate.network_error([1, 1 / 8], sup, e)
    assert 0 < off < waves + rate.diagonal_error(3, r, tau, w)


def test_diagonal_error_by_hand():
    """r = 1, tau = w = 1: every wave is off by 2 at most, 2 (zeta(2) - 1) in all."""
    assert rate.diagonal_error(2, 1, 1, 1) == pytest.approx(2 * (math.pi**2 / 6 - 1), rel=1e-4)
    fine = rate.diagonal_error(3, 1, 2, 10**6, terms=100)  # all waves as w^-2, but for the rest
    waves = sum((4 * math.pi * i / 2e6) ** 2 / 8 / i**3 for i in range(2, 101))
    assert fine == pytest.approx((waves + 100**-2) / 2)


def test_ridge_of_all_waves():
    coupling = couplings.endless(2, 4)
    S = math.pi**2 / 6 - 1 - 1 / 4
    kept = to_float(rate.endless_ridge(coupling, 2, 3))
    assert kept == pytest.approx([1 + S / 4.5, 1 / 4 + S / 4.5])


def test_slope_of_means_allows_for_tails_that_all_points_share():
    """y = x^-2 times a heavy-tailed factor, larger for larger x, the same draws at every x."""
    rng, x = np.random.default_rng(0), np.array([32, 64, 128, 256, 512])
    covered = plain = 0
    for _ in range(100):
        heavy, powers = rng.exponential(1, (400, 1)), 2 + 0.2 * np.log2(x / 32)
        draws = x**-2.0 * heavy**powers / [math.gamma(1 + p) for p in powers]  # of mean x^-2
        covered += rates.slope_of_means(x, draws).contains(-2)
        plain += rates.slope(x, draws.mean(0)).contains(-2)
    assert covered >= 80
    assert plain <= covered - 20


# Bounds and floors


def test_bounds_by_hand():
    assert float(rate.ridge_bound(2, 4, 2)) == pytest.approx(1.5 * (1 / 3 + 1) / 64)
    assert float(rate.ridge_bound(3, 4, 2, 3)) == pytest.approx(1.5 * 9 * (1 / 5 + 1 / 4) / 4**5)
    assert float(rate.encoded_bound(2, 4, 3)) == pytest.approx(9 / 3 / 64)
    assert rate.mean_square_bound(8, 3, 2) == 36
    assert rate.network_error([2, 1], 10, [1, 0]) == 21  # 1/2 (2 (20 + 1))
    printed = rate.printed_bound((2, 3, 5), (2, 1), 4, 2, 10)
    assert float(printed) == pytest.approx(16 * 2 * (3 / 8 + 5 * 4 / 10))
    low_rank = rate.printed_bound((2, 3, 5), (2, 1), 4, 2, math.inf)
    assert float(low_rank) == pytest.approx(16 * 2 * 3 / 8)
    with pytest.raises(ValueError, match="alpha > 1, got alpha = 1"):
        rate.ridge_bound(1, 4, 2)
    with pytest.raises(ValueError, match="alpha > 1/2, got alpha = 1/2"):
        rate.encoded_bound("1/2", 4)


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
    rooms, halves = (
        ~np.kron(np.eye(parts), np.ones((32 // parts, 32 // parts))).astype(bool)
        for parts in (tau, 2)
    )
    T = couplings.tails(sigma)[1]
    floor = float(
        encoded_logit_floor.encoded_floor(lambda k: T[k], gauge, tau)
    )  # the function is rank 1 more
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
    near = float(encoded_logit_floor.encoded_cost("3/2", r, tau)) - T / 2
    d = (np.arange(n)[:, None] + np.arange(n) + 1) / (tau * n)  # between two rooms side by side
    integral = 4 * (np.minimum(2 * S, (r + 1) ** -1.5 / d) ** 2).mean() / tau**2
    beyond = 4 * (r + 1) ** -3 * (math.log(2) - 1 / 2)  # with 1/tau for 2/tau - d
    assert near == pytest.approx(integral + beyond, rel=2e-3)
    assert float(encoded_logit_floor.encoded_cost("3/2", 4, tau)) == float(
        couplings.infinite_tails("3/2", 4)[1]
    )


def test_encoded_cost_is_above_that_of_a_network():
    tau, r, rng = 4, 400, np.random.default_rng(0)
    coupling = couplings.endless("3/2", r, "sin", tau)
    u, v = (
        encodings.shifted(torch.tensor((np.arange(300) + rng.random((tau, 300))) / 300))
        for _ in range(2)
    )
    u, v = u.flatten()[:, None], v.flatten()[:, None]
    off = rate.with_diagonal(coupling, r, u).target().rho(u, v) - coupling.rho(u, v)
    cost = (off**2)[(u // 2 != (v // 2).mT)].sum().item() / 300**2
    T = float(couplings.infinite_tails("3/2", r)[1])
    assert 0.45 * T < cost < float(encoded_logit_floor.encoded_cost("3/2", r, tau)) < T


def test_encoded_floors_need_two_halves():
    assert encoded_logit_floor.encoded_floor(
        [9, 9, 9, rational("1/3"), 9].__getitem__, 2, 6
    ) == rational("1/6")
    for tau in (0, 5):
        with pytest.raises(ValueError, match=f"even tau, got tau = {tau}"):
            encoded_logit_floor.encoded_floor([1, 1].__getitem__, 0, tau)
    with pytest.raises(ValueError, match="alpha > 1, got alpha = 1"):
        encoded_logit_floor.encoded_cost(1, 8, 4)


def test_pair_on_a_grid_has_its_singular_values_and_obeys_its_floor():
    """The matrix of the proof; truncations of either kind lie above the floor."""
    pair = output_floor.Pair(2, 9)
    u, v = ([flint.fmpq(3 * j + k, 27) for j in range(9)] for k in (1, 2))
    A = [[(pair.sigma * pair.bases(a) * pair.bases(b)).sum() for b in v] for a in u]
    values = pod.singular_values(flint.arb_mat(A))[0]
    for value, sigma in zip(values, pair.sigma, strict=True):
        assert (value / 9).overlaps(sigma)
    assert pair.mean_square_floor(3) < pair.mean_square_bound(3)
    assert pair.mean_floor(3) < pair.mean_square_bound(3).sqrt()
    with pytest.raises(ValueError, match="odd number: n = 8"):
        output_floor.Pair(2, 8)


def test_floors_of_a_pair_by_hand():
    """The proof in output_floor.py, in numpy: eta, slope, and the sums beyond m + 1."""
    n, m, size = 9, 2, 0.5
    pair, sigma = output_floor.Pair(2, n, "1/2"), size / np.arange(1, n + 1) ** 2
    S, T, k_0 = sigma[m + 1 :].sum(), (sigma[m + 1 :] ** 2).sum(), 2 * sigma.sum()

    def slope(z):
        return math.exp(z) / (1 + math.exp(z)) ** 2

    assert float(pair.mean_floor(m)) == pytest.approx(slope(k_0 + n * S) * S / n)
    square = slope(k_0 + n * math.sqrt(T)) ** 2 * T
    assert float(pair.mean_square_floor(m)) == pytest.approx(square)
    assert float(pair.mean_square_bound(m)) == pytest.approx((sigma[m:] ** 2).sum() / 16)


def test_floors_of_a_pair_among_more_tokens_by_hand():
    """b = log(tau - 1) more in the slope, and less in that of the truncation."""
    n, m, tau = 9, 2, 8
    pair, sigma = output_floor.Pair(2, n, "1/16", tau=tau), 1 / 16 / np.arange(1, n + 1) ** 2
    T, k_0, b = (sigma[m + 1 :] ** 2).sum(), 2 * sigma.sum(), math.log(7)

    def slope(z):
        return 1 / (4 * math.cosh(z / 2) ** 2)

    floor = slope(k_0 + n * math.sqrt(T) + b) ** 2 * T
    assert float(pair.mean_square_floor(m)) == pytest.approx(floor)
    bound = slope(b - k_0) ** 2 * (sigma[m:] ** 2).sum()
    assert float(pair.mean_square_bound(m)) == pytest.approx(bound)
    large = output_floor.Pair(2, n, "4", tau=tau)  # k_0 > b: the steepest place is within reach
    assert float(large.mean_square_bound(m)) == pytest.approx(256 * (sigma[m:] ** 2).sum())


def test_outputs_of_a_pair_among_more_tokens():
    """H_1 is the logistic function of rho - log(tau - 1), all others are 1/tau; and no coupling of
    rank m tried has a smaller mean square than the floor: truncations, also moved in their rows."""
    pair = output_floor.Pair(2, 9, "1/16", tau=4)
    x = encodings.shifted(torch.tensor(np.random.default_rng(0).random((4000, 4, 1))))
    H, logits = pair.target()(x), pair.target().logits(x)
    expected = torch.sigmoid(logits[:, 0, 3] - math.log(3))
    assert H[:, 0].numpy() == pytest.approx(expected.numpy(), abs=ROUNDED)
    assert H[:, 1:].numpy() == pytest.approx(0.25, abs=ROUNDED)
    assert logits[:, :, :3].abs().max() == logits[:, 1:].abs().max() == 0
    for m in (1, 3, 5):
        found = [(H - pair.truncated(k)(x))[:, 0].square().mean().item() for k in (m, m + 1)]
        assert float(pair.mean_square_floor(m)) < min(found)
        assert found[0] < float(pair.mean_square_bound(m))
    with pytest.raises(ValueError, match="tau >= 2 tokens, got tau = 1"):
        output_floor.Pair(2, 9, tau=1)
    with pytest.raises(ValueError, match="for tau = 2, got tau = 4"):
        pair.rank_one(0.1)


def test_floors_of_all_waves_by_hand():
    """What is beyond the grid is taken off; with next to nothing beyond, it is the finite pair."""
    n, m = 9, 2
    pair, terms = output_floor.EndlessPair(2, n, "1/2"), 0.5 / np.arange(1, 10**6) ** 2
    S, T = terms[m + 1 : n].sum(), (terms[m + 1 : n] ** 2).sum()
    B_1, B_2 = terms[n:].sum() + 5e-7, (terms[n:] ** 2).sum()
    z = 2 * math.pi**2 / 12 + n * S
    slope = math.exp(z) / (1 + math.exp(z)) ** 2
    assert float(pair.mean_floor(m)) == pytest.approx(slope * (S - B_1) / n, rel=1e-6)
    z = 2 * math.pi**2 / 12 + n * math.sqrt(T)
    root = math.exp(z) / (1 + math.exp(z)) ** 2 * (math.sqrt(T) - math.sqrt(B_2))
    assert float(pair.mean_square_floor(m)) == pytest.approx(root**2, rel=1e-6)
    assert float(pair.mean_square_bound(m)) == pytest.approx((terms[m:] ** 2).sum() / 16)
    assert float(pair.mean_square_floor(8)) == 0  # the grid sees less than it leaves out


def test_all_waves_of_a_pair_are_the_limit_of_finitely_many():
    """alpha = 3 and 3001 waves: what is left out is below 2 / (2 n^2 64) = 2e-9."""
    x = torch.tensor([[[2.3], [4.6]], [[2.0], [4.0]], [[2.99], [4.5]]], dtype=torch.float64)
    endless, finite = output_floor.EndlessPair(3, 5), output_floor.Pair(3, 3001)
    logits = [pair.target().logits(x).numpy() for pair in (endless, finite)]
    assert logits[0] == pytest.approx(logits[1], abs=4e-9)
    kept = finite.truncated(4).logits(x)[0, 0, 1].item()
    u, v = (finite.bases(flint.fmpq(k, 10))[:4] for k in (3, 6))
    assert kept == pytest.approx(float((finite.sigma[:4] * u * v).sum()), abs=ROUNDED)


def test_floors_of_a_pair_refuse_small_alpha():
    pair = output_floor.Pair("7/4", 9)
    assert pair.mean_square_floor(2) > 0
    with pytest.raises(ValueError, match="L1 error is proved for alpha >= 2, got alpha = 7/4"):
        pair.mean_floor(2)
    with pytest.raises(ValueError, match="mean square error is proved for alpha >= 3/2"):
        output_floor.Pair("4/3", 9).mean_square_floor(2)


def test_pair_in_floats_and_its_coupling_of_rank_one():
    """Logits at two tokens, against balls and by hand."""
    pair, x = output_floor.Pair(2, 5), torch.tensor([[[2.3], [4.6]]], dtype=torch.float64)
    u, v = (pair.bases(flint.fmpq(k, 10)) for k in (3, 6))
    logits = pair.target().logits(x)[0]
    assert logits[0, 1].item() == pytest.approx(float((pair.sigma * u * v).sum()), abs=ROUNDED)
    assert logits[0, 0] == logits[1, 0] == logits[1, 1] == 0
    sigma, e = [float(s) for s in pair.sigma], [float(wave[1]) for wave in (u, v)]
    g = pair.rank_one(0.1).logits(x)[0]
    free = sigma[0] * e[0] ** 2 / (e[0] ** 2 + 0.01)
    assert (g[0, 1] - g[0, 0]).item() == pytest.approx(free + sigma[1] * e[0] * e[1], abs=ROUNDED)


def test_the_coupling_of_rank_one_leaves_the_second_token_at_one_half():
    """Its queries are 0 on I_2, so that H^_2 = 1/2 = H_2."""
    x = torch.tensor([[[2.3], [4.6]]], dtype=torch.float64)
    found = output_floor.Pair(2, 5).rank_one(0.1)
    assert found.logits(x)[0, 1].tolist() == [0, 0]
    assert found(x)[0, 1].item() == 0.5


def test_affine_floor_needs_waves():
    assert float(affine_networks.affine_floor(8)) == pytest.approx(7 / (16 * math.pi))
    assert float(affine_networks.affine_complexity(2, "1/10")) == pytest.approx(0.1 * math.pi**2)
    with pytest.raises(ValueError, match="N = 1"):
        affine_networks.affine_floor(1)


def test_affine_networks_by_hand():
    """A + (B + C y) l(a + b y) with l = 3/4 at y = 2, where a + b y = log 3."""
    y = np.array([2.0, -1.0])
    found = affine_networks.affine_network(y, 1, 2, 3, math.log(3) - 4, 2)
    assert found == pytest.approx([1 + 8 * 3 / 4, 1 - 1 / (1 + math.exp(6) / 3)])


def test_one_turning_point_attains_the_affine_floor():
    """The proof uses no more: rise with the first quarter-wave, follow one half-wave, fall."""
    N, cells = 4, 4096
    y = (np.arange(cells) + 0.5) / cells
    h = -np.cos(2 * np.pi * N * y) / 4
    followed = (4 * N * y < 1) | (abs(4 * N * y - 6) < 1) | (4 * N * y > 4 * N - 1)
    g = np.where(followed, h, 0)
    turns = np.diff(np.sign(np.diff(g)[np.diff(g) != 0]))
    assert np.count_nonzero(turns) == 1
    assert abs(h - g).mean() == pytest.approx(float(affine_networks.affine_floor(N)), rel=1e-5)


# Complexity


def test_complexities_by_hand():
    assert float(complexity.C_1(fractions(1, "1/2", "1/3"), 1)) == pytest.approx(1)
    assert float(complexity.C_1(fractions(1, 1), 2)) == pytest.approx(4)
    assert float(complexity.C_2(complexity.BARRON, 2, 3, 4)) == pytest.approx(
        7 + 2 * math.sqrt(2) * 2 * math.pi * 3
    )
    assert float(complexity.C_0(flint.fmpq(1, 10), 1, 2)) == 1
    assert float(complexity.C_0_as_printed(flint.fmpq(1, 10), 1, 2)) == pytest.approx(0.2)
    with pytest.raises(ValueError, match="odd multiple of 2i = 4, got 8"):
        complexity.error_at_a_crest(2, 8)


def test_errors_at_crests_against_interpolation():
    """The largest error of np.interp, at a middle."""
    for i, w in ((1, 2), (2, 12), (1, 10)):
        x, knots = np.arange(2 * w + 1) / (2 * w), np.arange(w + 1) / w
        wave, at_knots = (math.sqrt(2) * np.sin(2 * np.pi * i * z) for z in (x, knots))
        off = abs(wave - np.interp(x, knots, at_knots)).max()
        assert float(complexity.error_at_a_crest(i, w)) == pytest.approx(off)
    for w in (4, 5, 6):
        with pytest.raises(ValueError, match="odd multiple of 2i = 8"):
            complexity.error_at_a_crest(4, w)


def test_three_times_i_cells_have_no_crest_in_a_middle():
    """Middles are odd multiples of 1/(6i), crests are those of 1/(4i): 2 odd would be 3 odd."""
    for i in (1, 4):
        with pytest.raises(ValueError, match=f"odd multiple of 2i = {2 * i}, got {3 * i}"):
            complexity.error_at_a_crest(i, 3 * i)


def test_floors_of_complexities_by_hand():
    assert float(complexity.least_bill(6)) == pytest.approx(math.pi**2 * 2)  # p = 2
    assert float(complexity.least_bill(24, 4)) == pytest.approx(math.pi**2 * 4 * 8 / 8)  # p = 2
    assert float(complexity.least_bill(1, 4)) == 0
    assert float(complexity.joint_floor(3, 2, 2)) == pytest.approx(36 * math.sqrt(2) / math.pi**2)
    two, eta = math.log(2), 1 / math.pi
    assert float(complexity.narrow("1/4", 2, 1)) == pytest.approx(two / 4 * 2 * (1 + 8 * eta))
    with pytest.raises(ValueError, match="alpha > 1, got alpha = 3/4"):
        complexity.joint_floor(1, 2, "3/4")


def test_spectrum_of_a_narrow_coupling():
    """Of the hat of width 1/8 on a circle, from 4096 points: eta sinc^2, twice from j = 1 on."""
    x = np.arange(4096) / 4096
    hat = np.maximum(1 - 8 * np.minimum(x, 1 - x), 0)
    values = np.fft.fft(hat).real / 4096
    assert values[:12] == pytest.approx(np.sinc(np.arange(12) / 8) ** 2 / 8, abs=1e-6)


# POD


def test_gauss_integrates_polynomials():
    x, w = pod.gauss(3, 2)
    assert float(sum(a * t**3 for t, a in zip(x, w, strict=True))) == pytest.approx(1 / 4)


def test_smooth_error_by_hand():
    """2 cells, q = 3: h/4 = 1/8, so that E = 2 8^-3 / 3! (6 + 12), and twice that."""
    assert float(pod.smooth_error(2, 3, (6, 12))) == pytest.approx(2 * 2 / 512 * 3)


def test_minimum_error_against_a_fine_quadrature():
    """|min - I min| on one cell with q = 2, in numpy, on 200 x 200 midpoints."""
    nodes, _ = pod.gauss(1, 2)
    a, b = map(float, nodes)
    t = (np.arange(200) + 0.5) / 200
    basis = np.stack([(t - b) / (a - b), (t - a) / (b - a)])
    interpolant = basis.T @ np.minimum.outer([a, b], [a, b]) @ basis
    square = ((np.minimum.outer(t, t) - interpolant) ** 2).mean()
    assert float(pod.minimum_error(1, 2)) == pytest.approx(math.sqrt(square), rel=1e-3)
    assert float(pod.minimum_error(4, 2)) == pytest.approx(math.sqrt(square) / 8, rel=1e-3)
    with pytest.raises(ValueError, match="q >= 2"):
        pod.minimum_error(4, 1)


def test_singular_values_of_a_known_matrix():
    A = flint.arb_mat([[3, 0], [4, 5]])
    values = pod.singular_values(A)[0]
    assert values[0].overlaps(flint.arb(45).sqrt())
    assert values[1].overlaps(flint.arb(5).sqrt())
    assert all(value.rad() < 1e-12 for value in values)


def test_tail_of_a_product():
    found = pod.decompose(lambda u, v: 3 * (2 * u).sin_pi() * v, 1, 24, flint.arb("1e-12"))
    assert found.tail(0).overlaps(flint.arb(9) / 6)
    assert abs(float(found.tail(1))) < 1e-10
