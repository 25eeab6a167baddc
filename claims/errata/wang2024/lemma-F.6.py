"""Theorem 4.1 and Lemma F.6, false; Theorem 5.1, proof gap (the step quotes Lemma F.6)."""

from fractions import Fraction as F
from random import Random


def null(rows, n):  # y != 0 with rows y = 0, fewer rows than n
    A, piv = [r[:] for r in rows], []
    for c in range(n):
        i = next((i for i in range(len(piv), len(A)) if A[i][c]), None)
        if i is None:
            continue
        k = len(piv)
        A[k], A[i] = A[i], A[k]
        A[k] = [v / A[k][c] for v in A[k]]
        A = [r if j == k else [a - r[c] * b for a, b in zip(r, A[k])] for j, r in enumerate(A)]
        piv.append(c)
    free = next(c for c in range(n) if c not in piv)
    y = [F(0)] * n
    y[free] = F(1)
    for k, c in enumerate(piv):
        y[c] = -A[k][free]
    return y


def look_alike(b):  # b: m linear functions of D numbers; a cube point with b x = b centre
    m, D = len(b), len(b[0])
    x = [F(1, 2)] * D
    free = list(range(D))
    while len(free) > m:
        y = null([[r[j] for j in free] for r in b], len(free))
        step = min(((v > 0) - x[j]) / v for j, v in zip(free, y) if v)
        for j, v in zip(free, y):
            x[j] += step * v
        free = [j for j in free if 0 < x[j] < 1]
    return x


f = lambda x: (
    sum(abs(2 * v - 1) for v in x) / len(x)
)  # = 1/D sum relu(2x-1) + relu(1-2x): norm <= (2+1)+(2+1) = 6
for m in (
    1,
    2,
    5,
    9,
):  # each neuron sees one linear function of the D = 2m tokens; heads do not matter
    b = [[F(Random(f"{m},{i},{j}").randint(-9, 9)) for j in range(2 * m)] for i in range(m)]
    x, centre = look_alike(b), [F(1, 2)] * (2 * m)
    assert all(sum(r * (u - v) for r, u, v in zip(row, x, centre)) == 0 for row in b) and all(
        0 <= v <= 1 for v in x
    )
    print("m", m, "f differs by", f(x) - f(centre))
    assert f(x) - f(centre) >= F(1, 2)
# so the error is >= 1/4 for every m with D = 2m; the printed term with the constant 100 and log^2, m = 4^30:
assert 100 * 6 * F(61) ** 2 / 2**30 < F(1, 400)
