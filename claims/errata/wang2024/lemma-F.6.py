"""Lemma F.6: in the supremum the constant grows with the dimension."""

from fractions import Fraction
from random import Random


def f(x):
    """f(x) = 1/d sum_j |2 x_j - 1| has norm at most 6: each |2 x - 1| is two neurons of size 3."""
    return sum(abs(2 * v - 1) for v in x) / len(x)


def nonzero_solution(rows, unknowns):
    """Some y != 0 with rows . y = 0, by elimination; there are fewer rows than unknowns."""
    rows = [list(row) for row in rows]
    pivots = []  # the unknown that each of the first rows determines
    for column in range(unknowns):
        done = len(pivots)
        below = [i for i in range(done, len(rows)) if rows[i][column] != 0]
        if not below:
            continue
        rows[done], rows[below[0]] = rows[below[0]], rows[done]
        rows[done] = [value / rows[done][column] for value in rows[done]]
        for i in range(len(rows)):
            if i != done:
                factor = rows[i][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[done])]
        pivots.append(column)
    free = next(j for j in range(unknowns) if j not in pivots)
    y = [Fraction(0)] * unknowns
    y[free] = Fraction(1)
    for i, column in enumerate(pivots):
        y[column] = -rows[i][free]
    return y


def look_alike(b):
    """A point of the cube that no neuron tells from the centre; at most m coordinates are inside.

    We walk from the centre along directions in which no neuron changes, until a side stops us.
    """
    m, d = len(b), len(b[0])
    x = [Fraction(1, 2)] * d
    inside = list(range(d))
    while len(inside) > m:
        y = nonzero_solution([[row[j] for j in inside] for row in b], len(inside))
        step = min(((1 if v > 0 else 0) - x[j]) / v for j, v in zip(inside, y) if v != 0)
        for j, v in zip(inside, y):
            x[j] += step * v
        inside = [j for j in inside if 0 < x[j] < 1]
    return x


for m in (1, 2, 5, 9):
    d = 2 * m
    random = Random(m)
    b = [[Fraction(random.randint(-9, 9)) for _ in range(d)] for _ in range(m)]  # m neurons
    x, centre = look_alike(b), [Fraction(1, 2)] * d
    for row in b:
        assert sum(w * (u - v) for w, u, v in zip(row, x, centre)) == 0
    gap = f(x) - f(centre)
    print(f"m = {m}, d = {d}: to the neurons both points look alike, f differs by {float(gap):.3f}")
    assert all(0 <= v <= 1 for v in x) and gap >= Fraction(1, 2)

# So the error is at least 1/4 for every m. With an absolute constant, say 100, and two logarithms
# of d = 2m, the lemma would promise less than 1/400 for m = 4^30:
assert 100 * 6 * Fraction(61) ** 2 / 2**30 < Fraction(1, 400)
