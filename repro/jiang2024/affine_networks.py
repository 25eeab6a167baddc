"""(17) as printed lacks a factor K_F: its right side is small where no network has a small error.

The target. tau = 2, I_1 = [2, 3], I_2 = [4, 5], rho = 0, f = eps g with g = 0 on I_1 and
(1 - cos 2 pi N y)/2 on I_2, F(z) = z / eps: so H_1 = g(x_2) / 2, whatever eps is.

The networks. Those of budget w are continuous and linear on each of w cells of a piece, as ReLU
layers can be: (13) holds with beta = 2 and C_FF(f) = sup |f''| / 8 (`affine_complexity`). With
m_FF = m_h = 1, (17) has the right side
    4 C_0 (0 + eps 2 pi^2 N^2 / 8),       C_0 <= 2,
which is as small as one likes: K_F |f| = 1, F is linear, and waves at most 1 are basis functions of
rho = 0. But for fixed x_1 and y = x_2 the logits of every such network are affine in y, and
    H^_1 = (A + B y + D e^{-d(y)}) / (1 + e^{-d(y)}),     d affine     (`affine_network`).
What (51) lacks is the factor K_F = 1/eps.
"""

from typing import Any

import flint
import numpy as np

from repro.numerics.exact import rational


def affine_network(y: np.ndarray, A: Any, B: Any, C: Any, a: Any, b: Any) -> np.ndarray:
    """H^_1 as a function of y: A + (B + C y) l(a + b y), l logistic, in the arithmetic of y."""
    return A + (B + C * y) / (1 + np.exp(-(a + b * y)))


def affine_complexity(N: int, eps: Any) -> flint.arb:
    """C_FF(f) = sup |f''| / 8 of f = eps g."""
    return rational(eps) * 2 * (flint.arb.pi() * N) ** 2 / 8


def affine_floor(N: int) -> flint.arb:
    """No affine network has a smaller E |H_1 - H^_1|, whatever eps is.

    Proof. H^_1 - z is a convex or concave function over a positive one, for every number z. So each
    value is taken at most twice, unless H^_1 is constant, and g^ = H^_1 - 1/4 has at most one
    turning point. h = H_1 - 1/4 = -cos(2 pi N y)/4 has 2N - 1 full half-waves +, -, ..., +, each of
    the area a = 1/(4 pi N), between two quarter-waves -.
       (i) Let P and Q be sets of one size, P to the left of Q, h > 0 on P and h < 0 on Q. If g^
    does not fall there, int |h - g^| over both is at least int |h|, since int_P g^ <= int_Q g^;
    likewise for - before + where g^ does not rise.
       Let g^ rise and then fall. A turning point in a + leaves pairs (+-) to its left and (-+) to
    its right, and wastes that half-wave. A turning point in a - cuts it into sizes p and q; they
    pair with the highest parts, of sizes p and q, of the + on either side, whose areas add up to a
    at least, since the area of the highest part is concave in its size. So 2N - 2 half-waves count.
       Let g^ fall and then rise. Pairs (-+) to the left and (+-) to the right begin with the
    quarter-waves, each of which pairs with the highest half of its neighbour: together no less than
    a. The rest is as before, also with the turning point in a quarter-wave, or in the half-wave
    next to it: there its larger part and what it pairs with have a. Hence
        E |H_1 - H^_1| >= (2N - 2) a = (N - 1) / (2 pi N).                                   QED
    The constant 1/4 has 1/(2 pi). A function with one turning point attains the floor: h on the
    quarter-waves and on one +, and 0 in between.
    """
    return (N - 1) / (2 * flint.arb.pi() * N)
