"""Theorem 6.1, residual and D = M d, proof gap: class (7) adds x_t to the first block."""

from fractions import Fraction

x = [1, -1, 1]  # x_{t-2}, x_{t-1}, x_t
# rho(s) = 2^-s: one lin head with e^-p = 1/2 has it exactly.
memory = sum(Fraction(1, 2**s) * token for s, token in enumerate(reversed(x)))
block = x[-1] + memory  # (2): x^(1/2) = x^(0) + Attn
print("(X * rho)(t) =", memory, "and the block holds", block)
assert block - memory == 1
