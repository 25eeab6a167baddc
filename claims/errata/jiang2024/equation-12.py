"""(12), false."""

from fractions import Fraction as F

# H_t = the t-th smallest of tau places. f(x) = e_s (a + b z) in room s, weights w[t][s] / row sum, F reads t and z back.
# (25): w = 1 + delta_ts, rho = log 2 on the diagonal: tau singular values log 2 (rooms of volume 1), so C_1 = tau^alpha log 2.
# rank one: w = g^(t s), rho = t s log g: one singular value log(g) sum t^2 < eps sum t^2 = C_1; eps > 0 is arbitrary.
tau, eps = 4, F(1, 10**9)


def check(w, a, b):
    for z in [(F(0), F(1), F(1, 3), F(1, 2)), (F(1), F(1), F(0), F(2, 7))]:
        for t in range(tau):
            u = [w[t][s] / sum(w[t]) * (a + b * z[s]) for s in range(tau)]
            found = []  # decode u with every r: the places lie in [0, 1] for r = t alone
            for r in range(tau):
                y = [(u[s] * sum(w[r]) / w[r][s] - a) / b for s in range(tau)]
                if all(0 <= v <= 1 for v in y):
                    found.append((r, sorted(y)[r]))
            assert found == [(t, sorted(z)[t])]


check([[F(1 + (t == s)) for s in range(tau)] for t in range(tau)], F(3, 5), F(1, 5))
check(
    [[(1 + eps) ** (t * s) for s in range(1, tau + 1)] for t in range(1, tau + 1)],
    F(1, 2),
    F(1, 10**10),
)
low, high = (
    eps * sum(t * t for t in range(1, tau + 1)),
    tau * F(1, 2),
)  # log(1 + eps) < eps, log 2 > 1/2, alpha = 1
assert low < F(1, 10**6) < high
print("one target, C_1 <=", float(low), "and C_1 >=", float(high))
