"""4.2, "the necessary number of heads": T + 1 lin heads are enough for every T."""

from fractions import Fraction


def error(T, q):
    """l1 error of phi(t) = sum_h alpha_h q^(h t), h = 1, ..., T + 1: 1 at T, 0 at 0, ..., T - 1."""
    alpha = [Fraction(0), 1 / q**T]  # coefficients of x / q^T, to be multiplied by (x - q^i)
    for i in range(T):
        scale = q**T - q**i
        times_x, times_q = [Fraction(0)] + alpha, alpha + [Fraction(0)]
        alpha = [(u - q**i * v) / scale for u, v in zip(times_x, times_q)]
    for t in range(T + 1):
        assert sum(a * q ** (h * t) for h, a in enumerate(alpha)) == (t == T)
    # All factors x - q^i are negative beyond T, so phi keeps its sign there: sum it up.
    return abs(sum(a * q ** (h * (T + 1)) / (1 - q**h) for h, a in enumerate(alpha) if h))


q = Fraction(1, 4)
for T in (1, 2, 5, 12):
    product = Fraction(1)
    for h in range(1, T + 2):
        product /= 1 - q**h
    assert error(T, q) == product - 1
    print("T =", T, "heads:", T + 1, "error:", float(product - 1))
# By Euler, (1 - q)(1 - q^2)... > 1 - q - q^2 = 11/16, so the error is below 16/11 - 1 = 5/11
# for every T. From T = 1 to T = 1001 the number of heads grows by 501; e^{0.01 T} by e^10 > 2^10.
assert 1 - q - q**2 == Fraction(11, 16) and Fraction(1002, 2) < 2**10
print("q = 1/100, T = 5, heads: 6, error:", float(error(5, Fraction(1, 100))))
