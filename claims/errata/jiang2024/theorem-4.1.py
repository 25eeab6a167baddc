"""Theorem 4.1 of jiang2024: (17) fails, since the error of f^ is not multiplied by K_F.

Two tokens: x_1 in I_1 and x_2 in I_2, rooms of length 1; y is the place of x_2 in its room.
No coupling: rho = 0. F(z) = z / eps and f = eps g with g = 0 on I_1 and
g = (1 - cos 2 pi N y) / 2 on I_2. Then H_1 = H_2 = g(x_2) / 2, whatever eps is.
"""

from fractions import Fraction

N = 8
PI_ABOVE = Fraction(22, 7)


def right_side(eps):
    """An upper bound of the right side of (17) for m_h = m_FF = 1.

    (13) is interpolation by straight lines, one on each room: beta = 2, C_FF(f) = sup |f''| / 8.
    """
    tau = 2
    C_0 = 2  # K_F sup|f| = 1; waves of height 1 are basis functions of rho = 0 on I, of length 2
    C_1 = 0  # all singular values are 0
    C_2 = eps * (2 * PI_ABOVE * N) ** 2 / 2 / 8  # of f; F is linear, phi_1 = psi_1 is constant
    return tau**2 * C_0 * (C_1 + C_2)


def least_error():
    """A lower bound of E |H_1 - H^_1| for every network with m_h = m_FF = 1.

    For a fixed x_1, queries, keys and values are affine in y. So with the logistic function l
        H^_1 = A + (B + C y) l(a + b y),
    which takes each value at most twice: as a function of y it turns at most once. The target
    H_1 - 1/4 = -cos(2 pi N y) / 4 has 2N - 1 half-waves of area 1 / (4 pi N) and a quarter-wave at
    either end. A function that turns once gains nothing on two neighbouring half-waves between
    which it is monotone in the wrong direction, or on the pair mirrored; 2N - 2 of them are left.
    """
    return (2 * N - 2) / (4 * PI_ABOVE * N)


for k in range(5, 12):
    eps = Fraction(1, 10**k)
    print(f"eps = 1e-{k}: right side of (17) < {float(right_side(eps)):.2e}", end=", ")
    print(f"error of every network > {float(least_error()):.4f}")
    assert right_side(eps) < Fraction(13, 1000) < Fraction(139, 1000) < least_error()
