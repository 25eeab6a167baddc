"""(46)-(47), false: the terms s = t see the diagonal of delta = rho - rho~."""

from fractions import Fraction

# 1. Two independent tokens, uniform on [0, 1], delta(u, v) = 2 sin(4 pi u) sin(4 pi v).
#    sin^2(4 pi x) at x = k/16. The mean over 16 equidistant points is the integral for
#    trigonometric polynomials of degree below 16; those here have degree 4 and 8.
sin2 = [[Fraction(0), Fraction(1, 2), Fraction(1), Fraction(1, 2)][k % 4] for k in range(16)]
mean_sin2 = sum(sin2) / 16
mean_sin4 = sum(value**2 for value in sin2) / 16
assert (mean_sin2, mean_sin4) == (Fraction(1, 2), Fraction(3, 8))

norm = 4 * mean_sin2 * mean_sin2  # |delta|_2^2, and the cost of a pair s != t
diagonal = 4 * mean_sin4  # int delta(u, u)^2 du, the cost of a pair s = t
tau = 2
left = tau * (tau - 1) * norm + tau * diagonal
right = tau**2 * norm
print(f"independent tokens: left side of (46) {left}, right side {right}")
assert (left, right) == (5, 4)

# 2. Encoded tokens, delta = phi(u) phi(v), phi = h max(0, 1 - n |u - c|) in the middle of room 1.
#    int phi^2 = h^2 2/(3n) is to be 1, and int phi^4 = h^4 2/(5n).
n = 100
h_squared = Fraction(3 * n, 2)
assert h_squared * Fraction(2, 3 * n) == 1
one_pair = h_squared**2 * Fraction(2, 5 * n)
print(f"encoded tokens: the pair t = s = 1 alone costs {one_pair}, tau^2 times the tail is 4")
assert one_pair == Fraction(9 * n, 10) > 4
