"""A finding about Table 1 (fang2022, Section 5): its convergence rule is a chance crossing.

Table 1 counts the epochs until |MSE_e - MSE_(e-1)| < 0.01 for the first time. SGD with clipping
moves up and down, so the difference changes its sign, and is small when it does, now and then,
long before the error has settled.

Checked, on trainings of the attention model on f_2* (n = 64), several seeds and clipping bounds:
- the same training with another seed gives an epoch at least twice as late;
- at that epoch the error is at least 1.5 times the one at the end, and it goes on changing by 0.01
  or more for hundreds of epochs;
- a rule that asks for 20 such changes in a row ends within a factor 1.5 of the last error.
Control: a curve that decays like an exponential, where the first small change is the last word.

Not checked: that 20 is a good number; with a larger step it would need to be larger. What any rule
of this kind measures is the step: at the end of a one-cycle schedule, when the learning rate is
almost 0, each of them is met by every model, however far it is from the target.
"""

import math

import pytest

from repro import fang2022

RUN = 20


def curves(claim):
    """{(clip, seed): train MSE by epoch}; 4500 samples, 2000 epochs (smoke: 900 and 1000)."""
    of = fang2022.experiments
    clips, seeds = claim.at_scale(
        smoke=((100.0,), 2), laptop=((1.0, 10.0, 100.0), 3), paper=((1.0, 10.0, 100.0), 8)
    )
    smoke = {"train": 900, "test": 1000, "batch": 500, "epochs": 1000}
    longer = {**of.REDUCED, "epochs": 2000}
    setting = claim.at_scale(smoke=smoke, laptop=longer, paper=longer)
    specs = {
        (clip, seed): of.quintic("ATTENTION", 64, clip=clip, seed=seed, **setting)
        for clip in clips
        for seed in range(seeds)
    }
    return {key: claim.train(spec, of.train).outcome.curves["train"] for key, spec in specs.items()}


def met(train, run=1):
    """The epoch at which the rule is met: `run` changes below 0.01 in a row."""
    epoch = fang2022.experiments.first_still_epoch(train, run=run)
    return epoch or pytest.fail(f"{run} changes below 0.01 in a row never came")


@pytest.mark.train
def test_another_seed_gives_another_epoch(claim):
    """The bound for which the seeds differ most: same data size, same schedule, same model."""
    first = {key: met(train) for key, train in curves(claim).items()}
    by_clip = {}
    for (clip, _), epoch in first.items():
        by_clip.setdefault(clip, []).append(epoch)
    for clip, epochs in by_clip.items():
        claim.record(**{f"epochs by Table 1's rule, clipped at {clip:g}": epochs})
    apart = max(max(epochs) / min(epochs) for epochs in by_clip.values())
    spread = "spread: twice as late with another seed"
    name = "latest over earliest epoch"
    claim.at_least(apart, 2, name, equation="Table 1, # EPOCHS", source=spread)


@pytest.mark.train
def test_at_the_first_small_change_the_error_is_far_from_its_end(claim):
    of = fang2022.experiments
    for (clip, seed), train in curves(claim).items():
        first, settled = met(train), met(train, run=RUN)
        last = of.last_moving_epoch(train)
        where = f"clipped at {clip:g}, seed {seed}"
        claim.record(
            **{where: {"first": first, "20 in a row": settled, "last change of 0.01": last}}
        )
        too_early = "spread: 1.5 lies between the two rules in every training"
        name = "train MSE over the last one"
        early, late = (train[epoch - 1] / train[-1] for epoch in (first, settled))
        claim.at_least(early, 1.5, f"{name}, first small change", equation=where, source=too_early)
        claim.at_most(late, 1.5, f"{name}, {RUN} in a row", equation=where, source=too_early)
        moving = sum(abs(train[e] - train[e - 1]) >= of.STILL for e in range(first, len(train)))
        more = "spread: a hundred epochs with changes of 0.01 or more after the rule was met"
        name = "epochs that still change"
        claim.at_least(moving, 100, name, equation=where, source=more)


@pytest.mark.train
def test_the_rule_in_a_picture(claim):
    found = curves(claim)
    clip = max(clip for clip, _ in found)
    shown = {seed: train for (c, seed), train in found.items() if c == clip}
    first = {seed: met(train) for seed, train in shown.items()}
    settled = {seed: met(train, run=RUN) for seed, train in shown.items()}
    claim.figure(
        fang2022.pictures.experiments.convergence_rule(shown, first, settled),
        "rule",
        caption=f"The same training with {len(shown)} seeds (clipped at {clip:g}). Crosses: the "
        "first change below 0.01, Table 1's rule. Squares: 20 in a row.",
        alt="Train error against the epoch. The rule is met at epochs "
        + ", ".join(f"{epoch} (error {shown[s][epoch - 1]:.3g})" for s, epoch in first.items())
        + "; twenty small changes in a row come at "
        + ", ".join(str(epoch) for epoch in settled.values())
        + ".",
    )
    latest = max(first.values())
    name, after = "earliest settled epoch over the latest first one", "spread: never before it"
    claim.at_least(min(settled.values()) / latest, 1, name, equation="20 in a row", source=after)


@pytest.mark.parametrize("decay", [5, 30, 200], ids="decay={}".format)
def test_control_on_an_exponential_both_rules_agree(decay, claim):
    """1 + 1000 exp(-e/decay): the changes shrink, so after the first small one all are small."""
    train = [1 + 1000 * math.exp(-epoch / decay) for epoch in range(3000)]
    first, settled = met(train), met(train, run=RUN)
    smooth = "theorem: the changes of an exponential decrease"
    name = "epochs between the last change of 0.01 and the rule"
    last = fang2022.experiments.last_moving_epoch(train)
    claim.at_least(first - last, 1, name, equation="exponential", source=smooth)
    claim.equals(settled - first, RUN - 1, "epochs between the rules", equation="exponential")
