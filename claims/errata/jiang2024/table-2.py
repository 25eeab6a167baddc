"""Table 2 of jiang2024: no linear RNN has the printed error, 3.57e-2, after the exchange.

Appendix C: H_t(x) = sum_s e^-s x(t - s), 32 independent inputs uniform on [0, 1], the first ten
exchanged with the last ten. The RNN sees y(j) = x(p(j)) and has to give
    H~_t(y) = sum_j M[t][j] y(j),   M[t][j] = e^-(t - p(j))  for t >= p(j), else 0.
"""

from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 40
TAU, TEN = 32, 10
times = range(TAU)
kernel = [Fraction(Decimal(-s).exp()) for s in times]  # to 40 digits
p = [*range(TAU - TEN, TAU), *range(TEN, TAU - TEN), *range(TEN)]
M = [[kernel[t - p[j]] if t >= p[j] else Fraction(0) for j in times] for t in times]

# A linear RNN computes sum_j T[t][j] y(j) + b_t, where T[t][j] depends on t - j only and is 0 for
# j > t. With the best b_t its mean square error is the sum of (M - T)^2 over all entries, times the
# variance 1/12 of an input, over 32 outputs. The best T has the mean of M on each subdiagonal.
future = sum(M[t][j] ** 2 for t in times for j in times if j > t)
spread = Fraction(0)
for lag in times:
    diagonal = [M[t][t - lag] for t in range(lag, TAU)]
    mean = sum(diagonal) / len(diagonal)
    spread += sum((entry - mean) ** 2 for entry in diagonal)
least = (future + spread) / (12 * TAU)

print("least mean square error of a linear RNN, whatever its biases:", float(least))
print("printed: 0.0357")
assert least > Fraction(526, 10_000) > Fraction(3575, 100_000)
