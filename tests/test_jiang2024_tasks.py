"""The tasks of Appendix B.1 as trained, what is recovered of them, and their pictures."""

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from repro.jiang2024 import learner, recovery, tasks
from repro.jiang2024.learner import Dense, FitAttention, Learner, Recipe, Shape
from repro.training import Workspace

CODED = tasks.OneHot(tasks.Selection(), columns=4, size=8)
LABELLED = tasks.OneHot(tasks.Gravity(), columns=1, size=3)
small = Dense(width=8, depth=1)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def spec(task: Any, steps: int = 3) -> FitAttention:
    return FitAttention(task, Shape(4, 4, 4, small, small), Recipe.ours(steps, batch=8), seed=0)


@pytest.mark.parametrize("task", [tasks.Nearest(), LABELLED, CODED])
def test_every_task_can_be_trained_on(task: Any):
    outcome = learner.train(spec(task), Workspace())
    assert outcome.numbers["variance"] > 0
    result = recovery.after(spec(task), outcome)
    assert result.attention.shape == result.weights.shape
    assert result.readout.shape == result.displayed.shape


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


def test_the_sharp_target_reads_the_label_and_not_the_position():
    both = tasks.Gravity(marks=("segment", "position"))
    x = both.draw(generator(6), 20)
    assert (both.target(1e6).weights(x) - both.weights(x)).abs().max() < 1e-9


def test_couplings_of_gravity_by_hand():
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


def test_couplings_of_selection_by_hand():
    """The first names itself once and the other twice; the second the first alone."""
    task = tasks.Selection(d=1, k=3, tau=2)
    x = task.tokens(torch.tensor([[5.0], [9.0]]).double(), torch.tensor([[1, 1, 0], [0, 0, 0]]))
    expected = [[0, math.log(2)], [math.log(3), -10]]
    torch.testing.assert_close(task.target(10).logits(x), torch.tensor(expected).double())


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


def test_what_the_page_and_the_picture_are_given():
    result = recovered([[1, 0], [0, 1]], [[1, 0], [0, 1]], readout=0.5)
    assert result.pairs(5) == [(1.0, 1.5)]
    assert recovery.spread([0.1, 0.3], 0.8) == "2 seeds, from 0.1 to 0.3; untrained 0.8"


def test_a_wrong_largest_weight_is_seen():
    result = recovered([[0.4, 0.6], [0, 1]], [[1, 0], [0, 1]])
    assert result.agreement() == 0.5
    assert result.agreement(torch.tensor([[True, False]])) == 0


def test_the_largest_weight_is_looked_for_in_each_row():
    result = recovered([[0, 0, 1], [1, 0, 0], [0, 0, 1]], [[0, 0, 1], [1, 0, 0], [0, 0, 1]])
    assert result.right.all()


def test_pairs_are_of_the_first_token_of_so_many_sequences():
    z = torch.arange(12.0).reshape(3, 2, 2)
    result = recovery.Recovered(z, z, z, readout=z + 100, displayed=z)
    assert result.pairs(2) == [(0, 100), (1, 101), (4, 104), (5, 105)]


def test_networks_are_looked_at_where_they_are_judged():
    given = spec(tasks.Nearest())
    judged = learner.batch(given, -2, learner.JUDGED)[0].double()
    assert torch.equal(recovery.before(given).tokens, judged)


def test_a_task_without_weights_is_refused():
    @dataclass(frozen=True)
    class Other:
        inputs: int = 1
        outputs: int = 1

    with pytest.raises(TypeError, match=r"Appendix B\.1: .* has no weights"):
        recovery.before(spec(Other()))
