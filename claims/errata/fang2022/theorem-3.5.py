"""Proof of Theorem 3.5: M = B^(i-1) in block i >= 3 is too small if B < 1."""

from fractions import Fraction

B, q = Fraction(1, 4), 3
x = [-B, 0]
directions = [(1, 0), (0, 1)]
t = [a * x[0] + b * x[1] for a, b in directions]  # the tokens carry t_k = xi_k . x


def stored_in_token_1(M_of_block):
    """Slot q of token 1 after q blocks, each of which stores minus the product of t and y."""
    y = [Fraction(1) for _ in t]  # block 1 multiplies t by the constant 1
    for i in range(1, q + 1):
        lift = 2 * M_of_block(i) ** 2
        after = []
        for k in range(len(t)):
            scores = [t[k] * y[j] + (lift if j == k else 0) for j in range(len(t))]
            after.append(lift - max(scores))
        y = after
    return y[0]


def printed(i):
    return B if i <= 2 else B ** (i - 1)


def corrected(i):
    return max(B, B ** (i - 1))


right = (-t[0]) ** q
print("slot 3 of token 1 should hold", right)
print("with the printed M it holds  ", stored_in_token_1(printed))
print("with M = max(B, B^(i-1))     ", stored_in_token_1(corrected))
assert stored_in_token_1(printed) == Fraction(1, 128) != right
assert stored_in_token_1(corrected) == right == Fraction(1, 64)
