"""D.1, false."""

from fractions import Fraction as F

# Rudin-Shapiro signs e_s; P_k, Q_k = P_(k-1) +- z^(2^(k-1)) Q_(k-1): |P_k|^2 + |Q_k|^2 = 2^(k+1) on |z| = 1, so sup|P_k|^2 <= 2^(k+1).
P, Q = [1], [1]
for k in range(1, 9):
    P, Q = P + Q, P + [-q for q in Q]
    assert P == [(-1) ** bin(s & s >> 1).count("1") for s in range(len(P))]
    for lag in range(1, len(P)):
        assert sum(a * b for a, b in zip(P, P[lag:])) + sum(a * b for a, b in zip(Q, Q[lag:])) == 0
# n = 2^16, S = [e_(i+j)]_{i,j<n}: |S|_F^2 = n^2; its norm <= sup|P_17| (2n coefficients) <= 2 sqrt n (norm of a Hankel matrix <= sup of its symbol).
# rho(s) = e_s e^(-s/gamma), gamma = 2n, m = n/16: sigma_(m+1)(Hankel(rho)) >= e^(-2(n-1)/gamma) sigma_(m+1)(S) > sigma_(m+1)(S)/e.
n = 2**16
m, gamma = n // 16, 2 * n
square = F(n**2 - m * 4 * n, n - m)  # sigma_(m+1)(S)^2 >= (|S|_F^2 - m sigma_1^2)/(n - m)
floor2 = (
    square * F(4, 11) ** 2 / 4
)  # e < 11/4; half of the l1 error is the least largest output error on [0,1]
rate = F(1 + gamma, m)  # C_1 = 1 + gamma, C_2 = 1, d = 1
assert floor2 > rate**2
print("largest output error >=", float(floor2) ** 0.5, "> d C_RNN/m =", float(rate))
