"""Proposition 6.1 of jiang2024: it needs rho != 0, and its proof needs rho(0) != 0.

H_t(x) = sum_s rho(s) x(t - s); the new input is y(j) = x(p(j)). Then
    H~_t(y) = sum_j M[t][j] y(j),   M[t][j] = rho(t - p(j)).
"""


def matrix(rho, p):
    times = range(len(p))
    return [[rho[t - p[j]] if t >= p[j] else 0 for j in times] for t in times]


def is_causal(M):
    return all(M[t][j] == 0 for t in range(len(M)) for j in range(t + 1, len(M)))


def is_convolution(M):
    steps = range(len(M) - 1)
    return is_causal(M) and all(M[t][j] == M[t + 1][j + 1] for t in steps for j in steps)


exchange = [1, 0, 2, 3, 4]  # the times 0 and 1 change places: p(0) = 1 > 0

zero = matrix([0, 0, 0, 0, 0], exchange)
print("rho = 0: H~ = 0 is a convolution:", is_convolution(zero))
assert is_convolution(zero)

delay = matrix([0, 1, 0, 0, 0], exchange)
print("rho = delta_1: H~ is causal:", is_causal(delay), "- a convolution:", is_convolution(delay))
assert is_causal(delay) and not is_convolution(delay)

# Why it is true for rho != 0: let s_0 be the first s with rho(s) != 0. Column j of M begins in row
# p(j) + s_0. In a convolution it begins in row j + const. So p(j) - j is constant, and p = id.
