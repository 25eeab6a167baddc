"""(92)-(98), false."""

from fractions import Fraction as F


def both(rho, theta, x, t):
    l, X = len(theta), lambda s: x[s] if 0 <= s < len(x) else 0
    R = lambda s: rho[s] if 0 <= s < len(rho) else 0
    left = sum(R(s) * sum(theta[k] * X(t - s + k) for k in range(l)) for s in range(t + 1))
    right = sum(sum(theta[k] * R(s + k) for k in range(l)) * X(t - s) for s in range(t + 1))
    causal = sum(R(s) * sum(theta[k] * X(t - s - k) for k in range(l)) for s in range(t + 1))
    kernel = sum(sum(theta[k] * R(s - k) for k in range(l)) * X(t - s) for s in range(t + 1))
    return left, right, causal, kernel


print(both([1, 0], [0, 1], [0, 1], 0)[:2], "the future x(1) is dropped")
print(both([0, 1], [0, 1], [1, 0], 0)[:2], "a term beyond t is added")
assert both([1, 0], [0, 1], [0, 1], 0)[:2] == (1, 0) and both([0, 1], [0, 1], [1, 0], 0)[:2] == (
    0,
    1,
)
for t in range(4):
    a = both([3, -1, 2, 5], [2, 7, -4], [1, -2, 3, 6], t)
    assert a[2] == a[3]
