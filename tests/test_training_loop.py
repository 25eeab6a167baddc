"""The training loop, its recipes, Muon, and stacks of models that train as if each were alone."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from repro.training import (
    SGD,
    Adam,
    Constant,
    Cosine,
    Diverged,
    Muon,
    OneCycle,
    Stack,
    Trapezoid,
    Workspace,
    fit,
    generator_at,
)
from repro.training import muon as engine


@pytest.mark.parametrize(
    "optimizer", [SGD(lr=0.2), SGD(lr=0.1, momentum=0.5), Adam(lr=0.1)], ids=str
)
def test_fit_finds_the_coefficients_of_a_linear_function(optimizer):
    truth = torch.tensor([0.5, -2.0, 1.0], dtype=torch.float64)
    model = torch.nn.Linear(3, 1, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)

    def loss(model, step):
        x = torch.randn(16, 3, generator=generator_at(0, step), dtype=torch.float64)
        return ((model(x).squeeze(1) - x @ truth) ** 2).mean()

    curves = fit(model, loss, steps=300, optimizer=optimizer, schedule=Cosine(), every=100)
    assert curves["step"] == [0, 100, 200, 299]
    assert curves["loss"][-1] < 1e-6 * curves["loss"][0]
    assert (model.weight.squeeze() - truth).abs().max() < 1e-3


def test_the_gradient_is_clipped():
    """One step of SGD moves by the gradient; with clip = 1/2 it has that norm."""
    start, end = torch.tensor([3.0, 4.0]), {}
    for clip in (None, 0.5):
        model = torch.nn.ParameterList([start.clone()])
        fit(model, lambda m, _: 10 * m[0].sum(), steps=1, optimizer=SGD(lr=1.0), clip=clip)
        end[clip] = (model[0].detach() - start).norm().item()
    assert end == pytest.approx({None: 10 * 2**0.5, 0.5: 0.5}, rel=1e-5)


def test_every_step_has_its_own_generator():
    """Also where seeds differ beyond 32 bits, of which torch's CPU generator knows nothing."""
    one, other = (torch.Generator().manual_seed(7 + (high << 32)) for high in (0, 1))
    assert torch.equal(torch.rand(4, generator=one), torch.rand(4, generator=other))
    pairs = [(0, 0), (0, 1), (1, 0), (1 << 32, 0), (0, -1), (1, 11), (11, 1)]
    draws = {tuple(torch.rand(4, generator=generator_at(*pair)).tolist()) for pair in pairs}
    assert len(draws) == len(pairs)


def descend(loss, lr, **options):
    model = torch.nn.ParameterList([torch.ones(1)])
    return fit(model, lambda m, step: loss(m[0], step).sum(), optimizer=SGD(lr=lr), **options)


def test_a_loss_that_is_not_finite_is_divergence():
    with pytest.raises(Diverged, match="diverged at step 3: the loss is nan"):
        descend(lambda w, step: w * (math.nan if step == 3 else 1), lr=0.1, steps=9)
    with pytest.raises(Diverged, match="step 5: the last update"):
        descend(lambda w, step: (w - w if step == 4 else w**2) ** 0.5, lr=0.1, steps=5)
    # As when training starts from the weights of a proof.
    descend(lambda w, step: w * min(step, 1), lr=0.1, steps=3)


def test_a_loss_beyond_the_stated_factor_of_the_first_is_divergence():
    """w -> -2w: the loss w^2 is 1, 4, 16, 64, 256, ..."""
    with pytest.raises(Diverged, match="step 4: the loss 256 exceeds 100 x 1, the first"):
        descend(lambda w, _: w**2, lr=1.5, steps=9, diverges_at=100.0)
    assert descend(lambda w, _: w**2, lr=1.5, steps=9)["loss"][4] == 256.0


@pytest.mark.parametrize("optimizer", [SGD(lr=0.3, momentum=0.9), Adam(lr=0.3)], ids=str)
@pytest.mark.parametrize("steps", [20, 37])
def test_one_cycle_leads_where_the_one_of_torch_leads(optimizer, steps):
    """Rate and momentum of every step count: they are in the path of w from 1 towards 0."""
    ours, theirs = (torch.nn.ParameterList([torch.ones(1, dtype=torch.float64)]) for _ in range(2))
    curves = fit(
        ours,
        lambda m, _: m[0].square().sum(),
        steps=steps,
        optimizer=optimizer,
        schedule=OneCycle(),
    )
    [engine], path = optimizer.build(dict(theirs.named_parameters())), []
    schedule = torch.optim.lr_scheduler.OneCycleLR(engine, max_lr=0.3, total_steps=steps)
    for _ in range(steps):
        engine.zero_grad()
        (value := theirs[0] ** 2).backward()
        engine.step()
        schedule.step()
        path.append(value.item())
    assert curves["loss"] == pytest.approx(path, rel=1e-9)


def test_schedules_by_hand():
    assert [Cosine().pace(step, 4).factor for step in (0, 2, 4)] == pytest.approx([1, 0.5, 0])
    assert Constant().pace(3, 4).factor == 1
    paces = [Trapezoid(rise=0.2, level=0.5).pace(step, 10).factor for step in range(11)]
    assert paces == pytest.approx([0.5, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 0])
    assert Trapezoid(rise=0.0).pace(0, 10).factor == 1


# --- Muon ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 6), (3, 9), (9, 3), (5, 6, 4)])
def test_equalised_keeps_the_directions_and_levels_the_singular_values(shape):
    """sum_i s_i u_i v_i^T becomes one with the same u_i, v_i and all s_i in (0.68, 1.21)."""
    G = torch.randn(*shape, generator=generator_at(1, 0), dtype=torch.float64).reshape(
        -1, *shape[-2:]
    )
    U, S, Vh = torch.linalg.svd(G, full_matrices=False)
    assert (S.amin(-1) > 0.02 * G.norm(dim=(1, 2))).all()
    levelled = U.mT @ engine.equalised(G) @ Vh.mT
    values = levelled.diagonal(dim1=-2, dim2=-1)
    assert ((values > 0.68) & (values < 1.21)).all()
    assert (levelled - torch.diag_embed(values)).abs().max() < 1e-12


@pytest.mark.parametrize("shape", [(8, 8), (12, 4), (4, 12)])
def test_muon_leads_where_the_one_of_torch_leads(shape):
    """torch iterates in bfloat16, whose unit round-off is 2^-8: about 1 % of every step."""
    start = torch.randn(*shape, generator=generator_at(2, 0))
    goal = torch.randn(*shape, generator=generator_at(2, 1))
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    engines = (
        engine.Muon([ours], lr=0.05, momentum=0.9),
        torch.optim.Muon([theirs], lr=0.05, momentum=0.9, weight_decay=0.0),
    )
    for _ in range(10):
        for W, one in zip((ours, theirs), engines, strict=True):
            one.zero_grad()
            (W - goal).square().sum().backward()
            one.step()
    travelled = (ours - start).norm()
    assert travelled > 0.5
    assert (ours - theirs).norm() < 0.03 * travelled


def test_equalised_takes_one_matrix_and_batches_of_batches():
    G = torch.randn(2, 3, 5, 4, generator=generator_at(1, 0), dtype=torch.float64)
    found = engine.equalised(G)
    for place in np.ndindex(2, 3):
        torch.testing.assert_close(found[place], engine.equalised(G[place]))


def network(seed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)
        )


def examples(step, count=32):
    x = torch.randn(count, 3, generator=generator_at(0, step))
    return x, x.prod(-1, keepdim=True)


def loss(model, step):
    x, y = examples(step)
    return (model(x) - y).square().mean()


def losses(stack, step):
    x, y = examples(step)
    return (stack(x, shared=True) - y).square().mean(dim=(1, 2))


OURS = Muon(lr=0.02, rest=Adam(lr=0.01), apart=("0",))


def test_muon_takes_the_matrices_and_leaves_the_rest():
    engines = OURS.build(dict(network(0).named_parameters()))
    shapes = [
        [tuple(p.shape) for group in e.param_groups for p in group["params"]] for e in engines
    ]
    assert shapes == [[(8, 8), (1, 8)], [(8, 3), (8,), (8,), (1,)]]
    with pytest.raises(ValueError, match="no matrix to move: parameters are 0"):
        Muon(lr=0.1, rest=SGD(lr=0.1)).build({"0": nn.Parameter(torch.zeros(3))})


def test_a_gradient_of_zero_is_no_direction():
    W = nn.Parameter(torch.ones(3, 3))
    W.grad = torch.zeros(3, 3)
    engine.Muon([W], lr=1.0, momentum=0.9).step()
    assert torch.equal(W, torch.ones(3, 3))


@pytest.mark.parametrize("optimizer", [SGD(lr=0.1, momentum=0.5), Adam(lr=0.01), OURS], ids=str)
def test_a_stack_trains_each_member_as_if_it_were_alone(optimizer):
    """Up to the order of sums in float32, which 30 steps enlarge a little."""
    stack = Stack([network(seed) for seed in range(3)])
    curves = fit(stack, losses, steps=30, optimizer=optimizer, clip=0.1)
    assert set(curves) == {"step", "loss 0", "loss 1", "loss 2"}
    for seed, member in enumerate(stack.models):
        alone = network(seed)
        curve = fit(alone, loss, steps=30, optimizer=optimizer, clip=0.1)["loss"]
        assert curves[f"loss {seed}"] == pytest.approx(curve, rel=1e-3)
        x, _ = examples(-1)
        assert (alone(x) - member(x)).abs().max() < 1e-3
    assert len({curves[f"loss {seed}"][-1] for seed in range(3)}) == 3


def test_members_can_have_inputs_of_their_own():
    stack = Stack([network(seed) for seed in range(2)])
    x = torch.randn(2, 5, 3)
    outputs = stack(x)
    for number in range(2):
        torch.testing.assert_close(outputs[number], network(number)(x[number]))


def test_one_diverging_member_is_named():
    stack = Stack([nn.Linear(1, 1, bias=False) for _ in range(2)])
    factor = torch.tensor([1.0, 100.0])

    def steep(stack, step):
        return factor * torch.stack([m.weight.square().sum() for m in stack.models])

    with pytest.raises(Diverged, match=r"the loss 1 .* exceeds 10 x"):
        fit(stack, steep, steps=20, optimizer=SGD(lr=0.1), diverges_at=10.0)


def test_a_stack_is_resumed_to_the_same_bits(tmp_path):
    def run(stop_at=None):
        stack = Stack([network(seed) for seed in range(2)])

        def stopping(stack, step):
            if step == stop_at:
                raise KeyboardInterrupt
            return losses(stack, step)

        workspace = Workspace(tmp_path / "checkpoint", pause=0.0)
        fit(stack, stopping, steps=20, optimizer=OURS, schedule=Trapezoid(), workspace=workspace)
        return stack.state_dict(), workspace.notes

    with pytest.raises(KeyboardInterrupt):
        run(stop_at=12)
    resumed, notes = run()
    assert notes == ["resumed from step 12 of 20"]
    (tmp_path / "checkpoint").unlink()
    whole, notes = run()
    assert notes == []
    assert all(torch.equal(resumed[name], whole[name]) for name in whole)


def test_models_with_buffers_cannot_be_stacked():
    with pytest.raises(ValueError, match="buffers"):
        Stack([nn.BatchNorm1d(2)] * 2)
