"""Table 2, false."""

from decimal import Decimal as D, getcontext
from fractions import Fraction as F

getcontext().prec = 40
tau, k = 32, 10
rho = [F(D(-s).exp()) for s in range(tau)]  # 40 digits; the floor moves by less than 1e-30
p = list(range(tau - k, tau)) + list(range(k, tau - k)) + list(range(k))
M = [[rho[t - p[j]] if t >= p[j] else F(0) for j in range(tau)] for t in range(tau)]
future = sum(M[t][j] ** 2 for t in range(tau) for j in range(t + 1, tau))
spread = F(0)
for lag in range(tau):  # a convolution has one value on each subdiagonal
    d = [M[t][t - lag] for t in range(lag, tau)]
    mean = sum(d) / len(d)
    spread += sum((v - mean) ** 2 for v in d)
floor = (future + spread) / (12 * tau)
print("least mean square error of any linear RNN, any offsets:", float(floor), "printed 0.0357")
assert floor > F(526, 10000) > F(3575, 100000)
