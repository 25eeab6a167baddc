"""D.1, last line, for errors of outputs: no RNN comes as near as d C_RNN / m to a rough kernel.

rho(s) = eps(s) e^(-s/gamma), d = 1, with the signs eps of Rudin and Shapiro: C_1 = 1 + gamma and
C_2 = 1. G[rho] = [rho(i + j)] is its Hankel matrix. An RNN with m units has a Hankel matrix of rank
at most m, and the norm of a Hankel matrix is at most the sum of |entries of the kernel|, so the
errors of the kernel add up to at least sigma_(m+1) of G[rho]. For inputs in [0, 1] the largest error
of an output is at least half of that.
"""

from fractions import Fraction

# The signs are flat: P_(k+1) = P_k + z^(2^k) Q_k and Q_(k+1) = P_k - z^(2^k) Q_k, so that
# |P_k|^2 + |Q_k|^2 = 2^(k+1) on the unit circle. Checked below as an identity of integers: all
# autocorrelations of P and Q cancel, except for the one without a lag.
P, Q = [1], [1]
for k in range(1, 9):
    P, Q = P + Q, P + [-q for q in Q]
    assert P == [(-1) ** bin(s & s >> 1).count("1") for s in range(len(P))]
    for lag in range(1, len(P)):
        correlation = sum(a * b for a, b in zip(P, P[lag:]))
        correlation += sum(a * b for a, b in zip(Q, Q[lag:]))
        assert correlation == 0

# S = [eps(i + j)] for i, j < n, n = 2^16. Its squared entries add up to n^2. It has 2n coefficients
# of P_17, so that its norm is at most sup|P_17| <= (2^18)^(1/2), and the square of it at most 4n.
n = 2**16
largest_square = 4 * n
m, gamma = n // 16, 2 * n
# The m largest singular values have at most m 4n of n^2, and the others share the rest.
sigma_square = Fraction(n**2 - m * largest_square, n - m)
# G[rho] = D S D with D = diag(e^(-i/gamma)), i < n, and e^(-2 (n-1)/gamma) > 1/e > 4/11.
floor = Fraction(4, 11) ** 2 * sigma_square  # of the square of the summed error
largest_output_error = floor / 4  # its square
rate = Fraction(1 + gamma, m)
print(f"largest error of an output: above {float(largest_output_error) ** 0.5:.2f}")
print(f"d C_RNN / m = {float(rate):.4f}")
assert largest_output_error > rate**2
