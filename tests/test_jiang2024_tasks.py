"""The tasks of Appendix B.1: weights and targets by hand, and what is recovered of them."""

import math
from dataclasses import replace
from typing import Any

import flint
import numpy as np
import pytest
import torch

from repro.jiang2024 import learner, recovery, tasks
from repro.jiang2024.learner import Dense, FitAttention, Learner, Recipe, Shape
from repro.numerics.exact import rationals, to_float
from repro.numerics.logarithms import Log
from repro.training import Workspace

q = flint.fmpq
CODED = tasks.OneHot(tasks.Selection(), columns=4, size=8)
LABELLED = tasks.OneHot(tasks.Gravity(), columns=1, size=3)
small = Dense(width=8, depth=1)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def spec(task: Any, steps: int = 3) -> FitAttention:
    return FitAttention(task, Shape(4, 4, 4, small, small), Recipe.ours(steps, batch=8), seed=0)


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


def test_a_nearest_point_in_rationals():
    task, x = tasks.Nearest(d=1, tau=2), rationals([[1, 3], [5, 2]])
    assert task.distances(x, x).tolist() == [[2, 1], [2, 3]]
    y = task.target(Log(2))(rationals([[0, 1], [0, 3]]))
    assert y[0, 0] == q(7, 5)  # weights 4/5 and 1/5


@pytest.mark.parametrize("task", [LABELLED, CODED])
def test_codes_can_be_read_back(task: Any):
    x = task.task.draw(generator(1), 30)
    coded = task.coded(x)
    assert coded.shape[-1] == task.inputs
    assert torch.equal(task.plain(coded), x)
    assert torch.equal(task.wanted(coded), task.task.wanted(x))
    digits = coded[..., -task.columns * task.size :]
    assert set(digits.unique().tolist()) == {0.0, 1.0}
    assert (digits.sum(-1) == task.columns).all()


def test_wanted_is_the_nearest_point_by_definition():
    x = tasks.Nearest().draw(generator(2), 10)
    y = tasks.Nearest().wanted(x)
    u, v = x[..., :2], x[..., 2:]
    for n in range(10):
        for t in range(6):
            assert torch.equal(y[n, t], min(v[n], key=lambda w: (w - u[n, t]).norm().item()))


def test_marks_count_segments_and_positions():
    both = tasks.Gravity(marks=("segment", "position"))
    x = both.draw(generator(5), 50)
    assert x.shape[-1] == both.inputs == 6
    assert torch.equal(x[..., 4], x[..., 3].cumsum(-1) - 1)
    assert torch.equal(x[..., 5], torch.arange(10).double().expand(50, 10))
    other = replace(both, marks=("position",)).draw(generator(5), 50)
    assert torch.equal(other, x[..., [0, 1, 2, 3, 5]])
    assert torch.equal(both.wanted(x), replace(both, marks=("position",)).wanted(other))
    both = tasks.Gravity(marks=("segment", "position"))
    x = both.draw(generator(6), 20)
    assert (both.target(1e6).weights(x) - both.weights(x)).abs().max() < 1e-9


def test_gravity_by_hand():
    """A prediction token, a point of mass 2 with its label 0, and again with mass 3 and label 2:
    log m, less the square of the difference of labels, or 1 for prediction tokens, times 10."""
    x = torch.tensor([[0, 0, 1, 0], [5, 2, 0, 0], [0, 0, 1, 2], [7, 3, 0, 2]]).double()
    L, two, three = 10, math.log(2), math.log(3)
    expected = [
        [-L, two, -L, three - 4 * L],
        [-30 * L, 0, -34 * L, -9 * L],
        [-L, two - 4 * L, -L, three],
        [-63 * L, -9 * L, -59 * L, 0],
    ]
    logits = tasks.Gravity(d=1, length=4).target(L).logits(x)
    torch.testing.assert_close(logits, torch.tensor(expected).double())
    assert tasks.Gravity().layouts(10) == [
        (2, 2, 3), (2, 3, 2), (2, 6), (3, 2, 2), (3, 5), (4, 4), (5, 3), (6, 2), (9,),
    ]  # fmt: skip
    rows = [[0, 0, 1, 7], [2, 1, 0, 7], [0, 0, 1, 7], [5, 1, 0, 7]]
    weights = tasks.Gravity(d=1, length=4).weights(rationals(rows))
    assert weights.tolist() == [[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]]


def test_selection_by_hand():
    """The first names itself once and the other twice; the second the first alone."""
    task = tasks.Selection(d=1, k=3, tau=2)
    x = task.tokens(torch.tensor([[5.0], [9.0]]).double(), torch.tensor([[1, 1, 0], [0, 0, 0]]))
    expected = [[0, math.log(2)], [math.log(3), -10]]
    torch.testing.assert_close(task.target(10).logits(x), torch.tensor(expected).double())
    printed = np.array(tasks.PRINTED_SELECTION).T.tolist()
    assert printed[0] == [4, 4, 1, 5, 0, 0, 2, 2]
    assert printed[1] == [5, 4, 1, 5, 3, 6, 2, 3]
    assert printed[2] == [5, 4, 7, 5, 7, 7, 2, 4]
    task = tasks.Selection(d=1, k=3, tau=2)
    x = task.tokens(rationals([[5], [9]]), rationals([[1, 1, 0], [0, 0, 0]]))
    assert task.weights(x).tolist() == [[q(1, 3), q(2, 3)], [1, 0]]
    assert x[:, -1].tolist() == [0, 1]


def test_points_and_masses_are_drawn_as_the_readings_say():
    """Points from [-1, 1]^d, masses from [1/10, 1]; 4000 draws reach within 1/100 of every end."""
    generator = torch.Generator().manual_seed(0)
    points = tasks.Nearest().draw(generator, 1000)
    assert points.shape == (1000, 6, 4)
    assert -1 <= points.min() < -0.99 < 0.99 < points.max() <= 1
    masses = tasks.Gravity().draw(generator, 1000)[..., 2]
    masses = masses[masses > 0]
    assert 0.1 <= masses.min() < 0.11 < 0.99 < masses.max() <= 1


@pytest.mark.parametrize("task", [tasks.Nearest(), LABELLED, CODED])
def test_every_task_can_be_trained_on(task: Any):
    outcome = learner.train(spec(task), Workspace())
    assert outcome.numbers["variance"] > 0
    result = recovery.judged(spec(task), outcome)
    assert result.attention.shape == result.weights.shape
    assert result.readout.shape == result.displayed.shape


def test_readout_is_the_output_on_constant_sequences():
    torch.manual_seed(0)
    network, task = Learner(tasks.Nearest(), Shape(4, 4, 4, small, small)), tasks.Nearest()
    x = task.draw(generator(7), 5)
    result = recovery.of_tokens(task, network, x)
    constant = x[:, :1].expand(5, 6, 4)
    with torch.no_grad():
        assert torch.allclose(network(constant.float())[:, 0].double(), result.readout[:, 0])
    assert torch.equal(result.displayed, x[..., 2:])


def recovered(attention: list, weights: list, readout: float = 0.0) -> recovery.Recovered:
    A, w = (torch.tensor([rows], dtype=torch.float64) for rows in (attention, weights))
    displayed = torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64)
    return recovery.Recovered(displayed, A, w, displayed + readout, displayed)


def test_numbers_of_recovery():
    result = recovered([[0.75, 0.25], [0.4, 0.6]], [[1, 0], [0.5, 0.5]], readout=0.1)
    assert result.variation.tolist() == [[0.25, pytest.approx(0.1)]]
    assert result.unique.tolist() == [[True, False]]
    assert result.agreement() == 1  # the tie is not asked
    assert result.distance() == pytest.approx(0.175)
    assert result.distance(torch.tensor([[False, True]])) == pytest.approx(0.1)
    rms, largest = result.errors()
    assert [rms, largest] == pytest.approx([0.1 / 2**0.5] * 2)  # the deviation of 1 and -1
    wrong = recovered([[0.4, 0.6], [0, 1]], [[1, 0], [0, 1]])
    assert wrong.agreement() == 0.5
    assert wrong.agreement(torch.tensor([[True, False]])) == 0
    assert recovered(rows := [[0, 0, 1], [1, 0, 0], [0, 0, 1]], rows).right.all()


def test_what_is_recovered_is_asked_row_by_row():
    """Both rows have their largest weight last; readouts are off by 0.1 and by 0.3, over sqrt 2."""
    displayed = torch.tensor([[[1.0], [-1.0]]] * 2, dtype=torch.float64)
    weights = torch.tensor([[[0.0, 1.0], [0.2, 0.8]]] * 2, dtype=torch.float64)
    off = torch.tensor([[0.1], [0.3]], dtype=torch.float64)
    result = recovery.Recovered(displayed, weights, weights, displayed + off, displayed)
    assert result.agreement() == 1
    rows = torch.tensor([[True, True], [False, False]])
    rms, largest = result.errors(rows)
    assert rms == pytest.approx(math.sqrt((0.01 + 0.09) / 2) / math.sqrt(2))
    assert largest == pytest.approx(0.3 / math.sqrt(2))
    assert result.pairs(1) == [(1.0, 1.1)]


def test_pairs_are_of_the_first_token_of_so_many_sequences():
    z = torch.arange(12.0).reshape(3, 2, 2)
    result = recovery.Recovered(z, z, z, readout=z + 100, displayed=z)
    assert result.pairs(2) == [(0, 100), (1, 101), (4, 104), (5, 105)]
    cell = recovery.cell("the diagonal", True, "distance", [0.1, 0.4, 0.3])
    assert cell["paper"] == cell["ours"] == "the diagonal"
    assert cell["note"] == "distance: 0.3 (3 seeds, 0.1 to 0.4)"
    assert recovery.cell("the diagonal", False, "distance", [0.5])["ours"] == "not seen"


def test_networks_are_looked_at_where_they_are_judged():
    given = spec(tasks.Nearest())
    judged = learner.batch(given, -2, learner.JUDGED)[0].double()
    assert torch.equal(recovery.judged(given).tokens, judged)


def test_recovery_sequence_by_sequence():
    """Variations 1/2 and 0; square of the readout's error 4; then of the first row alone."""
    result = recovered([[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], readout=2.0)
    found = result.by_sequence()
    assert [z.tolist() for z in found.values()] == [[0.25], [4.0]]
    first = result.by_sequence(torch.tensor([[True, False]]))
    assert [z.tolist() for z in first.values()] == [[0.5], [4.0]]


def test_a_gain_in_its_standard_errors():
    """Gains 1 and 3: the mean 2, the deviation sqrt2, its standard error 1."""
    worse, better = torch.tensor([2.0, 5.0]), torch.tensor([1.0, 2.0])
    assert recovery.in_standard_errors(worse, better) == pytest.approx(2.0)
