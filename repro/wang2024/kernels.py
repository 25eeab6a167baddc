"""Target kernels of Lemmas E.3, E.6 and Theorem 6.1, each with a proved bound on its tail.

A kernel is made from an envelope, and what is done to it leaves |rho(t)| below the envelope:
log_cosine(power(4)) is t^-4 cos(log t), later(power(4)) is (1 + t)^-4, which exists at t = 0.

Few heads. Let 0 < u_h < 1, and let N be the number of successes in H independent trials, the h-th
of which succeeds with probability u_h / (1 + u_h). Then z_t = (-1)^t P(N >= H + 1 - t), t >= 1, is
at most 1 in size, (-1)^t for t > H, and orthogonal to the exponentials u_h^t:

    sum_t z_t u^t = sum_n P(N = n) (-u)^(H+1-n) / (1 + u)
                  = (-u)^(H+1) / (1 + u) prod_h (1 - u_h / u) / (1 + u_h) = 0    for u = u_h.

So for an alternating kernel, rho(t) = (-1)^t |rho(t)|, t >= 1, and every phi = sum_h alpha_h u_h^t

    sum_t |rho - phi| >= sum_t z_t (rho - phi)(t) = sum_t z_t rho(t) >= sum_{t > H} |rho(t)|.

The same holds for H powers t^-beta_h = int_0^1 u^(t-1) m_h(u) du, m_h a multiple of
(log 1/u)^(beta_h - 1): put z_t = (-1)^t for t > H and solve sum_t z_t t^-beta_h = 0 for the others.
Then R(u) = sum_t z_t u^(t-1), a polynomial of degree H over 1 + u, is orthogonal to all m_h. Sums
of k of these have at most k - 1 zeros, anywhere (Descartes), so R changes its sign at least H
times: at all its zeros u_1, ..., u_H, and z is the z above.

Enough heads. Let x_t = q^t, t >= 0 (lin), or x_t = t^-(sH), t >= 1, and q = e^-s (log), and let phi
be the sum of x_t, x_t^2, ..., x_t^H that equals rho at the first H times, phi = sum_T rho(T) l_T,

    l_T(t) = (x_t / x_T) prod_{i != T} (x_t - x_i) / (x_T - x_i).

In both cases x_i / x_j <= q^(i-j) for the nodes i > j. Beyond the last node 0 < x_t < x_i, so that
a factor i < T is at most 1 / (1 - q^(T-i)), a factor i > T at most q^(i-T) / (1 - q^(i-T)). With k
nodes after T, at most q^(k(k+1)/2) (q; q)^-2 is left beside x_t / x_T, the sum of which is at most
q^(k+1) / (1 - q) (lin), or q^k H / (sH - 1), by an integral (log). So, if t_H is the last node,

    sum_t |rho - phi| <= sum_{t > t_H} |rho(t)| + C sum_{k < H} q^(k(k+3)/2) |rho(t_H - k)|,

C = q / ((1 - q) (q; q)^2) or H / ((sH - 1) (q; q)^2). So H heads of either kind follow every
summable kernel up to its tail; for q -> 0 the tail is all that is left, and no less is possible.

Bounded weights. If beta_h >= beta and sum |alpha_h| <= A, then |phi(t)| <= A e^{-beta t}, and from
any time on the sum of |rho| less that of A e^{-beta t} is a floor that no number of heads passes.
If rho alternates in sign, sum |alpha_h| <= A alone is enough, whatever the exponents: with
T_N(1 - 2u) = sum_t p_t u^t, at most 1 in size for 0 < u < 1, sum p_t phi(t) <= A, and
|sum p_t rho(t)| = sum |p_t rho(t)|, since p_t alternates as well. So the error is at least
(|sum p_t rho(t)| - A) / max |p_t| (`chebyshev_floor`).
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.polynomial import Chebyshev

from repro.numerics import l1
from repro.numerics.l1 import Kernel
from repro.numerics.logarithms import ball
from repro.wang2024.exponentials import chebyshev_coefficients
from repro.wang2024.heads import family
from repro.wang2024.model import SMALLEST
from repro.wang2024.powers import euler_product

BITS = 192  # of the balls: nodes and their differences are known to nearly as many
WINDOW, LEAST = 8, 200  # so many times H, but at least so many terms are summed one by one


def exponential(beta: Any) -> Kernel:
    """e^{-beta t} on t = 0, 1, ...; the tail is a geometric series."""

    def value(t: int) -> flint.arb:
        return (-ball(beta) * t).exp()

    return Kernel(value, lambda start: value(start) / -(-ball(beta)).expm1())


def power(beta: Any) -> Kernel:
    """t^-beta on t = 1, 2, ...; the tail is Hurwitz's zeta function."""
    return Kernel(
        lambda t: flint.arb(_after_zero(t)) ** -ball(beta),
        lambda start: ball(beta).zeta(flint.arb(_after_zero(start))),
    )


def _after_zero(t: int) -> int:
    if t < 1:
        raise ValueError(f"t^-beta is defined from t = 1 on, got t = {t}: `later` moves it to 0")
    return t


def later(kernel: Kernel) -> Kernel:
    """rho(t + 1): a kernel on t = 1, 2, ... seen from t = 0, as exponentials see it.

    Since e^{-beta (t+1)} is a multiple of e^{-beta t}, sums of exponentials approximate it on N
    exactly as well as they approximate rho on N_+.
    """
    return Kernel(lambda t: kernel.ball(t + 1), lambda start: kernel.tail(start + 1))


def scaled(kernel: Kernel, factor: Any) -> Kernel:
    """factor rho(t)."""
    return Kernel(
        lambda t: ball(factor) * kernel.ball(t),
        lambda start: abs(ball(factor)) * kernel.tail(start),
    )


def alternating(kernel: Kernel) -> Kernel:
    """(-1)^t rho(t)."""
    return Kernel(lambda t: (-1) ** t * kernel.ball(t), kernel.tail)


def random_signs(kernel: Kernel, seed: int) -> Kernel:
    """+-rho(t), the sign drawn for each t from `seed` and t alone."""

    @functools.cache
    def sign(t: int) -> int:
        return 1 - 2 * int(np.random.SeedSequence([seed, t]).generate_state(1)[0] & 1)

    return Kernel(lambda t: sign(t) * kernel.ball(t), kernel.tail)


def cosine(kernel: Kernel, c: Any) -> Kernel:
    """rho(t) cos(c t); the tail is the envelope's."""
    return Kernel(lambda t: kernel.ball(t) * (ball(c) * t).cos(), kernel.tail)


def log_cosine(kernel: Kernel) -> Kernel:
    """rho(t) cos(log t), t >= 1; the tail is the envelope's."""
    return Kernel(lambda t: kernel.ball(t) * flint.arb(_after_zero(t)).log().cos(), kernel.tail)


EXPONENTIAL = {  # |rho(t)| <= e^{-beta t}, t >= 0: the kernel and beta
    "e^-t cos t": (cosine(exponential(1), 1), Fraction(1)),
    "e^-t cos 3t": (cosine(exponential(1), 3), Fraction(1)),
    "(-1)^t e^-t": (alternating(exponential(1)), Fraction(1)),
    "e^-0.3t cos t": (cosine(exponential("3/10"), 1), Fraction(3, 10)),
}
POLYNOMIAL = {  # |rho(t)| <= t^-beta, t >= 1
    "(1+t)^-2.5": (later(power("5/2")), Fraction(5, 2)),
    "t^-2.5 cos(log t)": (log_cosine(power("5/2")), Fraction(5, 2)),
    "(-1)^t t^-2.5": (alternating(power("5/2")), Fraction(5, 2)),
    "(-1)^t t^-4": (alternating(power(4)), Fraction(4)),
    "+-t^-2.5": (random_signs(power("5/2"), seed=2024), Fraction(5, 2)),
    "(-1)^t t^-1.5": (alternating(power("3/2")), Fraction(3, 2)),
}
precisely = flint.ctx.workprec(BITS)
product = functools.partial(math.prod, start=flint.arb(1))


def certificate(u: Sequence[Any]) -> list[Any]:
    """z_1, ..., z_H of the text, for exact numbers or balls u; beyond H it is (-1)^t."""
    chances = [u[0] ** 0]  # of n successes
    for u_h in u:
        failed, succeeded = [*chances, 0], [0, *chances]
        chances = [(f + u_h * s) / (1 + u_h) for f, s in zip(failed, succeeded, strict=True)]
    return [(-1) ** t * sum(chances[-t:]) for t in range(1, len(u) + 1)]


@precisely
def alternating_floor(kernel: Kernel, heads: int, *, first: int) -> flint.arb:
    """The tail after `heads` times: for an alternating kernel whose tail is the sum itself."""
    return kernel.tail(first + heads)


@precisely
def bounded_weights_floor(kernel: Kernel, least_exponent: Any, weight: Any) -> flint.arb:
    """What exponentials with beta_h >= least_exponent and sum |alpha_h| <= weight cannot pass.

    The kernel's tail must be the sum itself, not a bound.
    """
    heads = scaled(exponential(least_exponent), weight)
    floors = (kernel.tail(start) - heads.tail(start) for start in itertools.count())
    return next(one for one, after in itertools.pairwise(floors) if after <= one)


def chebyshev_floor(kernel: Kernel, weight: Any, N: int) -> flint.arb:
    """What exponentials with sum |alpha_h| <= weight cannot pass, by T_N(1 - 2u)."""
    p = chebyshev_coefficients(N)
    met = abs(sum((p_t * kernel.ball(t) for t, p_t in enumerate(p)), flint.arb(0)))
    return (met - ball(weight)) / max(abs(p_t) for p_t in p)


@dataclass(frozen=True)
class Interpolation:
    """phi = sum_h alpha_h x_t^h, equal to rho at the first H times; see the module's text.

    `step` is s = -log q, an exact real: the exponents are s h (lin), or s H h (log).

    >>> from repro.wang2024.kernels import Interpolation, alternating, power
    >>> round(float(Interpolation(alternating(power(4)), "log", heads=16, step=2).error()), 6)
    7.6e-05
    """

    kernel: Kernel
    rpe: str
    heads: int
    step: Any

    def __post_init__(self) -> None:
        if not ball(self.step) * self.heads > (self.rpe == "log"):
            found = f"s = {self.step}, H = {self.heads}"
            raise ValueError(f"interpolation needs s > 0 (lin) or sH > 1 (log), got {found}")

    @property
    def family(self) -> l1.Family:
        each = 1 if self.rpe == "lin" else self.heads
        return family(self.rpe, [self.step * (each * h) for h in range(1, self.heads + 1)])

    def node(self, t: int) -> flint.arb:
        """x_t."""
        s = ball(self.step)
        return (-s * t).exp() if self.rpe == "lin" else flint.arb(t) ** (-s * self.heads)

    @precisely
    def bound(self) -> flint.arb:
        """The right-hand side of the bound from above."""
        q, H = (-ball(self.step)).exp(), self.heads
        C = H / (ball(self.step) * H - 1) if self.rpe == "log" else q / (1 - q)
        last = SMALLEST[self.rpe] + H - 1
        terms = (q ** (k * (k + 3) // 2) * abs(self.kernel.ball(last - k)) for k in range(H))
        return self.kernel.beyond(last + 1) + C / euler_product(q) ** 2 * sum(terms, flint.arb(0))

    @precisely
    def error(self) -> flint.arb:
        """A bound on sum |rho - phi| that is as sharp as the kernel's tail: phi from its l_T."""
        nodes = range(SMALLEST[self.rpe], SMALLEST[self.rpe] + self.heads)
        x, rho = [self.node(t) for t in nodes], [self.kernel.ball(t) for t in nodes]
        weights = [
            r / (x_T * product(x_T - x_i for x_i in x if x_i is not x_T))
            for x_T, r in zip(x, rho, strict=True)
        ]

        def phi(t: int) -> flint.arb:
            x_t = self.node(t)
            lagrange = (w / (x_t - x_T) for x_T, w in zip(x, weights, strict=True))
            return x_t * product(x_t - x_i for x_i in x) * sum(lagrange, flint.arb(0))

        start = nodes.stop + max(WINDOW * self.heads, LEAST)
        inside = (abs(self.kernel.ball(t) - phi(t)) for t in range(nodes.stop, start))
        largest = product(x)  # 0 < x_i - x_t < x_i
        beyond = sum(
            (abs(w) * largest / x_T for x_T, w in zip(x, weights, strict=True)), flint.arb(0)
        )
        return sum(inside, beyond * self.family.tails(start)[0] + self.kernel.beyond(start))


@precisely
def exponential_bound(beta: Any, heads: int, step: Any) -> flint.arb:
    """K(beta) e^{-beta H}: for the lin interpolant of every kernel with |rho(t)| <= e^{-beta t}."""
    q, growth = (-ball(step)).exp(), ball(beta).exp()
    series = _series(q, lambda k: growth ** (k + 1), growth)
    K = 1 / (1 - 1 / growth) + q / (1 - q) * series / euler_product(q) ** 2
    return K * growth**-heads


@precisely
def power_bound(beta: Any, heads: int, step: Any) -> flint.arb:
    """K(beta) H^(1-beta): for the log interpolant of every kernel with |rho(t)| <= t^-beta.

    For H >= 2 and s > 1/2: sum_{t > H} t^-beta <= H^(1-beta) / (beta - 1), H / (H - k) <= 1 + k.
    """
    s, beta = ball(step), ball(beta)
    q = (-s).exp()
    series = _series(q, lambda k: flint.arb(k + 1) ** beta, flint.arb(2) ** beta)
    K = 1 / (beta - 1) + series / ((2 * s - 1) * euler_product(q) ** 2)
    return K * flint.arb(heads) ** (1 - beta)


def _series(q: flint.arb, g: Callable[[int], flint.arb], growth: flint.arb) -> flint.arb:
    """sum_k q^(k(k+3)/2) g(k), where g(k+1) <= growth g(k): below 1/2 ratios end the sum."""
    total, k = flint.arb(0), 0
    while True:
        term = q ** (k * (k + 3) // 2) * g(k)
        if 2 * q ** (k + 2) * growth < 1 and term < flint.arb(2) ** -flint.ctx.prec:
            return total + (2 * term).union(flint.arb(0))
        total, k = total + term, k + 1


@dataclass(frozen=True)
class Bumps:
    """varphi = sum_{T >= first} Psi_T of the proofs of Lemma E.3 (lin) and Lemma E.6 (log).

    Paper     lin                        log
    mu_T      e^{-alpha T}               T^-alpha                    centre of Psi_T
    sigma_T   (mu_T - mu_{T+1}) / 2      (mu_T - mu_{T+1}) / 2       half its width
    V_T / e   e^{gamma T} rho(T)         T^{1+gamma} rho(T)          its height
    Phi(t)    e^{-gamma t} varphi(mu_t)  t^{-1-gamma} varphi(mu_t)   what should be rho(t)

    The proofs have first = 1. By convexity of mu the supports are disjoint, and x > 0 is at most in
    that of T = the t nearest to the solution of mu_t = x. No support reaches x = 0, or, from
    T = 1 on, under lin x = 1 (t = 0): then Phi(0) = 0, whatever rho(0) is.
    """

    kernel: Kernel
    rpe: str
    alpha: Any
    gamma: Any
    first: int = 1

    def centre(self, T: int) -> flint.arb:
        """mu_T."""
        clock = flint.arb(T) if self.rpe == "lin" else flint.arb(T).log()
        return (-ball(self.alpha) * clock).exp()

    def scale(self, T: int) -> flint.arb:
        """What makes rho(T) the height of Psi_T."""
        gamma = ball(self.gamma)
        return (gamma * T).exp() if self.rpe == "lin" else flint.arb(T) ** (1 + gamma)

    def ball(self, t: int) -> flint.arb:
        """Phi(t), from the bumps next to t: those farther off end before."""
        near = (T for T in (t - 1, t, t + 1) if self.first <= T)
        return sum((self._bump(T, self.centre(t)) for T in near), flint.arb(0)) / self.scale(t)

    def _bump(self, T: int, x: flint.arb) -> flint.arb:
        """Psi_T(x), where it is certain on which side of the end of the support x is."""
        u = 2 * (x - self.centre(T)) / (self.centre(T) - self.centre(T + 1))
        if abs(u) >= 1:
            return flint.arb(0)
        return self.scale(T) * self.kernel.ball(T) * (1 - 1 / (1 - u * u)).exp()

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """varphi in float64, for 0 < x <= 1."""
        alpha, clock = float(ball(self.alpha)), -np.log(x) / float(ball(self.alpha))
        T = np.maximum(np.rint(clock if self.rpe == "lin" else np.exp(clock)), self.first)
        to_next = alpha if self.rpe == "lin" else alpha * np.log1p(1 / T)
        mu = np.exp(-alpha * T) if self.rpe == "lin" else T**-alpha
        u = np.clip(2 * (x / mu - 1) / -np.expm1(-to_next), -1, 1)
        heights = {t: float(self.scale(int(t)) * self.kernel.ball(int(t))) for t in np.unique(T)}
        height = np.array([heights[t] for t in T])
        return height * np.exp(1 - 1 / np.maximum(1 - u * u, 1e-3))

    def errors(self, ms: Sequence[int], window: int) -> list[float]:
        """sum_{t < window} |P_m(t) - rho(t)|, for the polynomials through m Chebyshev points."""
        times = range(0 if self.rpe == "lin" else 1, window)
        x, scale = (np.array([float(f(t)) for t in times]) for f in (self.centre, self.scale))
        rho = np.array([self.kernel(t) for t in times])
        through = (Chebyshev.interpolate(self, m - 1, domain=[0, 1]) for m in ms)
        return [float(np.abs(Q_m(x) / scale - rho).sum()) for Q_m in through]
