"""(12) of jiang2024: C_1(H) is 0 for every target, shown for the target that sorts four numbers.

Token s is a place z_s in [0, 1] in its own room. f(x_s) = e_s (a + b z_s), so that the average u_t
has the coordinates u_t[s] = w[t][s] (a + b z_s), with the softmax weights w[t]. F must read t and
all z off u_t. It can if no u_t can be mistaken for a u_r, r != t.
"""

from fractions import Fraction

TAU, EPS = 4, Fraction(1, 10**9)
PLACES = [
    [Fraction(0), Fraction(1), Fraction(1, 3), Fraction(1, 2)],
    [Fraction(1), Fraction(1), Fraction(0), Fraction(2, 7)],
]


def normalised(rows):
    return [[entry / sum(row) for entry in row] for row in rows]


def read(u, w, a, b):
    """All (t, z) with places z in [0, 1] for which u could be u_t."""
    found = []
    for t in range(TAU):
        z = [(u[s] / w[t][s] - a) / b for s in range(TAU)]
        if all(0 <= place <= 1 for place in z):
            found.append((t, z))
    return found


def represents_sorting(w, a, b):
    for z in PLACES:
        for t in range(TAU):
            u = [w[t][s] * (a + b * z[s]) for s in range(TAU)]
            assert read(u, w, a, b) == [(t, z)]  # so F(u) = sorted(z)[t] is well defined


# The weights of (25): rho = log 2 for s = t, else 0. It has tau singular values log 2.
equal = normalised([[Fraction(1 + (t == s)) for s in range(TAU)] for t in range(TAU)])
represents_sorting(equal, Fraction(3, 5), Fraction(1, 5))

# Rank one: rho = t s log(1 + eps). Its one singular value is log(1 + eps) (1 + 4 + 9 + 16).
times = range(1, TAU + 1)
rank_one = normalised([[(1 + EPS) ** (t * s) for s in times] for t in times])
represents_sorting(rank_one, Fraction(1, 2), Fraction(1, 10**10))

C_1_equal = TAU * Fraction(1, 2)  # at least: tau^alpha log 2 with alpha = 1, log 2 > 1/2
C_1_rank_one = EPS * sum(t * t for t in times)  # at most: log(1 + eps) < eps
print("the same target: C_1 >", float(C_1_equal), "and C_1 <", float(C_1_rank_one))
assert C_1_rank_one < Fraction(1, 10**6) < C_1_equal
