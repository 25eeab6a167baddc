"""Equations (76)-(79): how long and how loud a kernel remembers; and a repair of Proposition 6.3.

    C_1 = 1 + inf{ beta > 0 : e^{t/beta} |rho(t)| -> 0 },   C_2 = sup_t e^{t/C_1} |rho(t)|,
    C_RNN = C_1 C_2.                                                                     (76)-(78)

Kernels here are rho(t) = first[t] + sum_i a_i (+-1)^t e^{-b_i t}, with a_i != 0, different factors
+-e^{-b_i} and `first` ending somewhere. Then the infimum is 1/min b_i, or 0 if there is no
exponential: no sum of exponentials cancels for all large t, and one of them alone decays like it.
The supremum is enclosed in balls: beyond `first`, e^{ut} |rho(t)| <= sum |a_i| e^{-(b_i - u) t},
which falls with t, so finitely many t decide.

- C_RNN is not monotone: the spike e^{-T/gamma} delta_T has C_1 = 1 and C_RNN =
  e^{T(1 - 1/gamma)}; the larger kernel e^{-t/gamma} has C_1 = 1 + gamma and C_RNN = 1 + gamma.
- If |rho(t)| <= e^{-t/gamma} and gamma <= 1, then C_RNN <= 1 + gamma: C_1 <= 1 + gamma, and
  e^{t/C_1} |rho(t)| <= e^{t - t/gamma} <= 1. For gamma > 1 the spikes leave no bound at all.

The repair. C* = inf_{c>0} c sup_t e^{t/c} |rho(t)| is homogeneous and monotone. With c = gamma:
- |rho(t)| <= e^{-t/gamma} gives C* <= gamma, with equality for e^{-t/gamma} (no c < gamma will do);
- so it is for sum_{s<l} theta(s) rho(t+s), (97), if |theta|_1 <= 1: it is no larger than
  sum |theta(s)| e^{-(t+s)/gamma};
- a causal filter gives sum_s theta(s) rho(t-s), and for t >= s e^{t/gamma} e^{-(t-s)/gamma} =
  e^{s/gamma}; so C* <= gamma e^{(l-1)/gamma}. The delay theta = delta_{l-1} of e^{-t/gamma} attains
  the supremum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flint

from repro.numerics.exact import rational
from repro.numerics.logarithms import Log, ball


@dataclass(frozen=True)
class Exponential:
    """a (sign)^t e^{-rate t}; the rate is rational or the logarithm of a rational."""

    a: Any
    rate: Any
    sign: int = 1

    def ball(self, t: int) -> flint.arb:
        return ball(self.a) * self.sign**t * (-ball(self.rate) * t).exp()


@dataclass(frozen=True)
class Kernel:
    """rho(t) = first[t] + sum of exponentials, t = 0, 1, ...; first is 0 beyond its end."""

    first: Sequence[Any] = ()
    terms: tuple[Exponential, ...] = ()

    def ball(self, t: int) -> flint.arb:
        early = ball(self.first[t]) if t < len(self.first) else flint.arb(0)
        return sum((term.ball(t) for term in self.terms), early)


def spike(T: int, height: Any = 1) -> Kernel:
    """height delta_T."""
    return Kernel([*[0] * T, height])


def decay_time(kernel: Kernel) -> Any:
    """inf{beta > 0 : e^{t/beta} |rho(t)| -> 0}: exact where the slowest rate is rational."""
    if not kernel.terms:
        return rational(0)
    slowest = min((term.rate for term in kernel.terms), key=lambda rate: float(ball(rate)))
    return 1 / (ball(slowest) if isinstance(slowest, Log) else rational(slowest))


def C_1(kernel: Kernel) -> Any:
    """(76)."""
    return 1 + decay_time(kernel)


def C_2(kernel: Kernel) -> flint.arb:
    """(77)."""
    return weighed(kernel, 1 / C_1(kernel))


def C_RNN(kernel: Kernel) -> flint.arb:
    """(78)."""
    return ball(C_1(kernel)) * C_2(kernel)


def weighed(kernel: Kernel, u: Any) -> flint.arb:
    """sup_t e^{ut} |rho(t)|, if every exponential of the kernel decays faster than e^{-ut}."""
    rates = [(abs(ball(term.a)), ball(term.rate) - ball(u)) for term in kernel.terms]

    def beyond(t: int) -> flint.arb:
        return sum((a * (-rate * t).exp() for a, rate in rates), flint.arb(0))

    largest, t = flint.arb(0), 0
    while t < len(kernel.first) or not beyond(t) <= largest:
        largest = largest.max((ball(u) * t).exp() * abs(kernel.ball(t)))
        t += 1
    return largest
