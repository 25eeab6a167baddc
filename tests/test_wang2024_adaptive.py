"""Heads that follow a pointer, the networks of Section 5, and the width of a pointer's network."""

import dataclasses
import itertools
import math

import flint
import numpy as np
import pytest
import torch

from repro.numerics import barron
from repro.numerics.exact import rational, rationals
from repro.numerics.logarithms import Log, ball
from repro.numerics.vertices import NotConverged
from repro.wang2024 import adaptive, chains, circle, depth, moving, targets

# Heads


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.parametrize("T", [1, 2, 3])
def test_interpolating_heads_have_the_level_asked_for(rpe, T):
    psi = moving.interpolated(rpe, T, "1/50")
    assert moving.heads_needed(rpe, T) == psi.H
    assert ball(psi.error) <= ball(rational("1/50"))
    for B in range(1, T + 1):  # in float64, so far as the weights allow
        off = np.abs(psi.kernel(B, 40) - np.eye(40)[B]).sum()
        assert off <= 1 / 50 + 10 * psi.floor


@pytest.mark.parametrize(("rpe", "T", "H"), [("lin", 2, 4), ("log", 2, 5)])
def test_fitted_heads_are_as_good_as_the_proved_optimum(rpe, T, H):
    best, fit = moving.optimal(rpe, T, H), moving.fitted(rpe, T, H)
    worst = max(np.abs(fit.kernel(B, 60) - np.eye(60)[B]).sum() for B in range(1, T + 1))
    assert worst == pytest.approx(fit.error, abs=1e-9)
    assert fit.error <= float(ball(best.error).upper()) + 1e-9  # a window sees less than all
    assert fit.exponents == tuple(map(rational, moving.usual_exponents(rpe, H)))


def test_weight_is_the_sum_of_what_a_head_adds_up_at_most():
    psi = moving.Moving("lin", 2, (Log(2), Log(4)), (rational(3), rational(-1)), 1)
    assert psi.weight == pytest.approx(3 * 4 * 2 + 16 * 4 / 3)  # u^-T / (1 - u), u = 1/2 and 1/4
    psi = moving.Moving("log", 2, (rational(2),), (rational(1),), 1)
    assert psi.weight == pytest.approx(4 * math.pi**2 / 6)


@pytest.mark.parametrize(("rpe", "H"), [("lin", 4), ("log", 5)])
def test_the_proved_error_is_that_over_a_long_window_and_hardly_more(rpe, H):
    psi = moving.fitted(rpe, 2, H)
    longest = max(np.abs(psi.kernel(B, 4000) - np.eye(4000)[B]).sum() for B in (1, 2))
    assert longest - 1e-12 <= psi.proved_error() <= 1.01 * longest


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_silent_heads_have_the_error_of_silence(rpe):
    psi = moving.silent(rpe, 3)
    assert (psi.kernel(2, 10) == 0).all()
    assert (psi.T, psi.error) == (3, 1)


def test_allocation_against_all_others():
    costs, H, n = [1.0, 2.5, 4.0], 11, 2

    assert list(moving.splits(4, 2)) == [(1, 3), (2, 2), (3, 1)]
    assert moving.split_cost([2, 3], [1, 3], 1) == 2**2 / 1 + 3**2 / 3
    least = min(moving.split_cost(costs, split, n) for split in moving.splits(H, 3))
    assert moving.split_cost(costs, moving.allocate(H, costs, n), n) == pytest.approx(least)
    with pytest.raises(ValueError, match="H >= M: got H=2, M=3"):
        moving.allocate(2, costs, n)


# Networks


def test_layout_of_a_token():
    layout = adaptive.Layout(M=2, d=3)
    assert layout.D == 12
    assert [layout.block(k) for k in range(3)] == [slice(0, 3), slice(3, 6), slice(6, 9)]
    assert [layout.pointer(1), layout.pointer(2), layout.last] == [9, 10, 11]
    assert layout.row(9, rational(5)).tolist() == [[0] * 9 + [5, 0, 0]]


def test_stages_of_the_theorems():
    assert adaptive.two_layers(targets.TWO_POINTERS) == [[1, 2]]
    assert adaptive.nested(targets.NESTED) == [[1], [2]]
    assert adaptive.nested(targets.BRANCHED) == [[1], [2, 3]]
    assert adaptive.nested(dataclasses.replace(targets.NESTED, K=2)) == [[1], [2]]
    assert adaptive.one_by_one(targets.BRANCHED) == [[1], [2], [3]]


def heads(target, rpe="lin"):
    return [moving.interpolated(rpe, T, "1/10") for T in target.distances]


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([[1]], "each of the M=2 memories is fetched once"),
        ([[1, 2]], r"g_2 reads the memories \[1\], not fetched before"),
        ([[2], [1]], r"g_2 reads the memories \[1\], not fetched before"),
    ],
)
def test_stages_that_cannot_be(stages, message):
    with pytest.raises(ValueError, match=message):
        adaptive.transformer(targets.NESTED, heads(targets.NESTED), stages)


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.parametrize("tmx", [False, True])
def test_a_whole_network_in_float64(rpe, tmx):
    target = targets.NESTED
    fits = [moving.fitted(rpe, T, 6) for T in target.distances]
    network = adaptive.transformer(target, fits, adaptive.nested(target), tmx=tmx)
    error = adaptive.errors(network.to(torch.float64), target, target.windows(6)).max()
    allowed = target.readout.lipschitz * (
        adaptive.attention_error(fits) + 5 * sum(f.floor for f in fits)
    )
    assert 0 < error <= allowed
    assert len(network.layers) == 3


def test_each_memory_is_held_against_its_own_heads():
    """The two pointers reach 3 and 2 tokens back."""
    far, near = (moving.interpolated("lin", T, "1/10") for T in (3, 2))
    assert len(adaptive.transformer(targets.TWO_POINTERS, [far, near], [[1, 2]]).layers) == 2
    with pytest.raises(ValueError, match="memory 1 reaches T=3, got heads for T=2"):
        adaptive.transformer(targets.TWO_POINTERS, [near, near], [[1, 2]])


def test_errors_in_balls_count_with_their_upper_ends():
    psi = moving.silent("lin", 1)
    pair = [dataclasses.replace(psi, error=flint.arb(middle, 1)) for middle in (2, 3)]
    assert adaptive.attention_error(pair) == pytest.approx(5.0)


def test_attention_errors_of_orthogonal_blocks_add_up_in_squares():
    pair = [dataclasses.replace(moving.interpolated("lin", 1, "1/2"), error=e) for e in (3.0, 4.0)]
    assert adaptive.attention_error(pair) == pytest.approx(5.0)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_constant_is_the_largest_term(n):
    terms = [(T + 1) ** n * math.exp(-0.01 * (n + 1) * T) for T in range(1, 1000)]
    assert float(adaptive.constant_lin(n)) == pytest.approx(max(terms), rel=1e-14)


# Tokens on a circle


def test_neighbours_on_the_circle_are_far_apart_in_steps():
    """3j mod 8 is 0, 3, 6, 1, 4, 7, 2, 5."""
    assert circle.steps(8) == [1, 4, 7, 2, 5, 8, 3, 6]
    assert circle.steps(4) == [1, 2, 4, 1, 3, 4, 2, 3]


def test_steps_use_all_distances():
    assert [sorted(set(circle.steps(T))) for T in (1, 2, 4, 8)] == [
        list(range(1, T + 1)) for T in (1, 2, 4, 8)
    ]
    with pytest.raises(ValueError, match="1 <= T <= 8 steps apart, got T=9"):
        circle.steps(9)


def test_a_norm_in_a_ball_counts_with_its_upper_end():
    network = circle.COMPASS.memories[0].lin
    least = circle.Least(network, flint.arb(2, 1), flint.arb(3, 1))
    assert least.norm == pytest.approx(4)


def test_edges_of_two_tokens_by_hand():
    """(1, 0, 1) x e_2 and e_1 x (0, 1, 1) vanish on one token only; (-1, -1, 1) vanishes on both."""
    half, one = rational("1/2"), rational(1)
    rays = [[0, 0, one], [0, one, 0], [one, 0, 0], [-half, 0, half], [0, -half, half]]
    found = circle.edges(rationals([[1, 0], [0, 1]])).tolist()
    assert sorted(found) == sorted(rays)


def test_neurons_that_are_no_vertex_are_refused(monkeypatch):
    """1 = x_1 + x_2 on these tokens is twice as dear as the constant: y = (1, 1) is 2 on it."""
    tokens = rationals([[1, 0], [0, 1]])
    rays = circle.edges(tokens).tolist()
    dear = [rays.index([1, 0, 0]), rays.index([0, 1, 0])]
    assert circle.least_norm(tokens, [1, 1]).norm == 1
    monkeypatch.setattr(circle, "_vertex", lambda table, values: (dear, [1, 1]))
    with pytest.raises(NotConverged, match="not those of a vertex"):
        circle.least_norm(tokens, [1, 1])


def test_no_other_neuron_makes_the_norm_smaller():
    """Random neurons beside the edges: the linear program gains nothing."""
    from scipy.optimize import linprog

    least, rng = circle.least_norm(circle.EIGHT, circle.steps(8)), np.random.default_rng(0)
    drawn = rng.standard_normal((4000, 3))
    drawn /= np.abs(drawn).sum(1, keepdims=True)
    rays = np.concatenate([drawn, circle.edges(circle.EIGHT).astype(float)])
    x = np.column_stack([circle.EIGHT.astype(float), np.ones(8)])
    table = np.maximum(x @ rays.T, 0)
    found = linprog(
        np.ones(2 * len(rays)),
        A_eq=np.hstack([table, -table]),
        b_eq=circle.steps(8),
        bounds=(0, None),
    )
    assert found.fun == pytest.approx(least.norm, rel=1e-9)


def test_least_norm_by_hand():
    """1 + |x_2| on four tokens: 3, since y = (-1/2, 1, -1/2, 1) has |y.r| <= 1 on every neuron."""
    tokens = rationals([[1, 0], [0, 1], [-1, 0], [0, -1]])
    y, rays = rationals(["-1/2", 1, "-1/2", 1]), circle.edges(tokens)
    hits = y @ np.maximum(tokens @ rays[:, :2].T + rays[:, 2], 0)
    assert max(abs(hits)) <= 1
    assert y @ rationals([1, 2, 1, 2]) == 3
    least = circle.least_norm(tokens, [1, 2, 1, 2])
    assert (least.lower, least.upper) == (3, 3)
    assert circle.COMPASS.memories[0].barron == 3
    assert barron.path_norm(circle.COMPASS.memories[0].lin) == 3


@pytest.mark.parametrize("T", [2, 8])
def test_least_network_has_the_values(T):
    g = circle.steps(T)
    least = circle.least_norm(circle.EIGHT, g)
    assert barron.value(least.network, circle.EIGHT).tolist() == g
    assert barron.path_norm(least.network) == least.upper == least.lower
    with flint.ctx.workprec(256):
        log = circle.least_norm(circle.EIGHT, [Log(step) for step in g])
        values = barron.value(log.network, circle.EIGHT)
        assert all(
            value.overlaps(flint.arb(step).log()) for value, step in zip(values, g, strict=True)
        )
        assert log.lower.overlaps(log.upper)


def test_share_of_right_draws_agrees_with_the_networks_themselves():
    least, g = circle.least_norm(circle.EIGHT, circle.steps(2)), circle.steps(2)
    x, m, draws = circle.EIGHT.astype(float), 128, 2000
    rng = np.random.default_rng(0)
    one_by_one = np.mean([
        (np.rint(barron.value(circle.drawn(least, m, rng), x)) == g).all() for _ in range(draws)
    ])  # fmt: skip
    together = circle.share_right(least, g, "lin", m, draws, np.random.default_rng(1))
    assert together == pytest.approx(one_by_one, abs=5 * math.sqrt(0.5 / draws))


def test_enough_is_hoeffding():
    m = circle.enough("lin", 10.0, 4, 8, missed=0.5)
    assert 16 * math.exp(-m / (8 * 10**2)) < 0.5 <= 16 * math.exp(-(m - 1) / (8 * 10**2))
    m = circle.enough("log", 3.0, 4, 8)
    assert 16 * math.exp(-m / (32 * 9 * 16)) < 1 <= 16 * math.exp(-(m - 1) / (32 * 9 * 16))


@pytest.mark.parametrize("T", [2, 8])
def test_pointer_target(T):
    target = circle.pointer(T)
    windows = target.draw(20, T + 5, np.random.default_rng(0))
    index = [[circle.EIGHT.astype(float).tolist().index(list(x)) for x in w] for w in windows]
    y = target(windows)
    for w, places in enumerate(index):
        for t in range(T, T + 5):
            stated = windows[w, t - circle.steps(T)[places[t]], 0]
            assert y[w, t - T] == stated


def test_compass_follows_its_token():
    east, north, west = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]
    y = circle.COMPASS(np.array([east, west, north, west]))
    assert y.tolist() == [1.0, 1.0]  # north: 2 back to east, |0 + 1|; west: 1 back, |-1 + 0|


# What the targets say of themselves

MEMORIES = {
    "sign": targets.by_sign(),
    "last sign": targets.by_last_sign(2),
    "product": targets.by_product(),
    "value": targets.by_value(),
    "size": targets.by_size(),
    "constant": targets.constant(3),
    "cliff, size": chains.cliff("1/4").memories[0],
    "cliff, sign": chains.cliff("1/4").memories[1],
    "relay": chains.relay(3).memories[0],
}


@pytest.mark.parametrize("name", MEMORIES)
def test_norm_and_slope_of_a_memory_are_those_of_its_network(name):
    memory = MEMORIES[name]
    a, b, c = (np.array(part, dtype=float) for part in memory.lin)
    x = np.random.default_rng(0).uniform(-1, 1, (4000, b.shape[1]))
    slopes = np.linalg.norm(((x @ b.T + c > 0) * a) @ b, axis=-1)
    assert memory.barron == pytest.approx(float(barron.path_norm(memory.lin)))
    assert memory.lipschitz == pytest.approx(slopes.max())
    assert memory.barron >= memory.T


TARGETS = [
    targets.SPARSE_PARITY,
    targets.AXES,
    targets.FOLLOW,
    targets.TWO_POINTERS,
    targets.NESTED,
    targets.BRANCHED,
    circle.COMPASS,
    circle.pointer(3),
    chains.chain(2, 3),
    chains.relay(3, 2),
    chains.cliff("1/4"),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_networks_of_a_memory_are_g_and_its_logarithm_at_all_tokens(target):
    for i, memory in enumerate(target.memories, start=1):
        read = itertools.product(target.tokens, repeat=target.reads(i))
        x = np.array([np.concatenate(tokens) for tokens in read])
        lin, log = (
            barron.value(barron.Network(*(_floats(part) for part in network)), x)
            for network in (memory.lin, memory.log)
        )
        g = memory.g(x)
        assert lin == pytest.approx(g, rel=1e-12)
        assert np.exp(log) == pytest.approx(g, rel=1e-12)
        assert (g.min() >= 1, g.max()) == (True, memory.T)


def _floats(exact):
    return np.vectorize(lambda value: float(ball(value)), otypes=[float])(exact)


def test_the_nested_parity_is_a_sum_of_hinges():
    windows = targets.NESTED.windows(3)
    u = windows[:, ::-1, 0] @ [1, 2, 4]
    hinges = sum(weight * np.maximum(u - node, 0) for node, weight in chains.HINGES.items())
    assert (targets.NESTED(windows)[:, -1] == hinges - 1).all()


def test_half_of_the_draws_are_right_between_two_widths():
    assert circle.half_right([10, 100, 1000], [0.1, 0.3, 0.7]) == pytest.approx(10**2.5)
    assert circle.half_right([10, 1000], [0.4, 0.8]) == pytest.approx(10**1.5)
    assert circle.half_right([10, 1000], [0.0, 0.5]) == pytest.approx(1000)


# What is tried, and parts of a network


def test_the_worst_windows_attain_the_l1_error_of_their_length():
    psi, target, rng = moving.fitted("lin", 3, 5), targets.FOLLOW, np.random.default_rng(0)
    all_short, drawn, worst = adaptive.tried(target, [psi], 5, 30, rng)
    assert (all_short.shape, drawn.shape, worst.shape) == ((243, 5, 1), (64, 30, 1), (48, 30, 1))
    network = adaptive.transformer(target, [psi], [[1]]).to(torch.float64)
    seen = max(np.abs(psi.kernel(B, 30) - np.eye(30)[B]).sum() for B in (1, 2, 3))
    found = adaptive.largest_error(network, target, [worst])
    assert found == pytest.approx(seen, rel=1e-6)
    assert adaptive.largest_error(network, target, [all_short, drawn]) <= found
    assert adaptive.largest_error(network, target, [worst, worst[:1, -5:]]) == found


def test_windows_are_continued_by_the_signs_of_a_gap_oldest_first():
    recent, gap = np.array([[[1.0], [0.0]]]), np.array([9.0, 9.0, 1.0, -1.0, 1.0])
    found = targets.FOLLOW.continued(recent, gap)[..., 0].tolist()
    assert found == [[1, -1, 1, 1, 0], [-1, 1, -1, 1, 0]]


def test_a_cut_network_reads_empty_blocks_and_an_unrounded_one_does_not_round():
    heads, target = moving.interpolated("lin", 2, "1/100"), targets.NESTED
    network = adaptive.transformer(target, [heads] * 2, adaptive.nested(target))
    first = adaptive.cut(network, 1)
    x = target.windows(4)
    outputs = first(rationals(x))[:, -1, 0]
    assert (outputs == -rationals(x[:, -1, 0])).all()  # the zigzag at s = x_t is -x_t
    assert [layer.feed_forward.rounding for layer in network.layers] == ["lin", "lin", None]
    plain = adaptive.unrounded(network)
    assert [layer.feed_forward.rounding for layer in plain.layers] == [None] * 3


def test_tokens_of_three_numbers_have_a_block_of_three():
    target = targets.Target.fixed("x_{t-2} in R^3", (2,), targets.coordinate(6, 4), np.eye(3))
    psi = moving.interpolated("lin", 2, "1/100")
    network = adaptive.transformer(target, [psi], adaptive.two_layers(target))
    assert adaptive.exact_errors(network, target, target.windows(4)).max() <= psi.error


def test_the_chain_of_head_counts_by_hand():
    """n = 2, T = 3 and 2, H = 3: three heads serve T = 2, and T = 3 would need four."""
    bound, second, third, _ = map(float, adaptive.head_counts(2, 3, [3, 2]))
    largest = max((T + 1) ** 2 * math.exp(-0.03 * T) for T in range(1, 200))
    assert bound == pytest.approx(largest * (math.exp(0.03) + math.exp(0.02)) ** 3 / 9, rel=1e-12)
    assert second == pytest.approx((4 ** (2 / 3) + 3 ** (2 / 3)) ** 3 / 9, rel=1e-12)
    assert third == pytest.approx((3 + 4) ** 3 / (4 * 9), rel=1e-12)


def test_every_memory_that_is_not_served_counts_in_the_chain():
    """n = 2, T = 3 and 2, H = 2: neither is served, and both count with the first's three heads."""
    third = adaptive.head_counts(2, 2, [3, 2])[2]
    assert float(third) == pytest.approx((0 + 2 * 3) ** 3 / (3 * 2**2), rel=1e-12)


@pytest.mark.parametrize("H", [2, 3, 5, 6])
def test_the_chain_of_head_counts_falls_to_the_memories_that_are_not_served(H):
    bound, second, third, p = adaptive.head_counts(2, H, [3, 2])  # 4 + 3 heads are needed
    assert p == (2 if H < 3 else 1)
    assert bound >= second >= third >= p
    assert adaptive.head_counts(2, 7, [3, 2]) == []


def test_the_extraction_term_is_that_of_theorem_5_4():
    a = [math.exp(T / 100) for T in (1, 40, 90)]
    stated = math.sqrt(a[0] ** 6 + (a[1] + a[2]) ** 6) / 5**2
    assert float(depth.extraction("lin", [[1], [40, 90]], 5, 2)) == pytest.approx(stated, rel=1e-14)
    stated = (3**1.01 + 4**1.01) ** 2 / 7
    assert float(depth.extraction("log", [[3, 4]], 7, 1)) == pytest.approx(stated, rel=1e-14)
