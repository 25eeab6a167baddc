"""Theorem 4.1, (17), false."""

from fractions import Fraction as F


# tau = 2, m_h = m_FF = 1, rho = 0, f = eps g, g = 0 on I_1, (1 - cos 2 pi N y)/2 on I_2, F(z) = z/eps: H_1 = g(x_2)/2.
# Every network of one affine cell: H^_1 = A + (B + C y) l(a + b y), at most one turning point, so E|H_1 - H^_1| >= (N-1)/(2 pi N).
def bounds(N, eps):
    lo, hi = F(333, 106), F(22, 7)  # 333/106 < pi < 22/7
    left = F(N - 1) / (2 * hi * N)  # floor, from below
    right = 4 * 2 * eps * 2 * (hi * N) ** 2 / 8  # tau^2 C_0 C_2, from above; C_0 <= 2, C_1 = 0
    return left, right


left, right = bounds(8, F(1, 10**5))
assert left > F(139, 1000) and right < F(13, 1000)
print(float(left), ">", float(right))
for k in range(5, 12):
    assert bounds(8, F(1, 10**k))[0] > bounds(8, F(1, 10**k))[1]
# every budget (systems that end with the rank): P = 2(w+1)(2w+1), N = 30 P, E >= (2N - 3P)/(4 pi N), right side -> 0 with eps
for w in (1, 4, 64, 1024):
    P = 2 * (w + 1) * (2 * w + 1)
    N = 30 * P
    assert F(2 * N - 3 * P) / (4 * F(22, 7) * N) > F(15, 100)
print("floor > 0.15 at every budget; right side <= 8 sqrt2 eps (pi N)^2/4 m_h^3/w^2 -> 0")
