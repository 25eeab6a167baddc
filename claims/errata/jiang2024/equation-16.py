"""(16), proof gap."""

from fractions import Fraction as F

# sqrt is continuous on [0,1] and not Lipschitz: slope 2^k between 0 and 4^-k; a component g_q = sqrt has K_F = infinity in (15)
for k in (5, 20):
    assert F(1, 2**k) ** 2 == F(1, 4**k)
    print("slope", F(1, 2**k) / F(1, 4**k))
# density all the same: p_(k+1) = p_k + (x - p_k^2)/2 is within 2/k of sqrt and has Lipschitz constant k/2
x = F(1, 16)
p = F(0)
for k in range(1, 9):
    p += (x - p * p) / 2
    assert 0 <= F(1, 4) - p <= F(2, k)
