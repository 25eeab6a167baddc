"""Proposition 6.2 of jiang2024, proof: three tokens, p exchanges 1 and 2, y = x o p.

H is (8) with F = f = id and rho(u, v) = u v log 2. By definition H~_1(y) = H_1(x), whose query is
x_1 = y_2 and whose tokens are x = (y_2, y_1, y_3).
"""

from fractions import Fraction


def H_1(x):
    weights = [Fraction(2) ** (x[0] * v) for v in x]
    return sum(w * v for w, v in zip(weights, x)) / sum(weights)


def determinant(matrix):
    rows, sign_and_pivots = [list(row) for row in matrix], Fraction(1)
    for k in range(len(rows)):
        pivot = next((r for r in range(k, len(rows)) if rows[r][k] != 0), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], rows[k]
            sign_and_pivots = -sign_and_pivots
        sign_and_pivots *= rows[k][k]
        for r in range(k + 1, len(rows)):
            factor = rows[r][k] / rows[k][k]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k])]
    return sign_and_pivots


# Suppose (86) held with F~ = f~ = id and some coupling rho~. Keep y_1 = 3. With the unknowns
# A(y_2) = e^(rho~(y_1, y_2) - rho~(y_1, y_1)) and B(y_3) likewise, and T = H~_1(y), it says
#     A(y_2) (y_2 - T) + B(y_3) (y_3 - T) = T - y_1.
# For y_2 = 0, 1, 2 and y_3 = 5, 6 these are six linear equations for five unknowns.
equations = []
for y_2 in (0, 1, 2):
    for y_3 in (5, 6):
        T = H_1((y_2, 3, y_3))
        of_A = [(y_2 - T) if y_2 == place else Fraction(0) for place in (0, 1, 2)]
        of_B = [(y_3 - T) if y_3 == place else Fraction(0) for place in (5, 6)]
        equations.append([*of_A, *of_B, T - 3])
print(
    "determinant with the right side (0 if there were a solution):", float(determinant(equations))
)
assert determinant(equations) != 0

# Rooms of lengths 1 and 4, rho = 1 on I_1 x I_1, else 0: rank one, so that
# sigma_1^2 = sum |I_t| |I_s| R_ts^2. The permutation moves the first row to the second.
lengths = (1, 4)


def square_of_sigma(R):
    return sum(lengths[t] * lengths[s] * R[t][s] ** 2 for t in (0, 1) for s in (0, 1))


before, after = square_of_sigma([[1, 0], [0, 0]]), square_of_sigma([[0, 0], [1, 0]])
print("sigma_1^2 before and after:", before, after)
assert (before, after) == (1, 4)
