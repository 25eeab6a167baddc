"""Targets: readouts and memories against tables and formulas by hand, chains of every depth."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from repro.numerics import barron
from repro.numerics.logarithms import ball
from repro.wang2024 import chains, circle, targets


def floats(network):
    exact = np.vectorize(lambda value: float(ball(value)), otypes=[float])
    return barron.Network(*map(exact, network))


def on_the_box(size):
    return np.random.default_rng(size).uniform(-2, 2, (300, size))


@pytest.mark.parametrize(("size", "d"), [(1, 1), (2, 1), (3, 1), (4, 1), (3, 2), (2, 3)])
def test_the_parity_is_a_zigzag_of_the_sum(size, d):
    readout, x = targets.parity(size, d), on_the_box(size * d)
    s = x.sum(1)
    stated = np.abs((size - s) % 4 - 2) - 1  # 1 at s = size, -1 at size - 2, ...
    stated = np.where(s > size, 1 + s - size, stated)
    lowest = (-1) ** size
    stated = np.where(s < -size, lowest - lowest * (s + size), stated)
    inside = np.abs(s) <= size
    assert readout.function(x[inside]) == pytest.approx(stated[inside], abs=1e-12)
    assert barron.value(floats(readout.network), x) == pytest.approx(stated, abs=1e-12)
    assert (readout.size, readout.lipschitz) == (size * d, math.sqrt(size * d))
    # neurons of sum |b| = size d: the first begins at -2 size d, the bends at size - 2k
    n = size * d
    constant = abs(lowest + lowest * (2 * n - size))
    bends = sum(2 * (n + abs(size - 2 * k)) for k in range(1, size))
    assert readout.barron == n + 2 * n + bends + constant


def test_the_majority_the_coordinate_and_the_length():
    x = on_the_box(3)
    for readout, stated, lipschitz, norm in (
        (targets.majority(3), np.clip(x.sum(1), -1, 1), math.sqrt(3), 4 + 4 + 1),
        (targets.coordinate(3, 1), x[:, 1], 1, 3 + 2),
    ):
        assert readout.function(x) == pytest.approx(stated)
        assert barron.value(floats(readout.network), x) == pytest.approx(stated)
        assert (readout.size, readout.lipschitz, readout.barron) == (3, lipschitz, norm)
    length = targets.length(2)
    assert length.function(np.array([[3.0, -4.0], [0.5, 0.0]])).tolist() == [5, 0.5]
    assert (length.size, length.lipschitz) == (2, 1)
    assert length.barron == float(barron.barron_norm_of_norm(2))


def test_the_readout_of_the_compass_and_a_network_plus_a_constant():
    readout, x = circle.SAME_SIDE, on_the_box(4)
    stated = np.abs(x[:, 0] + x[:, 2])
    assert readout.function(x) == pytest.approx(stated)
    assert barron.value(floats(readout.network), x) == pytest.approx(stated)
    assert (readout.size, readout.lipschitz, readout.barron) == (4, math.sqrt(2), 4)
    second, x = targets.coordinate(2, 1).network, on_the_box(2)
    assert second is not None
    assert barron.value(floats(targets.shifted(second, -3)), x) == pytest.approx(x[:, 1] - 3)


THREE, SIGNS = [[-1], [0], [1]], [[-1], [1]]
PAIRS, TRIPLES = ([*itertools.product([-1, 1], repeat=k)] for k in (2, 3))
AXES = [[1, 0], [0, 1], [-1, 0], [0, -1]]
CLIFF = [[-1], [-1 / 4], [1 / 4], [1]]


MEMORIES = {  # how it is made, tokens, g
    "sign": (targets.by_sign, SIGNS, [2, 1]),
    "last sign": (lambda: targets.by_sign(3), TRIPLES, [2, 1] * 4),
    "product": (targets.by_product, PAIRS, [1, 2, 2, 1]),
    "value": (targets.by_value, THREE, [1, 2, 3]),
    "size": (targets.by_size, THREE, [2, 1, 2]),
    "size in the plane": (lambda: targets.by_size(2), AXES, [1, 2, 1, 2]),
    "constant": (lambda: targets.constant(3, 2), [[0.3, 0.1]], [3]),
    "multiple": (lambda: chains._multiple(3), [[1 / 3], [2 / 3], [1]], [1, 2, 3]),
    "of last": (lambda: chains.of_last(targets.by_size(), 2), PAIRS, [2] * 4),
    "cliff, size": (lambda: chains.cliff("1/4").memories[0], CLIFF, [1, 2, 2, 1]),
    "cliff, sign": (
        lambda: chains.cliff("1/4").memories[1],
        [(x, *y) for x in (-1, 1) for y in CLIFF],
        [2, 2, 1, 1] * 2,
    ),
}


@pytest.mark.parametrize("name", MEMORIES)
def test_a_memory_is_its_table_in_every_form(name):
    make, tokens, g = MEMORIES[name]
    memory, x = make(), np.array(tokens, dtype=float)
    assert memory.g(x).tolist() == g
    assert barron.value(floats(memory.lin), x) == pytest.approx(g, rel=1e-12)
    assert np.exp(barron.value(floats(memory.log), x)) == pytest.approx(g, rel=1e-12)
    assert max(g) == memory.T


@pytest.mark.parametrize("K", [0, 1, 2, 3])
def test_a_chain_reads_the_sign_fetched_last_of_those_it_may_read(K):
    target = chains.chain(K, 3)
    reads = [memory.lin.b.shape[1] for memory in target.memories]
    assert reads == [1, 1 + min(1, K), 1 + min(2, K)]
    windows = target.windows(4)[..., 0]
    for window, y in zip(windows, target(windows[..., None])[:, -1], strict=True):
        seen = [window[-1]]
        for _ in range(3):
            last = seen[: K + 1][-1]
            seen.append(window[-1 - (1 if last > 0 else 2)])
        assert y == math.prod(seen)


@pytest.mark.parametrize("M", [1, 2, 3])
def test_a_relay_goes_where_the_last_token_says(M):
    target = chains.relay(3, M)
    x = np.array([3, 1, 2, 3, 1, 2])[:, None] / 3
    place, t = 5, 5
    for _ in range(M):
        place = t - round(3 * x[place, 0])
    assert target(x)[-1] == x[place, 0]
    assert target.K == M - 1


def test_the_steepest_cliff_and_the_flattest():
    flat = chains.cliff("1/2")
    assert flat.tokens[:, 0].tolist() == [-1, -1 / 2, 1 / 2, 1]
    assert flat.memories[0].g(flat.tokens).tolist() == [1, 2, 2, 1]
    # t_1 = 2 from x_t = 1/2, where x is -1: t_2 = 2
    assert flat(np.array([[-1.0], [1.0], [0.5]])).tolist() == [-1]


def test_tokens_and_steps():
    x = np.array([[0.5], [-1.0], [0.25], [1.0]])
    assert targets.NEAR_AND_FAR(x) == pytest.approx([math.hypot(0.25, 0.5), math.sqrt(2)])
    long = np.array([[-1.0], [math.nextafter(1, 2)]])
    assert targets.Target.fixed("x", (1,), targets.parity(2), long).tokens is long
    with pytest.raises(ValueError, match=r"assumes \|x_t\|_2 <= 1 for every token"):
        targets.Target.fixed("x", (1,), targets.parity(2), np.array([[1.0], [2.0]]))
    far = replace(targets.by_sign(), g=lambda x: np.where(x[..., 0] > 0, 1, 3))
    target = targets.Target("x", (far,), targets.parity(2), targets.SIGNS)
    with pytest.raises(ValueError, match="g_1 has to lie between 1 and 2"):
        target(np.array([[1.0], [1], [1], [-1], [1]]))
    assert [targets.constant(3, *d).lin.b.shape[1] for d in ((), (2,))] == [1, 2]
