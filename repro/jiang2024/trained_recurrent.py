"""Tables 2 and 3, RNN: (72), (73) with trainable weights.

Paper                                   Here
"one-layer vanilla RNN", 128 units,     Recurrent: W, U, c from U(-1/sqrt n, 1/sqrt n), as torch
"a linear activation function"          draws them
biases of such a layer (not in (72))    offsets: the input is (x(t), 1) and has d = 2
mean square error                       over all sequences, exactly (`population_loss`)

The network convolves with the kernel c^T W^s U (recurrent.py), and for independent uniform inputs
ordering.py has the mean square error of a convolution with offsets against any matrix M. So it is
trained on that number itself, and no sample is drawn. With two channels the kernel (k(s), u(s)) has
the offsets b_t = sum_{s <= t} u(s).

All members of a spec, each with its target and its first weights, are trained side by side.

Gradients (`Kernel`). Let r_s = c^T W^s, rho^(s) = r_s U, and g_s the gradient of the loss in
rho^(s). What the loss changes with r_s, through rho^(s) and all that follow, is

    v_s = U g_s + W v_{s+1},   v_tau = 0,

so the gradients are sum_s r_s g_s^T in U, v_0 in c and sum_s r_s v_{s+1}^T in W: as many products
with W backwards as forwards, and one product of matrices. Autograd would add up tau matrices r v^T.

Rounding (`roundoff`). Write r_s = c^T W^s and |.| for Euclidean and Frobenius norms; u is the unit
round-off. A matrix times a vector of length n is off by at most n u |W| |h|. Step by step,

    h(t) is off anew by   d_t = u ((n+1) |W| |h(t-1)| + (d+1) |U| |x(t)|),
    y(t) by               sum_{j <= t} |r_{t-j}| d_j + n u |c| |h(t)|.

In kernel form r_s is off anew by n u |W| |r_{s-1}|, hence c^T W^s U by

    e_s = sum_{k <= s} n u |W| |r_{k-1}| |W^{s-k} U| + n u |r_s| |U|,

and y(t) by sum_{s <= t} (e_s + (t + 1 + d) u |rho^(s)|) |x(t-s)|. The two are apart by no more than
the sum. Terms in u^2 are left out and allowed for by a factor 1.01.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from repro.jiang2024 import ordering
from repro.jiang2024.linear_tasks import LinearTask
from repro.jiang2024.networks import SECOND_ORDER
from repro.jiang2024.recurrent import LinearRNN
from repro.numerics import roundoff as rounding
from repro.training import Adam, Outcome, Spec, Trapezoid, Workspace
from repro.training.loop import fit, generator_at
from repro.training.stack import Stack


@dataclass(frozen=True)
class FitRecurrent(Spec):
    """One training; members are pairs of a target and a seed."""

    kind: ClassVar[str] = "jiang2024-recurrent"
    version: ClassVar[int] = 2

    members: tuple[tuple[LinearTask, int], ...]
    units: int
    steps: int
    lr: float = 2e-3
    offsets: bool = False


class Recurrent(nn.Module):
    """The weights of (72), (73); called, it gives its kernel at the first tau times."""

    def __init__(self, units: int, channels: int, tau: int) -> None:
        super().__init__()
        edge = units**-0.5
        self.W, self.U, self.c = (
            nn.Parameter(torch.empty(shape).uniform_(-edge, edge))
            for shape in ((units, units), (units, channels), (units,))
        )
        self.tau = tau

    def rnn(self) -> LinearRNN:
        return LinearRNN(self.W, self.U, self.c)

    def forward(self) -> Tensor:  # (tau, channels)
        return Kernel.apply(self.W, self.U, self.c, self.tau)[0]


class Kernel(torch.autograd.Function):
    """LinearRNN.kernel with the gradients above; W (n, n), U (n, d), c (n,), or stacks of them.

    Gives the kernel (tau, d), and the rows r_s (tau, n) to go back with.
    """

    @staticmethod
    def forward(W: Tensor, U: Tensor, c: Tensor, tau: int) -> tuple[Tensor, Tensor]:
        rows, product = [c[..., None, :]], torch.mm if W.ndim == 2 else torch.bmm
        for _ in range(1, tau):
            rows.append(product(rows[-1], W))
        r = torch.cat(rows, -2)
        return r @ U, r

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        W, U, _, _ = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(W, U, output[1])

    @staticmethod
    def backward(ctx: Any, g: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        W, U, r = ctx.saved_tensors
        add_product = torch.addmm if W.ndim == 2 else torch.baddbmm  # one call for both
        *driven, last = (g @ U.mT).split(1, -2)  # U g_s, (..., 1, n)
        v, back = [last], W.mT
        for own in reversed(driven):
            v.append(add_product(own, v[-1], back))
        v = torch.cat(v[::-1], -2)
        return r[..., :-1, :].mT @ v[..., 1:, :], r.mT @ g, v[..., 0, :], None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], W: Tensor, U: Tensor, c: Tensor, tau: int
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        stacked = (
            one.movedim(dim, 0) if dim is not None else one.expand(info.batch_size, *one.shape)
            for one, dim in zip((W, U, c), in_dims, strict=False)
        )
        return Kernel.apply(*stacked, tau), (0, 0)


def toeplitz(kernel: Tensor) -> Tensor:
    """The matrix of y(t) = sum_s kernel(s) x(t-s); (..., tau) -> (..., tau, tau).

    The kernel and as many zeros, again and again; cut into rows that are one shorter than that,
    it is one place further to the right in each.
    """
    tau = kernel.shape[-1]
    padded = torch.cat([kernel, torch.zeros_like(kernel)], -1)
    again = padded[..., None, :].expand(*kernel.shape, 2 * tau).flatten(-2)
    return again[..., :-tau].unflatten(-1, (tau, 2 * tau - 1))[..., :tau].mT


def population_loss(kernel: Tensor, M: Tensor) -> Tensor:
    """ordering.mean_square of kernels (..., tau, d) against matrices (..., tau, tau)."""
    tau = M.shape[-1]
    left = M - toeplitz(kernel[..., 0])
    rows = left.sum(-1) - 2 * kernel[..., 1:].sum(-1).cumsum(-1)
    return (left.square().sum((-2, -1)) + 3 * rows.square().sum(-1)) / (12 * tau)


def untrained(spec: FitRecurrent) -> list[Recurrent]:
    members = []
    for task, seed in spec.members:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator_at(seed, -1).initial_seed())
            members.append(Recurrent(spec.units, 1 + spec.offsets, task.tau))
    return members


def train(spec: FitRecurrent, workspace: Workspace) -> Outcome:
    """Numbers: the mean square error of each member over all sequences."""
    stack = Stack(untrained(spec)).to(workspace.device)
    targets = np.stack([task.matrix() for task, _ in spec.members])
    M = torch.tensor(targets, dtype=torch.float32, device=workspace.device)
    curves = fit(
        stack,
        lambda stack, _: population_loss(stack(), M),
        steps=spec.steps,
        optimizer=Adam(spec.lr),
        schedule=Trapezoid(),
        workspace=workspace,
        every=20,
        clip=1.0,
    )
    tensors = dict(stack.cpu().state_dict())
    rnns = trained(spec, Outcome({}, curves, tensors))
    errors = [mean_square(task, rnn) for (task, _), rnn in zip(spec.members, rnns, strict=True)]
    return Outcome({"mean square errors": errors}, curves, tensors)


def trained(spec: FitRecurrent, outcome: Outcome) -> list[LinearRNN]:
    """The members, in float64."""
    members = untrained(spec)
    Stack(members).load_state_dict(outcome.tensors)
    return [member.requires_grad_(False).double().rnn() for member in members]


def mean_square(task: LinearTask, rnn: LinearRNN) -> float:
    """Over all sequences, by ordering.py."""
    kernel = rnn.kernel(task.tau).numpy()
    model = ordering.Model(kernel[:, 0], kernel[:, 1:].sum(1).cumsum())
    return float(ordering.mean_square(task.matrix(), model))


def roundoff(rnn: LinearRNN, x: Tensor) -> Tensor:
    """How far apart rnn(x) and the convolution with rnn.kernel(tau) may be; (..., tau)."""
    (n, d), tau, u = rnn.U.shape, x.shape[-2], rounding.unit(x.dtype)
    W, U = rnn.W.norm(), rnn.U.norm()
    rows, columns = [rnn.c], [rnn.U]  # r_s and W^s U
    for _ in range(1, tau):
        rows.append(rows[-1] @ rnn.W)
        columns.append(rnn.W @ columns[-1])
    r = torch.stack([row.norm() for row in rows])
    spread = torch.stack([column.norm() for column in columns])
    size, h = x.norm(dim=-1), rnn.states(x).norm(dim=-1)  # (..., tau)
    before = torch.cat([torch.zeros_like(h[..., :1]), h[..., :-1]], -1)
    anew = u * ((n + 1) * W * before + (d + 1) * U * size)
    stepwise = _convolved(r, anew) + n * u * r[0] * h
    fresh = torch.cat([torch.zeros_like(r[:1]), n * u * W * r[:-1]])
    e = _convolved(spread, fresh) + n * u * r * U
    terms = torch.arange(1, tau + 1, device=x.device) + d
    kernel = _convolved(e, size) + terms * u * _convolved(rnn.kernel(tau).norm(dim=-1), size)
    return SECOND_ORDER * (stepwise + kernel)


def _convolved(a: Tensor, b: Tensor) -> Tensor:
    """sum_{j <= t} a_{t-j} b_j, over the last axis of b."""
    return b @ toeplitz(a).mT
