"""Tokens on a circle: the least network for a pointer, and drawn ones."""

import math

import flint
import numpy as np
import pytest

from repro.numerics import barron
from repro.numerics.exact import rational, rationals
from repro.numerics.vertices import NotConverged
from repro.wang2024 import circle


def test_steps_use_all_distances():
    """3j mod 8 is 0, 3, 6, 1, 4, 7, 2, 5: neighbours are far apart in steps."""
    assert circle.steps(8) == [1, 4, 7, 2, 5, 8, 3, 6]
    assert circle.steps(4) == [1, 2, 4, 1, 3, 4, 2, 3]
    assert [sorted(set(circle.steps(T))) for T in (1, 2)] == [[1], [1, 2]]


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
    both, g = np.hstack([table, -table]), circle.steps(8)
    found = linprog(np.ones(2 * len(rays)), A_eq=both, b_eq=g, bounds=(0, None))
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
    assert barron.path_norm(circle.COMPASS.memories[0].lin) == 3
    ball = circle.Least(circle.COMPASS.memories[0].lin, flint.arb(2, 1), flint.arb(3, 1))
    assert ball.norm == pytest.approx(4), "a ball counts with its upper end"


def test_share_of_right_draws_agrees_with_the_networks_themselves():
    least, g = circle.least_norm(circle.EIGHT, circle.steps(2)), circle.steps(2)
    x, m, draws = circle.EIGHT.astype(float), 128, 2000
    rng = np.random.default_rng(0)
    one_by_one = np.mean([
        (np.rint(barron.value(circle.drawn(least, m, rng), x)) == g).all() for _ in range(draws)
    ])  # fmt: skip
    together = circle.share_right(least, g, "lin", m, draws, np.random.default_rng(1))
    assert together == pytest.approx(one_by_one, abs=5 * math.sqrt(0.5 / draws))


def test_the_shares_of_right_draws_by_hand():
    assert circle.half_right([10, 100, 1000], [0.1, 0.3, 0.7]) == pytest.approx(10**2.5)
    assert circle.half_right([10, 1000], [0.4, 0.8]) == pytest.approx(10**1.5)
    assert circle.half_right([10, 1000], [0.0, 0.5]) == pytest.approx(1000)
    m = circle.enough("lin", 10.0, 4, 8, missed=0.5)
    assert 16 * math.exp(-m / (8 * 10**2)) < 0.5 <= 16 * math.exp(-(m - 1) / (8 * 10**2))
    m = circle.enough("log", 3.0, 4, 8)
    assert 16 * math.exp(-m / (32 * 9 * 16)) < 1 <= 16 * math.exp(-(m - 1) / (32 * 9 * 16))


@pytest.mark.parametrize("T", [2, 8])
def test_pointer_target(T):
    target = circle.pointer(T)
    windows = target.draw(20, T + 5, np.random.default_rng(0))
    index, y = (windows @ target.tokens.T).argmax(-1), target(windows)
    for w, places in enumerate(index):
        for t in range(T, T + 5):
            assert y[w, t - T] == windows[w, t - circle.steps(T)[places[t]], 0]
