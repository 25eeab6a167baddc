"""Heads that follow a pointer B in 1, ..., T: Lemmas E.2 and E.5, in three arithmetics.

Paper                             Here               Meaning
alpha_h, beta_h                   alphas, exponents  psi(s; B) = sum_h alpha_h e^{-beta_h (s - B)}
                                                     (lin) or sum_h alpha_h (s / B)^{-beta_h} (log)
sup_B |I{s = B} - psi(.; B)|_1    error              at most this, for every B

Three ways to choose the coefficients.
interpolated    exact rationals. For every level > 0 there are coefficients with that error, from
                T + 1 exponentials on (exponentials.py), and from one power for each fraction
                t/B <= 1, B <= T, on (powers.py). The error is known exactly, or in a ball.
optimal         the best coefficients for given exponents, in balls, with a proof that none are
                better (numerics/l1.py).
fitted          float64, least error + eps A on a window, A being the weight of the heads.

In float64, a layer without normalisation forms e^{beta B - beta s} from two rounded numbers, of
the size of beta_max T where it matters, and its terms add up to A: `Moving.rounding` bounds what is
lost.
"""

import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from repro.numerics import l1
from repro.numerics.exact import rational
from repro.numerics.logarithms import Log, ball
from repro.wang2024 import exponentials, powers, printed_bounds
from repro.wang2024.heads import EPS, columns, family, lightest
from repro.wang2024.model import SMALLEST

WINDOW = 60  # times at which an optimum is sought; beyond them it is bounded


@dataclass(frozen=True)
class Moving:
    """One set of heads for every B in 1, ..., T."""

    rpe: str
    T: int
    exponents: tuple[Any, ...]
    alphas: tuple[Any, ...]
    error: Any  # fmpq, arb or float

    @property
    def H(self) -> int:
        return len(self.alphas)

    def kernel(self, B: float, length: int) -> np.ndarray:
        """psi(s; B) in float64, s = 0, ..., length - 1; 0 at s = 0 for log."""
        beta = np.array([float(ball(b)) for b in self.exponents])
        alpha = np.array([float(ball(a)) for a in self.alphas])
        s = np.arange(SMALLEST[self.rpe], length)[:, None]
        rows = np.exp(-beta * (s - B)) if self.rpe == "lin" else (s / B) ** -beta
        return np.concatenate([np.zeros(SMALLEST[self.rpe]), rows @ alpha])

    @property
    def weight(self) -> float:
        """A: the sum over the heads of their largest total weight, that at B = T."""

        def total(b: flint.arb) -> flint.arb:
            """The sum over s of e^{-beta (s - T)}, or of (s / T)^-beta."""
            if self.rpe == "lin":
                return (b * self.T).exp() / (1 - (-b).exp())
            return flint.arb(self.T) ** b * b.zeta()

        with flint.ctx.workprec(256):
            pairs = zip(map(ball, self.alphas), map(ball, self.exponents), strict=True)
            return float(sum((abs(a) * total(b) for a, b in pairs), flint.arb(0)))

    def rounding(self, n: int) -> float:
        """A bound of what rounding adds to sum_s psi x_{t-s} for |x| <= 1 and n tokens, and to
        `error` where that is a float.

        In units of u, the logit beta (B - s) is off by at most 3 beta (B + s) for lin, as beta,
        both products and the sum are rounded; by 9 beta log B + 5 beta log s for log, where W_Q,
        W_K and both stored logarithms are rounded too. Over the weights e^{-beta s} the mean of
        beta s is at most 1, over s^-beta that of beta log s at most 2.3 if beta >= 3/2. exp, alpha
        and the product with a token add 6, the sums n + H; second order is below 1 % of all.
        `error` rounds e^{beta (B - T)} and alpha, 3 beta T for lin and 9 for log, and sums of H
        and n terms.
        """
        beta = max(float(ball(b)) for b in self.exponents)
        if self.rpe == "log" and min(float(ball(b)) for b in self.exponents) < 1.5:
            raise ValueError("derived for log exponents from 3/2 on")
        logits = 6 * beta * self.T if self.rpe == "lin" else 9 * beta * math.log(self.T)
        return 1.01 * EPS * self.weight * (logits + n + 2 * self.H + 40) + n * EPS

    def proved_error(self) -> float:
        """An upper bound of `error` for float64 heads: over all distances, and for every B."""

        def error(B: int) -> flint.arb:
            lin, beta = self.rpe == "lin", self.exponents
            heads = l1.Exponentials(beta, shift=B) if lin else l1.Powers(beta, scale=B)
            return l1.l1_error(l1.indicator(B), heads, self.alphas, window=120)

        with flint.ctx.workprec(512):
            errors = [error(B) for B in range(1, self.T + 1)]
        return max(float(error.upper()) for error in errors)


def heads_needed(rpe: str, T: int) -> int:
    """With so many heads `interpolated` reaches every level."""
    if rpe == "lin":
        return T + 1
    return 1 + len(powers.farey(T))


def heads_of_proof(rpe: str, T: int, level: Any = 1) -> int:
    """From so many heads on the bound of Lemma E.2 (lin) or E.5 (log), corrected, is below it."""
    delta = {"lin": printed_bounds.exponential_delta, "log": printed_bounds.power_delta}[rpe]
    return delta(T).heads(level)


def interpolated(rpe: str, T: int, level: Any, H: int | None = None) -> Moving:
    """Exact coefficients with an error of at most `level`; for lin also with H > T + 1 heads."""
    if rpe == "lin":
        phi = exponentials.accurate(T, H or heads_needed(rpe, T), level)
        return Moving(rpe, T, phi.exponents, phi.moved(), phi.error)
    for step in itertools.count(2):
        phi = powers.adaptive(T, step=step)
        error = max((phi.error(B) for B in range(1, T + 1)), key=lambda e: float(e.upper()))
        if error <= ball(rational(level)):
            exponents = tuple(rational(b) for b in phi.exponents)
            return Moving(rpe, T, exponents, phi.coefficients, error)
    raise AssertionError  # the error tends to 0 as the step grows


def silent(rpe: str, T: int) -> Moving:
    """One head of weight 0: its block stays 0."""
    beta = Log(2) if rpe == "lin" else rational(2)
    return Moving(rpe, T, (beta,), (rational(0),), rational(1))


def usual_exponents(rpe: str, H: int) -> tuple[Fraction, ...]:
    """3/2, 3, 9/2, ... for lin and 2, 4, 6, ... for log.

    Printed are 0.01, 0.02, ... (lin) and 1.01, 1.02, ... (log), which need huge H: see Lemma E.1.
    """
    step = Fraction(3, 2) if rpe == "lin" else Fraction(2)
    return tuple(step * (k + 1) for k in range(H))


@functools.cache
def _best(rpe: str, T: int, H: int) -> l1.Best:
    exponents = usual_exponents(rpe, H)
    if rpe == "lin":  # the worst B is T
        return l1.best(l1.indicator(T), l1.Exponentials(exponents), window=WINDOW)
    cases = [(l1.indicator(B), l1.Powers(exponents, scale=B)) for B in range(1, T + 1)]
    return l1.best_for_all(cases, window=WINDOW)


@functools.cache
def optimal(rpe: str, T: int, H: int) -> Moving:
    """The best coefficients for the usual exponents, for all B <= T at once; `error` is proved."""
    best = _best(rpe, T, H)
    alphas, exponents = best.coefficients, tuple(best.family.exponents)
    if rpe == "lin":  # the coefficients of Lemma E.1, moved
        with flint.ctx.workprec(256):
            pairs = zip(alphas, exponents, strict=True)
            alphas = tuple(a * (-ball(b) * T).exp() for a, b in pairs)
    return Moving(rpe, T, exponents, alphas, best.upper)


def least_error(rpe: str, T: int, H: int) -> float:
    """No coefficients for the usual exponents have a smaller error for all B <= T; proved."""
    return _best(rpe, T, H).floor


@functools.cache
def fitted(rpe: str, T: int, H: int, length: int = WINDOW) -> Moving:
    """Float64 coefficients with the usual exponents, for windows of at most `length` tokens.

    The unknowns are v_h = alpha_h times the total weight of head h at B = T, so that the columns
    are rows of softmax there. For lin the worst B is T; for log all B <= T are looked at.
    """
    exponents = usual_exponents(rpe, H)
    beta, rows = np.array(exponents, dtype=float), family(rpe, exponents)
    table, totals = columns(rpe, beta.tolist(), length), rows.values(range(1, length)).sum(0)
    moves = {T: np.exp(-beta * T)} if rpe == "lin" else {B: B**-beta for B in range(1, T + 1)}
    problems = [(table * (moves[T] / move), np.eye(length)[B]) for B, move in moves.items()]
    v = lightest(problems)
    alphas = v.weights / (totals + (rpe == "lin")) * moves[T]
    return Moving(rpe, T, tuple(map(rational, exponents)), tuple(alphas.tolist()), v.error)
