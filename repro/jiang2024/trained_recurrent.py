"""Tables 2 and 3, RNN: (72), (73) with trainable weights.

"One-layer vanilla RNN", 128 units, "a linear activation function": W, U and c are drawn from
U(-1/sqrt n, 1/sqrt n), as torch does. Biases of such a layer, which (72) has not, are `offsets`:
the input is (x(t), 1) and has d = 2. The network convolves with the kernel c^T W^s U
(recurrent.py), and for independent uniform inputs ordering.py has the mean square error of a
convolution with offsets against any matrix M. So it is trained on that number itself, and no sample
is drawn. With two channels the kernel (k(s), u(s)) has
the offsets b_t = sum_{s <= t} u(s).

Least squares (`PopulationLoss`). 12 tau times the error is |M - T|^2 + 3 |rows of M - T - 2b|^2, T
the Toeplitz matrix of k. With the lower triangle S of ones, rows of T are S k and b = S u; and if
m_s is the sum of the diagonal s of M, on which T has w_s = tau - s times k(s),

    |M - T|^2 = sum_s w_s (k(s) - m_s / w_s)^2 + |M - T'|^2,   T' the Toeplitz matrix of m_s / w_s.

So for z = (k, u) it is |a - A z|^2 and what no kernel changes; A = Q R has 2 tau rows, and as many
as z are left in |R z - Q^T a|^2 + |a - Q Q^T a|^2.

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

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from repro.jiang2024 import ordering
from repro.jiang2024.learner import drawn
from repro.jiang2024.linear_tasks import LinearTask
from repro.jiang2024.networks import SECOND_ORDER
from repro.jiang2024.recurrent import LinearRNN
from repro.numerics import roundoff as rounding
from repro.training import Adam, Outcome, Spec, Trapezoid, Workspace
from repro.training.loop import fit
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

    def forward(self) -> Tensor:  # (tau, channels)
        return Kernel.apply(self.W, self.U, self.c, self.tau)


class Kernel(torch.autograd.Function):
    """LinearRNN.kernel with the gradients above; W (n, n), U (n, d), c (n,), or stacks of them."""

    @staticmethod
    def forward(ctx: Any, W: Tensor, U: Tensor, c: Tensor, tau: int) -> Tensor:  # (..., tau, d)
        rows, product = [c[..., None, :]], torch.mm if W.ndim == 2 else torch.bmm
        for _ in range(1, tau):
            rows.append(product(rows[-1], W))
        r = torch.cat(rows, -2)
        ctx.save_for_backward(W, U, r)
        return r @ U

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        W, U, r = ctx.saved_tensors
        v, back = g @ U.mT, W.mT  # U g_s
        add = Tensor.addmm_ if W.ndim == 2 else Tensor.baddbmm_
        for later, own in itertools.pairwise(reversed(v.split(1, -2))):
            add(own, later, back)
        return r[..., :-1, :].mT @ v[..., 1:, :], r.mT @ g, v[..., 0, :], None


def toeplitz(kernel: Tensor) -> Tensor:
    """The matrix of y(t) = sum_s kernel(s) x(t-s); (..., tau) -> (..., tau, tau)."""
    tau = kernel.shape[-1]
    return nn.functional.pad(kernel, (tau - 1, 0)).unfold(-1, tau, 1).flip(-2).mT


def convolved(kernel: Tensor, x: Tensor) -> Tensor:
    """That sum, over the last axis of x."""
    return x @ toeplitz(kernel).mT


class PopulationLoss:
    """ordering.mean_square of kernels (..., tau, d) against matrices M (..., tau, tau)."""

    def __init__(self, M: np.ndarray, channels: int, **placed: Any) -> None:
        tau = M.shape[-1]
        weights = np.arange(tau, 0, -1)
        sums = np.stack([np.trace(M, -s, -2, -1) for s in range(tau)], -1)  # of the diagonals
        A = np.hstack([np.diag(weights**0.5), *[np.zeros((tau, tau))] * (channels - 1)])
        rows = np.hstack([np.tri(tau), *[2 * np.tri(tau)] * (channels - 1)])
        a = np.concatenate([sums / weights**0.5, 3**0.5 * M.sum(-1)], -1)
        Q, R = np.linalg.qr(np.vstack([A, 3**0.5 * rows]))
        beyond = M - toeplitz(torch.from_numpy(sums / weights)).numpy()
        floor = (beyond**2).sum((-2, -1)) + ((a - a @ Q @ Q.T) ** 2).sum(-1)
        scale = 12 * tau
        parts = (R / scale**0.5, a @ Q / scale**0.5, floor / scale)
        self.R, self.b, self.floor = (torch.tensor(part, **placed) for part in parts)

    def __call__(self, kernel: Tensor) -> Tensor:
        return (kernel.mT.flatten(-2) @ self.R.mT - self.b).square().sum(-1) + self.floor


def untrained(spec: FitRecurrent) -> list[Recurrent]:
    return [
        drawn(seed, lambda tau=task.tau: Recurrent(spec.units, 1 + spec.offsets, tau))
        for task, seed in spec.members
    ]


def train(spec: FitRecurrent, workspace: Workspace) -> Outcome:
    """Numbers: the mean square error of each member over all sequences."""
    stack = Stack(untrained(spec)).to(workspace.device)
    targets = np.stack([task.matrix() for task, _ in spec.members])
    loss = PopulationLoss(targets, 1 + spec.offsets, dtype=torch.float32, device=workspace.device)
    tau = targets.shape[-1]
    curves = fit(
        stack,
        lambda stack, _: loss(Kernel.apply(*stack.weights().values(), tau)),
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
    doubles = [member.requires_grad_(False).double() for member in members]
    return [LinearRNN(member.W, member.U, member.c) for member in doubles]


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
    stepwise = convolved(r, anew) + n * u * r[0] * h
    fresh = torch.cat([torch.zeros_like(r[:1]), n * u * W * r[:-1]])
    e = convolved(spread, fresh) + n * u * r * U
    terms = torch.arange(1, tau + 1, device=x.device) + d
    kernel = convolved(e, size) + terms * u * convolved(rnn.kernel(tau).norm(dim=-1), size)
    return SECOND_ORDER * (stepwise + kernel)
