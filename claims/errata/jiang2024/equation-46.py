"""(46)-(47), false."""

from fractions import Fraction as F

# delta = 2 sin(4 pi u) sin(4 pi v) (sigma_2 = 1), tau = 2, x_1, x_2 uniform on [0,1]. Means by 8 equispaced nodes:
# exact for trigonometric polynomials of degree < 16/2 in each factor; sin^2 at k/16 takes the values 0, 1/2, 1.
sin2 = [[F(0), F(1, 2), F(1), F(1, 2)][k % 4] for k in range(16)]  # sin^2(4 pi k/16)
m2 = sum(sin2) / 16
m4 = sum(v * v for v in sin2) / 16
assert (m2, m4) == (F(1, 2), F(3, 8))
apart, equal = 4 * m2 * m2, 4 * m4
left, right = 2 * apart + 2 * equal, 4 * apart
print("left", left, "printed", right)
assert (left, right) == (5, 4)
# encoded: one hat of half-width 1/n on I_1, |phi|_2 = 1: the pair t = s = 1 alone costs 9n/10, printed tau^2 = 4.
n = 100
h2 = F(3 * n, 2)
cost = h2**2 * F(2, 5 * n)
assert cost == F(9 * n, 10) and cost > 4
