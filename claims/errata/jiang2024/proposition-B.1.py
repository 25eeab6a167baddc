"""Proposition B.1: (3) is false, and (1) needs constant sequences."""

from fractions import Fraction

# (3). Tokens 1/2 and 1. First target: e^rho_1 = 1/v, f_1 = v, F_1 = id. Second target:
# e^rho_2 = 1/v + 8v, f_2 = (v, 1) / (1 + 8 v^2), F_2(z) = z_1 / z_2. All queries see the same.
tokens = [Fraction(1, 2), Fraction(1)]
e_1 = [1 / v for v in tokens]
e_2 = [1 / v + 8 * v for v in tokens]
f_2 = [(v / (1 + 8 * v**2), 1 / (1 + 8 * v**2)) for v in tokens]

H_1 = sum(e * v for e, v in zip(e_1, tokens)) / sum(e_1)
z_1, z_2 = (sum(e * f[k] for e, f in zip(e_2, f_2)) / sum(e_2) for k in (0, 1))
H_2 = z_1 / z_2
print(f"(3): H_1 = {H_1}, H_2 = {H_2}")
assert H_1 == H_2
assert [a / b for a, b in f_2] == tokens  # F_2 o f_2 = F_1 o f_1 = id, an injection
largest_1, largest_2 = tokens[e_1.index(max(e_1))], tokens[e_2.index(max(e_2))]
print(f"     rho_1 is largest at {largest_1}, rho_2 at {largest_2}")
assert largest_1 != largest_2

# (1). Rooms [0, 1] and [2, 3], rho = 0, F = 6z: what one room gains the other one loses.


def first_f(x):
    return x / 3


def second_f(x):
    return (x + 1) / 3 if x < 2 else (x - 1) / 3


for x_1 in (Fraction(0), Fraction(1, 3), Fraction(1)):
    for x_2 in (Fraction(2), Fraction(5, 2), Fraction(3)):
        outputs = [6 * (f(x_1) + f(x_2)) / 2 for f in (first_f, second_f)]
        assert outputs == [x_1 + x_2] * 2
zero = Fraction(0)
print(f"(1): F_1(f_1(0)) = {6 * first_f(zero)}, F_2(f_2(0)) = {6 * second_f(zero)}")
assert first_f(zero) != second_f(zero)
