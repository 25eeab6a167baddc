"""Proposition B.1: what a target of form (8) says about its F, f and rho, and what it does not.

(1) On a constant sequence all averages are f(x): H_t(x, ..., x) = F(f(x)), whatever rho and sigma.
(2) Under the hard maximum H_t(x) = F(f(c)) with c the one token of largest rho(x(t), .). If H_1 =
    H_2, then by (1) one injection G = F_1 o f_1 = F_2 o f_2 has G(c_1) = G(c_2): so c_1 = c_2.
(3) Under the softmax nothing of the kind. For every continuous g >= 1 let
        rho'(u, v) = rho(u, v) + log g(v),    f' = (f/g, 1/g),    F'(z, z') = F(z / z').
    The normalisers cancel in the quotient of the two averages, g cancels in each of them, and
        sum_s e^rho g f/g / sum_s e^rho g 1/g = sum_s e^rho f / sum_s e^rho:
    H' = H, and F' o f' = F o f, for all sequences (`gauged`). f' takes its values in [0, 1]^(n+1),
    and the last average is at least 1 / max g: F' is continuous there. But rho' may be largest at
    another token.

Repair of (3). Let H_1 = H_2 with the same F and f on all sequences of length tau >= 2, f injective,
F injective on the convex hull of f(I). Then rho_1 - rho_2 depends on u alone, so that both are
largest at the same tokens. Proof. The first output of (u, v, u, ..., u), v != u, is F(h) with
    h = (1 - w) f(u) + w f(v),    w = e^D / (tau - 1 + e^D),    D = rho(u, v) - rho(u, u).
F is injective, so h is known; f(u) != f(v), so w is known; so D = log(w (tau - 1) / (1 - w)) is
(`recovered`): rho_1(u, v) - rho_2(u, v) = rho_1(u, u) - rho_2(u, u).                          QED
"""

from typing import Any

import torch

from repro.jiang2024.model import Function, Target
from repro.numerics.arrays import Array, each, side_by_side
from repro.numerics.logarithms import Log


def gauged(target: Target, g: Function) -> Target:
    """The same map with rho + log g(v); g: (..., tau, d) -> (..., tau), at least 1."""

    def f(x: Array) -> Array:
        shares = 1 / g(x)[..., None]
        return side_by_side(target.f(x) * shares, shares)

    def rho(u: Array, v: Array) -> Array:
        values = g(v)[..., None, :]
        logs = values.log() if isinstance(values, torch.Tensor) else each(Log, values)
        return target.rho(u, v) + logs

    return Target(lambda z: target.F(z[..., :-1] / z[..., -1:]), f, rho, target.sigma)


def recovered(average: Any, f_u: Any, f_v: Any, tau: int) -> Any:
    """e^(rho(u, v) - rho(u, u)) from one coordinate of the first average of (u, v, u, ..., u)."""
    w = (average - f_u) / (f_v - f_u)
    return w * (tau - 1) / (1 - w)
