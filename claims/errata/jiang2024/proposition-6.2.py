"""Proposition 6.2, proof gap and edge case."""

from fractions import Fraction as F

# tau = 3, p = (1 2), rho(u, v) = u v, F = f = id, y = x o p. H~_1(y) = H_1(x) has the query x_1 = y_2.
# By (86) with rho~(y_1, .) log(w_3/w_2) = rho~(y_1, y_3) - rho~(y_1, y_2): no mixed term in (y_2, y_3). It has one:
L = lambda y2, y3: y2 * y3 - y2 * y2
h = F(1, 5)
y2, y3 = F(0), F(5)
mixed = L(y2 + h, y3 + h) - L(y2 + h, y3) - L(y2, y3 + h) + L(y2, y3)
print("mixed second difference", mixed, "(86) would give 0")
assert mixed == h * h
# the outputs themselves: e^rho = 2^(u v), y_1 = 3; unknown q_i = e^(rho~(3, y_2,i) - rho~(3,3)), r_j for y_3,j must satisfy
# (y_2i - T) q_i + (y_3j - T) r_j = T - 3 with T = H~_1: 6 equations, 5 unknowns, determinant of the augmented system not 0
rows = []
for i, a in enumerate((0, 1, 2)):
    for j, b in enumerate((5, 6)):
        x = (a, 3, b)
        w = [F(2) ** (a * v) for v in x]
        T = sum(v * u for v, u in zip(x, w)) / sum(w)
        rows.append(
            [(a - T) * (a == c) for c in (0, 1, 2)] + [(b - T) * (b == c) for c in (5, 6)] + [T - 3]
        )


def det(A):
    A = [r[:] for r in A]
    d = F(1)
    for k in range(len(A)):
        piv = next((r for r in range(k, len(A)) if A[r][k]), None)
        if piv is None:
            return F(0)
        if piv != k:
            A[k], A[piv] = A[piv], A[k]
            d = -d
        d *= A[k][k]
        for r in range(k + 1, len(A)):
            c = A[r][k] / A[k][k]
            A[r] = [x - c * y for x, y in zip(A[r], A[k])]
    return d


assert det(rows) != 0
print("determinant", float(det(rows)))
# rooms of different lengths, |I_1| = 1, |I_2| = 4, R = ((1,0),(0,0)): sigma_1^2 = sum |I_t||I_s| R_ts^2
s = lambda R: sum(a * b * R[t][u] ** 2 for t, a in enumerate((1, 4)) for u, b in enumerate((1, 4)))
assert (s([[1, 0], [0, 0]]), s([[0, 0], [1, 0]])) == (1, 4)
