"""The shape of jiang2024's targets: networks, selections, softmax bounds, gauge and tasks."""

import math

import flint
import numpy as np
import pytest
import torch

from repro.jiang2024 import encodings, gauge, model, networks, pieces, selection, softmax, tasks
from repro.numerics import arrays
from repro.numerics.exact import rational, rationals, to_float, vector
from repro.numerics.logarithms import Log

q, arb = flint.fmpq, flint.arb


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def uniform(*shape, seed=0):
    return torch.rand(shape, generator=generator(seed), dtype=torch.float64)


# --- logarithms as logits, columns -----------------------------------------------------------------


def test_the_hard_maximum_of_logarithms():
    """Ties are exact: 2 log 2 = log 4; 0 is log 1."""
    logits = vector([Log(4), 2 * Log(2), q(0), Log(3), q(0), Log(q(1, 2))]).reshape(2, 3)
    assert model.hard_max(logits).tolist() == [[q(1, 2), q(1, 2), 0], [1, 0, 0]]


def test_columns_side_by_side_in_every_arithmetic():
    exact, floats = rationals([[1, 2], [3, 4]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for x in (exact, floats):
        both = arrays.side_by_side(x, x[..., :1])
        assert type(both) is type(x)
        assert both.tolist() == [[1, 2, 1], [3, 4, 3]]
        assert encodings.appended(x).tolist() == [[1, 2, 1], [3, 4, 2]]


# --- pieces of functions ---------------------------------------------------------------------------


def test_the_extension_of_tietze_by_hand():
    """0 on [2, 3], 1 on [4, 5], scaled to 1 and 2: min(x - 3, 2 (4 - x)) / min(x - 3, 4 - x)."""
    two = pieces.staircase([0, 1])
    places = ["5/2", "13/4", "7/2", "18/5", "11/3", "39/10", "4"]
    expected = ["0", "0", "0", "1/2", "1", "1", "1"]
    assert [two.tietze(rational(x)) for x in places] == [rational(v) for v in expected]
    assert pieces.staircase([7, 7]).tietze(rational("7/2")) == 7
    assert two.tietze(q(3)) == 0
    assert pieces.staircase([2, 5]).tietze(rational("18/5")) == 2 + 3 * q(1, 2)
    sloped = pieces.Pieces([(q(0), q(1)), (q(2), q(3))], [(q(0), q(1)), (q(0), q(0))])
    with pytest.raises(ValueError, match="for constant pieces"):
        sloped.tietze(q(2))


def test_the_hard_maximum_shares_its_weight_in_floats():
    logits = torch.tensor([[1.0, 1.0, 0.0], [2.0, -1.0, 0.0]])
    assert model.hard_max(logits).tolist() == [[0.5, 0.5, 0], [1, 0, 0]]


def test_rooms_of_tokens_in_floats():
    assert encodings.rooms(torch.tensor([[2.0, 9.0], [2.7, 9.0], [5.0, 9.0]])).tolist() == [1, 1, 2]


# --- networks ------------------------------------------------------------------------------------


def test_a_feed_forward_network_is_the_written_sum():
    net = networks.FeedForward(*map(rationals, ([[1, -2], [3, 0]], [1, -5], [[2, -1]], [7])))
    assert net(rationals([[1, 1], [4, 0]])).tolist() == [[2 * 0 - 0 + 7], [2 * 5 - 7 + 7]]


# --- selection -----------------------------------------------------------------------------------


def test_rows_are_those_of_equation_18():
    W_Q, W_K, W_V = selection.rows(2, 1)
    assert W_Q.tolist() == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
    assert W_K.tolist() == [[0, 0, 1, 0, 0], [0, 0, 0, 1, 0]]
    assert W_V.tolist() == [[0, 0, 0, 0, 1]]


def test_a_selected_coupling_in_torch():
    x = uniform(3, 5, 1)
    ks = torch.arange(1, 4)

    def phi(u):
        return torch.sin(ks * u)

    def psi(v):
        return torch.cos(ks * v)

    network = selection.transformer(phi, psi, lambda v: v, lambda z: z[..., 0], x)
    logits = (phi(x)[:, :, None] * psi(x)[:, None]).sum(-1)
    stated = (logits.softmax(-1) * x.mT).sum(-1)
    assert network.m_h == 3
    assert torch.allclose(network(x), stated, atol=1e-14)


# --- softmax -------------------------------------------------------------------------------------


def test_bounds_of_a_known_move():
    """Two values 0 and 3, delta = (-1, 1): omega = 2, |delta|_2 = sqrt 2, |delta|_1 = 2."""
    values, delta = torch.tensor([[0.0], [3.0]]), torch.tensor([-1.0, 1.0])
    assert softmax.oscillation(delta) == 2
    assert softmax.diameter(values) == 3
    assert softmax.by_tanh(values, delta) == pytest.approx(3 * math.tanh(0.5))
    assert softmax.by_oscillation(values, delta) == pytest.approx(1.5)
    assert softmax.by_norm(values, delta) == pytest.approx(1.5)
    assert softmax.by_sum(values, delta) == pytest.approx(3)


def test_the_diameter_is_that_of_all_pairs():
    values = uniform(4, 6, 2)
    pairs = [[(a - b).norm() for a in row for b in row] for row in values]
    assert softmax.diameter(values).tolist() == pytest.approx([float(max(row)) for row in pairs])


def test_a_move_is_the_same_in_every_arithmetic():
    logits, delta, values = softmax.extremal(Log(2))
    assert softmax.moved(logits, delta, values) == [q(3, 5)]
    first, second = (torch.tensor([float(v) for v in part]).double() for part in (logits, delta))
    moved = softmax.moved(first, second, torch.tensor([[0.0], [1.0]]).double())
    assert float(moved[0]) == pytest.approx(0.6)
    ball = softmax.moved(*softmax.extremal(arb(2).log()))[0]
    assert ball.overlaps(arb(rational("3/5")))


# --- gauge ---------------------------------------------------------------------------------------


def test_a_gauge_changes_weights_but_no_output_in_torch():
    H = model.Target(
        lambda z: z[..., 0], lambda x: x, lambda u, v: torch.sin(u * v[..., 0][..., None, :])
    )
    x = uniform(4, 5, 1)
    moved = gauge.gauged(H, lambda x: 1 + 9 * x[..., 0])
    assert torch.allclose(H(x), moved(x), atol=1e-14)
    assert (H.weights(x) - moved.weights(x)).abs().max() > 0.05


def test_recovering_a_coupling():
    """Weights (1/4, 3/4) of u = 0 and v = 2: the average is 3/2, the odds are 3."""
    assert gauge.recovered(rational("3/2"), rational(0), rational(2), tau=2) == 3
    assert gauge.recovered(rational("1/2"), rational(0), rational(2), tau=4) == 1


@pytest.mark.parametrize(("tau", "f_v"), [(1, 2), (2, 0)])
def test_what_cannot_be_recovered_is_refused(tau, f_v):
    with pytest.raises(ValueError, match=r"Proposition B\.1 needs tau >= 2 and f\(u\) != f\(v\)"):
        gauge.recovered(rational(1), rational(0), rational(f_v), tau)


# --- tasks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [tasks.Nearest(), tasks.Gravity(), tasks.Selection()])
def test_inputs_are_reproducible_and_weights_are_averages(task):
    x = task.draw(generator(1), 20)
    assert torch.equal(x, task.draw(generator(1), 20))
    weights = task.weights(x)
    assert weights.shape == (20, x.shape[1], x.shape[1])
    assert torch.allclose(weights.sum(-1), torch.ones(x.shape[:2], dtype=torch.float64))
    assert (weights >= 0).all()


@pytest.mark.parametrize("task", [tasks.Gravity(), tasks.Selection()])
def test_sharp_targets_have_the_displayed_weights(task):
    x = task.draw(generator(2), 20)
    assert (task.target(1e6).weights(x) - task.weights(x)).abs().max() < 1e-9


def test_a_sharp_target_finds_the_nearest_point_where_there_is_a_gap():
    task = tasks.Nearest()
    x = task.draw(generator(3), 200)
    d = task.distances(x, x).sort(-1).values
    clear = d[..., 1] - d[..., 0] > 1e-2
    off = (task.target(1e4).weights(x) - task.weights(x)).abs().amax(-1)
    assert clear.float().mean() > 0.9
    assert off[clear].max() < 1e-12


def test_tasks_agree_in_rationals_and_in_torch():
    x = [[3, 1, 0, 0], [0, 0, 1, 1], [-2, 5, 0, 1]]
    task = tasks.Gravity(d=1, length=3)
    exact, floats = rationals([[0, 0, 1, 0], *x]), torch.tensor([[0, 0, 1, 0], *x]).double()
    assert to_float(task.weights(exact)) == pytest.approx(task.weights(floats).numpy())
    ours = task.target(float(Log(4)))(floats)
    assert to_float(task.target(Log(4))(exact)) == pytest.approx(ours.numpy())


def test_layouts_are_all_divisions_into_segments():
    assert tasks.Gravity().layouts(10) == [
        (2, 2, 3), (2, 3, 2), (2, 6), (3, 2, 2), (3, 5), (4, 4), (5, 3), (6, 2), (9,),
    ]  # fmt: skip


def test_segments_are_read_from_the_flags_and_not_from_the_labels():
    rows = [[0, 0, 1, 7], [2, 1, 0, 7], [0, 0, 1, 7], [5, 1, 0, 7]]
    weights = tasks.Gravity(d=1, length=4).weights(rationals(rows))
    assert weights.tolist() == [[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]]


def test_the_printed_selection_is_that_of_66():
    printed = np.array(tasks.PRINTED_SELECTION).T.tolist()
    assert printed[0] == [4, 4, 1, 5, 0, 0, 2, 2]
    assert printed[1] == [5, 4, 1, 5, 3, 6, 2, 3]
    assert printed[2] == [5, 4, 7, 5, 7, 7, 2, 4]


def test_counts_are_of_named_indices():
    task = tasks.Selection(d=1, k=3, tau=2)
    x = task.tokens(rationals([[5], [9]]), rationals([[1, 1, 0], [0, 0, 0]]))
    assert task.weights(x).tolist() == [[q(1, 3), q(2, 3)], [1, 0]]
    assert x[:, -1].tolist() == [0, 1]


def test_exact_norms_and_distances_need_one_dimension():
    with pytest.raises(ValueError, match=r"\(54\): exact distances need d = 1, got d=2"):
        tasks.Nearest().target(Log(2))(rationals([[0, 0, 1, 1]]))
    with pytest.raises(ValueError, match=r"\(58\): exact norms need d = 1, got d=2"):
        tasks.Gravity().target(Log(2))(rationals([[0, 0, 1, 0, 0]]))


def test_a_nearest_point_in_rationals():
    task = tasks.Nearest(d=1, tau=2)
    y = task.target(Log(2))(rationals([[0, 1], [0, 3]]))
    assert y[0, 0] == q(7, 5)  # weights 4/5 and 1/5
