"""Theorem 6.1 (B), proof gap: without the residual a log head never sees the present token."""

from fractions import Fraction

# rho = I{s = 0} and f(y) = y, so y_t = x_t. phi_log(0) = -infinity gives x_t the weight 0, and the
# weights of the past, here s^-2, do not matter.
past = {1: 0, 2: 1, 3: -1}
outputs = {}
for x_t in (1, -1):
    weights = {0: Fraction(0)} | {s: Fraction(1, s**2) for s in past}
    tokens = {0: x_t} | past
    outputs[x_t] = sum(weights[s] * tokens[s] for s in tokens)
assert outputs[1] == outputs[-1]
print("x_t = 1 and x_t = -1 have the same output", outputs[1], "so one of them errs by at least 1")
