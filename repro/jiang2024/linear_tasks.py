"""Tables 2 and 3: linear targets on encoded tokens, altered as Appendix C alters them.

Inputs x(t) are uniform on [0, 1], tau = 32; kernels are rho(s) = e^-s (`Exponential`) or drawn from
U[0, 1] (`Uniform`). "Exchange the first 10 with the last" is order = "exchanged"; theta * x takes
x(t-s), or x(t+s) as Section 6.2 prints it (`ahead`). "With position encoding added" (`encoded`),
tokens are (x(t), 4 e_t), e_t a unit vector of R^tau. Not printed: `standardised` outputs, y less
its mean over all sequences and times, in units of its deviation; else F has to begin with that.

Every target is y(t) = sum_j M_tj x(j) with the matrix M of ordering.py: H of (75) is K_ti =
rho(t-i), a filter makes it K Theta or K Theta^T, and an exchange permutes the columns.
"""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from repro.jiang2024 import ordering
from repro.numerics.exact import rationals

PLACE = 4.0  # setting: how large the positions are beside the inputs; ours, 1 fades in the layers
ORDERS: dict[str, Callable[[int], list[int]]] = {
    "given": lambda tau: list(range(tau)),
    "exchanged": lambda tau: ordering.exchange(tau, 10 * tau // 32),  # Appendix C: ten of 32
    "reversed": lambda tau: list(range(tau))[::-1],
}


@dataclass(frozen=True)
class Exponential:
    """rho(s) = e^-s."""

    def values(self, tau: int) -> np.ndarray:
        return np.exp(-np.arange(tau, dtype=float))


@dataclass(frozen=True)
class Uniform:
    """Independent rho(s), uniform on [0, 1]."""

    seed: int

    def values(self, tau: int) -> np.ndarray:
        return np.random.default_rng(self.seed).uniform(size=tau)


@dataclass(frozen=True)
class LinearTask:
    """The targets of Tables 2 and 3, as a task of learner.py."""

    kernel: Exponential | Uniform
    order: str = "given"
    theta: tuple[float, ...] = (1.0,)
    ahead: bool = False
    encoded: bool = True
    standardised: bool = False
    tau: int = 32

    @property
    def inputs(self) -> int:
        return 1 + self.tau if self.encoded else 1

    @property
    def outputs(self) -> int:
        return 1

    def matrix(self) -> np.ndarray:
        """M of y = M x."""
        return _matrix(self).copy()

    def draw(self, generator: torch.Generator, count: int) -> Tensor:
        x = torch.rand(count, self.tau, 1, generator=generator, device=generator.device)
        if not self.encoded:
            return x
        places = PLACE * torch.eye(self.tau, device=x.device).expand(count, -1, -1)
        return torch.cat([x, places], -1)

    def wanted(self, tokens: Tensor) -> Tensor:
        x, M = tokens[..., 0], _matrix(self)
        y = (x @ torch.tensor(M, dtype=x.dtype, device=x.device).mT)[..., None]
        return (y - M.sum() / (2 * self.tau)) / self.unit if self.standardised else y

    @property
    def unit(self) -> float:
        """In which the wanted outputs are measured."""
        return error_of_a_constant(_matrix(self)) ** 0.5 if self.standardised else 1.0


@functools.cache
def _matrix(task: LinearTask) -> np.ndarray:
    M = ordering.filtered(task.kernel.values(task.tau), task.theta, ahead=task.ahead)
    return M[:, ORDERS[task.order](task.tau)].astype(float)


def of_mixed_signs(count: int, tau: int) -> list[tuple[float, ...]]:
    """The first filters drawn that leave more than a tenth to the minority, in front of e^-s.

    A "length 5 filter" has normal values, scaled so that their absolute values sum to 1.
    """
    drawn = (np.random.default_rng(seed).normal(size=5) for seed in itertools.count())
    filters = (tuple((theta / abs(theta).sum()).tolist()) for theta in drawn)
    tasks = (LinearTask(Exponential(), theta=theta, tau=tau) for theta in filters)
    mixed = (task.theta for task in tasks if minority(task.matrix()) > 0.1)
    return list(itertools.islice(mixed, count))


def variance(M: np.ndarray) -> float:
    """Of y(t), averaged over t: the error of the best constants b_t."""
    return float((M * M).sum() / (12 * len(M)))


def error_of_a_constant(M: np.ndarray) -> float:
    """Of the best b, one for all t: the variance of y over sequences and times."""
    return variance(M) + float((M.sum(1) / 2).var())


def minority(M: np.ndarray) -> float:
    """The part of the variance that rows of one sign must lose.

    In (5) one row of weights serves all channels, and weights are positive. If f passes on x(j), up
    to a sign that goes with j and one that F gives to the output t, then a row of M can be met
    where it has one sign, and the smaller part of it, that with the other sign, is lost:
        sum_t min( |M_t^+|^2, |M_t^-|^2 ) / |M|^2
    of the variance. It is no floor: with n = tau channels (5) can hold every M (representation.py).
    """
    positive, negative = (np.maximum(part, 0) for part in (M, -M))
    return float(np.minimum((positive**2).sum(1), (negative**2).sum(1)).sum() / (M * M).sum())


def floor_without_places(M: np.ndarray) -> float:
    """Without encoding, y^(t) is a function of x(t) and of the others in whatever order.

    The best such function, were it told t, takes the mean of the others for each of them.
    """
    others = M[~np.eye(len(M), dtype=bool)].reshape(len(M), -1)
    return float(others.var(1).sum() * others.shape[1] / (12 * len(M)))


def recurrent_floor(task: LinearTask, offset: str) -> float:
    """Under every linear RNN: ordering.floor for the matrix as it is in floating point."""
    return float(ordering.floor(rationals(task.matrix().tolist()), offset))
