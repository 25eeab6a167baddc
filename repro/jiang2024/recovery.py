"""What a trained network has recovered of a task of Appendix B.1, token by token.

"The attention matrix recovers rho": `variation` is half the sum of |A_ts - w_ts| over s, the total
variation distance, from 0 to 1, of row t of the trained attention A from the task's weights w;
`right` tells whether A_t. is largest where w_t. is; asked where that is one place (`unique`).
"F o f recovers the identity, or the norm": `readout` is F^(W_V f^(x(t))), the output on the
sequence (x(t), ..., x(t)), and is compared with the task's own F o f.

A small loss implies neither (gauge.py, and the claim on Figure 5).
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from repro.jiang2024.learner import JUDGED, FitAttention, Learner, batch, trained, untrained
from repro.jiang2024.tasks import Displayed, OneHot
from repro.training import Outcome


@dataclass(frozen=True)
class Recovered:
    """Of count sequences of tau tokens; one number for each token unless a shape is given."""

    tokens: Tensor  # (count, tau, inputs)
    attention: Tensor  # (count, tau, tau)
    weights: Tensor  # (count, tau, tau), of the task
    readout: Tensor  # (count, tau, outputs), of the network
    displayed: Tensor  # (count, tau, outputs), of the task

    @property
    def variation(self) -> Tensor:
        return (self.attention - self.weights).abs().sum(-1) / 2

    @property
    def unique(self) -> Tensor:
        """Whether the task has one largest weight."""
        two = self.weights.topk(2).values
        return two[..., 0] > two[..., 1]

    @property
    def right(self) -> Tensor:
        return self.attention.argmax(-1) == self.weights.argmax(-1)

    def agreement(self, rows: Any = ...) -> float:
        """The share of right rows, of those with a unique maximum (and in `rows`)."""
        return self.right[rows][self.unique[rows]].double().mean().item()

    def distance(self, rows: Any = ...) -> float:
        """The mean of the variation over all rows, or some."""
        return self.variation[rows].mean().item()

    def errors(self, rows: Any = ...) -> tuple[float, float]:
        """Of the readout over the standard deviation of the displayed: RMS, and largest."""
        shape = (-1, self.displayed.shape[-1])
        off, asked = (
            (z[rows]).reshape(shape) for z in (self.readout - self.displayed, self.displayed)
        )
        spread = asked.var(dim=0).mean().sqrt()
        return (off.square().mean().sqrt() / spread).item(), (off.abs().max() / spread).item()

    def by_sequence(self, rows: Tensor | None = None) -> dict[str, Tensor]:
        """Variation and square of the readout's error, means over the rows of each sequence."""
        rows = torch.ones_like(self.variation) if rows is None else rows.double()
        squares = (self.readout - self.displayed).square().mean(-1)
        found = {"total variation": self.variation, "square of the readout's error": squares}
        return {name: (z * rows).sum(-1) / rows.sum(-1) for name, z in found.items()}

    def pairs(self, count: int) -> list[tuple[float, float]]:
        """(displayed, readout), coordinate by coordinate, for the first token of some sequences."""
        asked, made = (z[:count, 0].flatten().tolist() for z in (self.displayed, self.readout))
        return list(zip(asked, made, strict=True))


def judged(spec: FitAttention, outcome: Outcome | None = None) -> Recovered:
    """On the fresh sequences of the training's judgement; the untrained twin, without outcome."""
    learner = untrained(spec) if outcome is None else trained(spec, outcome)
    return of_tokens(spec.task, learner, batch(spec, -2, JUDGED)[0])


def of_tokens(task: Displayed | OneHot, learner: Learner, tokens: Tensor) -> Recovered:
    """The network in float32, the task's own numbers in double precision."""
    exact = tokens.double()
    with torch.no_grad():
        form = learner.transformer().target()
        attention, readout = form.weights(tokens.float()), form.F(form.f(tokens.float()))
    return Recovered(
        exact, attention.double(), task.weights(exact), readout.double(), task.readout(exact)
    )


def in_standard_errors(worse: Tensor, better: Tensor) -> float:
    """The mean of worse - better over sequences, divided by its standard error."""
    gain = worse - better
    return (gain.mean() / gain.std() * len(gain) ** 0.5).item()


def cell(seen: str, shown: bool, name: str, found: Sequence[float], **more: Any) -> dict[str, Any]:
    """What a reader sees in a figure, and whether ours shows it; `found` is of several seeds."""
    seeds = f"{len(found)} seed{'s' if len(found) > 1 else ''}"
    note = f"{name}: {statistics.median(found):.3g} ({seeds}, {min(found):.3g} to {max(found):.3g})"
    return {"paper": seen, "ours": seen if shown else "not seen", "note": note, **more}
