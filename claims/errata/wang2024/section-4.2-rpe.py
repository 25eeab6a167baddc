"""4.2, necessary number of heads, false."""

from fractions import Fraction as F


def error(T, q=F(1, 4)):  # heads u_h = q^h, h = 1..T+1, zeros at 0..T-1, value 1 at T
    p = [
        F(0),
        F(1),
    ]  # coefficients of x prod_{i<T} (x - q^i)/(q^T - q^i) at x = q^t, divided by q^T
    for i in range(T):
        p = [(a - q**i * b) / (q**T - q**i) for a, b in zip([F(0)] + p, p + [F(0)])]
    p = [v / q**T for v in p]
    assert all(sum(c * q ** (h * t) for h, c in enumerate(p)) == (t == T) for t in range(T + 1))
    # beyond T the sign is (-1)^T, so the l1 error is the sum of geometric series
    return abs(sum(c * q ** (h * (T + 1)) / (1 - q**h) for h, c in enumerate(p) if h))


for T in (1, 2, 5, 12):
    prod = F(1)
    for h in range(1, T + 2):
        prod /= 1 - F(1, 4) ** h
    assert error(T) == prod - 1 < F(5, 11)
    print("T", T, "heads", T + 1, "error", float(prod - 1))
# prod (1 - q^h) > 1 - q - q^2 = 11/16 for all T (pentagonal numbers): error < 5/11. So T + 1 heads do, for every T;
# e^(0.01 T) grows by e^10 > 2^10 from T = 1 to 1001, T + 1 by 501
assert F(1002, 2) < 2**10
print("q = 1/100:", float(error(5, F(1, 100))))
