"""Theorem 4.1, readout term, false: m neurons cannot tell two pasts of 2m tokens apart."""

from fractions import Fraction
from random import Random

HALF = Fraction(1, 2)


def direction(rows, size):
    """A vector y != 0 with row . y = 0 for every row (fewer rows than entries): elimination."""
    rows, pivots = [list(row) for row in rows], []
    for column in range(size):
        row = next((r for r in rows[len(pivots) :] if r[column] != 0), None)
        if row is None:
            continue
        rows.remove(row)
        row = [v / row[column] for v in row]
        rows = [[a - r[column] * b for a, b in zip(r, row)] for r in rows]
        rows.insert(len(pivots), row)
        pivots.append(column)
    free = next(j for j in range(size) if j not in pivots)
    y = [Fraction(j == free) for j in range(size)]
    for row, column in zip(rows, pivots):
        y[column] = -row[free]
    return y


def unseen(b, D):
    """x in [0, 1]^D with b . x = b . (1/2, ..., 1/2) and at most len(b) entries inside (0, 1)."""
    x = [HALF] * D
    while len(inside := [j for j in range(D) if 0 < x[j] < 1]) > len(b):
        y = direction([[row[j] for j in inside] for row in b], len(inside))
        steps = [((v > 0) - x[j]) / v for j, v in zip(inside, y) if v != 0]
        for j, v in zip(inside, y):
            x[j] += min(steps) * v
    return x


rng = Random(4)
for m in (1, 2, 5, 10):
    D = 2 * m  # tokens x_t, x_{t-1}, ..., x_{t-D+1}: M + 1 = D, T_i = i
    # What the m neurons see of these tokens: b_k . x + c_k, the heads and their number included.
    b = [[Fraction(rng.randint(-9, 9)) for _ in range(D)] for _ in range(m)]
    x = unseen(b, D)
    for row in b:
        assert sum(v * z for v, z in zip(row, x)) == sum(row) * HALF
    f = sum(abs(2 * z - 1) for z in x) / D  # f = 1/D sum_j |2 x_j - 1| is 0 at (1/2, ..., 1/2)
    assert f >= HALF
    print(f"m = {m}, D = {D}: equal outputs, f differs by {f}, so the error is at least {f / 2}")

# |2 x - 1| = relu(2x - 1) + relu(1 - 2x), of norm (2 + 1) + (2 + 1) = 6: |f|_B <= 6 for every D.
k = 30
m, log_D = 4**k, 2 * k + 1
bound = Fraction(100 * 6 * log_D**2, 2**k)  # 100 |f|_B log_2(D)^2 / sqrt(m)
assert bound < Fraction(1, 400) < Fraction(1, 4)
print("m = 4^30: error at least 1/4; 100 |f|_B log_2(D)^2 / sqrt(m) =", float(bound))
