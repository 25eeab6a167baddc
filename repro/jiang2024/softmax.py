"""How far a softmax average moves when its logits do; what (40)-(43) are in need of.

Paper           Here         Meaning
rho             logits       (..., tau), those of one query
rho^ - rho      delta        (..., tau), added to them
f(x(s))         values       (..., tau, n)
                omega        the oscillation of delta, max - min
                D            the diameter of values, the largest distance of two of them

With p = sigma[rho] and q = sigma[rho + delta], whatever tau, rho and the norm on R^n,
    |sum_s (q_s - p_s) f_s|  <=  D tanh(omega / 4)  <=  D omega / 4  <=  D |delta|_2 / (2 sqrt 2).

Proof. Let S be the set where q > p, and P = p(S), Q = q(S). Since q_s = p_s e^{delta_s} / Z,
    Q / P <= max e^delta / Z   and   (1 - Q) / (1 - P) >= min e^delta / Z,
so that the odds of Q exceed those of P by a factor of at most e^omega: with the logistic function l
and P = l(a), Q <= l(a + omega). The difference l(a + omega) - l(a) is largest at a = -omega / 2,
where it is tanh(omega / 4). So Q - P, which is half of sum_s |q_s - p_s|, is at most that. Finally
sum_s (q_s - p_s) f_s is Q - P times the difference of two averages of f, one over S and one over
its complement, and two averages are no further apart than D. The other two steps are tanh z <= z
and (a - b)^2 <= 2 (a^2 + b^2).                                                                 QED

Two tokens with values 0 and 1, logits +-omega/4 and delta -+omega/2 give the first inequality with
equality (`extremal`); omega -> 0 gives the others.

(40), repaired. omega is at most sum_s |delta_s| and at most 2 max |delta_s|, so that
    sum_s |q_s - p_s| = 2 (Q - P) <= omega / 2 <= min(1/2 sum_s |delta_s|, max_s |delta_s|),
    |sum_s p_s f_s - q_s f^_s| <= sup|f| 1/2 sum_s |delta_s| + max_s |f_s - f^_s|,
the second by Lemma A.4 and sum q_s = 1 (`bounds`).
"""

import math
from typing import Any

import numpy as np
from torch import Tensor

from repro.jiang2024.model import softmax
from repro.numerics.arrays import Array, inner


def moved(logits: Array, delta: Array, values: Array) -> Array:
    """sum_s (sigma[rho + delta](s) - sigma[rho](s)) f_s, (..., n), in every arithmetic."""
    change = softmax(logits + delta) - softmax(logits)
    return inner(change[..., None, :], values.mT)[..., 0, :]


def bounds(values: Tensor, delta: Tensor) -> dict[str, Tensor]:
    """Of |moved|; the last is (42) without the error of f, and with sup |f| / 2 before the sum."""
    D = (values[..., :, None, :] - values[..., None, :, :]).norm(dim=-1).amax((-1, -2))
    omega = delta.amax(-1) - delta.amin(-1)
    return {
        "D tanh(ω/4)": D * (omega / 4).tanh(),
        "D ω/4": D * omega / 4,
        "D |δ|₂/√8": D * delta.norm(dim=-1) / math.sqrt(8),
        "sup|f| |δ|₁/2": values.norm(dim=-1).amax(-1) * delta.abs().sum(-1) / 2,
    }


def extremal(quarter: Any) -> tuple[Array, Array, Array]:
    """Logits, delta and values, as objects, that attain D tanh(ω/4); quarter is omega/4."""
    pair = np.array([quarter, -quarter], dtype=object)
    return pair, -2 * pair, np.array([[0], [1]], dtype=object)
