"""(5) with trainable weights: its shape, its start, and a training that is killed and resumed."""

from dataclasses import dataclass, replace

import pytest
import torch

from repro.jiang2024 import learner
from repro.training import SGD, Adam, Diverged, Muon, Store, Workspace


@dataclass(frozen=True)
class Mean:
    """The mean of the numbers of a sequence, for every token."""

    tau: int = 3
    inputs: int = 1
    outputs: int = 1

    def draw(self, generator, count):
        return torch.rand(count, self.tau, self.inputs, generator=generator)

    def wanted(self, tokens):
        return tokens.mean(dim=-2, keepdim=True).expand(*tokens.shape[:-1], self.outputs)


SMALL = learner.Dense(width=8, depth=2)
SHAPE = learner.Shape(m_h=2, n=4, d_v=3, f=SMALL, F=SMALL)
SPEC = learner.FitAttention(Mean(), SHAPE, learner.Recipe.ours(60, batch=16), seed=0)


def test_the_printed_sizes():
    """Width 128, depth 3, n = d_v = 32."""
    found = dict(learner.Learner(Mean(), learner.Shape()).named_parameters())
    names = ("f.first.weight", "f.hidden_1.weight", "f.hidden_2.weight", "f.last.weight", "W_V")
    sizes = [(128, 1), (128, 128), (128, 128), (32, 128), (32, 32)]
    assert [found[name].shape for name in names] == sizes


def test_the_forward_pass_is_that_of_the_shared_model():
    """Against (5) written out by hand."""
    model = learner.untrained(SPEC)
    x = Mean().draw(torch.Generator().manual_seed(0), 5)
    h = model.f(x)
    A = torch.softmax((h @ model.W_Q.T) @ (h @ model.W_K.T).mT, dim=-1)
    torch.testing.assert_close(model(x), model.F(A @ h @ model.W_V.T))


def test_recipes_and_sines_of_frequency_0():
    network = learner.Dense(width=8, depth=1, sines=0.0).build(1, 1)
    found = network(torch.linspace(0, 1, 7)[:, None])
    assert (found == network.get_parameter("last.bias")).all()
    ours, printed = learner.Recipe.ours(10), learner.Recipe.printed(10)
    assert isinstance(ours.optimizer, Muon)
    assert ours.optimizer.apart == ("first", "F")
    assert printed.optimizer == Adam(1e-3)


def test_sharpen_enlarges_queries_and_keys_only():
    sharp = replace(SPEC, shape=replace(SHAPE, sharpen=3.0))
    one, other = learner.untrained(SPEC), learner.untrained(sharp)
    for name in ("W_Q", "W_K", "W_V"):
        factor = 1 if name == "W_V" else 3
        torch.testing.assert_close(other.get_parameter(name), factor * one.get_parameter(name))
        edge = one.get_parameter(name).shape[1] ** -0.5  # as torch draws those of nn.Linear
        assert 0.8 * edge < one.get_parameter(name).abs().max() <= edge


def test_the_start_depends_on_the_seed_and_on_nothing_else():
    torch.manual_seed(1)
    one = learner.untrained(SPEC).W_Q
    torch.manual_seed(2)
    before = torch.get_rng_state()
    assert torch.equal(one, learner.untrained(SPEC).W_Q)
    assert torch.equal(before, torch.get_rng_state())
    assert not torch.equal(one, learner.untrained(replace(SPEC, seed=1)).W_Q)


def test_a_loss_that_explodes_stops_the_training_and_nothing_is_kept(tmp_path):
    recipe = replace(learner.Recipe.printed(400, batch=4), optimizer=SGD(lr=300.0, momentum=0.9))
    store = Store(tmp_path)
    with pytest.raises(Diverged, match=r"the loss .* exceeds 1000 x .*, the first"):
        store.get(replace(SPEC, recipe=recipe), learner.train)
    assert not list(tmp_path.rglob("result.json"))


def test_it_learns_the_mean_and_reports_fresh_sequences():
    spec = replace(SPEC, recipe=learner.Recipe.ours(300, batch=16))
    outcome = learner.train(spec, Workspace())
    assert outcome.numbers["mean square error"] < 0.1 * outcome.numbers["variance"]
    assert outcome.curves["loss"][0] > 10 * outcome.numbers["mean square error"]
    model = learner.trained(SPEC, outcome)
    tokens, wanted = learner.batch(SPEC, -2, learner.JUDGED)
    error = (model(tokens) - wanted).square().mean().item()
    assert error == pytest.approx(outcome.numbers["mean square error"], rel=1e-5)
    assert not any(p.requires_grad for p in model.parameters())
