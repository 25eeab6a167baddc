"""(13) of jiang2024: an L2 bound for F - F^ says nothing about the error of an output.

rho = 0 and f = 1/2, so that every average is 1/2. F = 0. F^(z) = max(0, 1 - n |z - 1/2|), a hat of
height 1 and half-width 1/n: every output is off by F^(1/2) = 1.
"""

from fractions import Fraction


def hat(z, n):
    return max(Fraction(0), 1 - n * abs(z - Fraction(1, 2)))


for n in (3, 30, 300):
    square_of_L2_norm = 2 * Fraction(1, n) * Fraction(1, 3)  # 2/n times the integral of y^2
    error = hat(Fraction(1, 2), n)
    print(f"n = {n}: error of every output {error}, |F - F^|^2 in L2 = {square_of_L2_norm}")
    assert error**2 > square_of_L2_norm
