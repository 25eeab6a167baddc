"""Theorem 5.4, condition on the heads, proof gap: a small error of a block gives a wrong pointer."""

from fractions import Fraction


def g2(y, delta):
    """2 for y <= -delta, 1 for y >= delta, linear in between, with the slope 1/(2 delta)."""
    if y <= -delta:
        return Fraction(2)
    return Fraction(1) if y >= delta else Fraction(3, 2) - y / (2 * delta)


def rounded(value):
    return int(value + Fraction(1, 2))


for delta in (Fraction(1, 10), Fraction(1, 1000)):
    past = {1: Fraction(-1), 2: Fraction(1), 3: -delta}  # x_{t-1}, x_{t-2}, x_{t-3}; g_1 = 3
    error = 3 * delta  # of the heads, in the block that holds x_{t-3}
    true, found = rounded(g2(past[3], delta)), rounded(g2(past[3] + error, delta))
    assert (true, found) == (2, 1)
    assert past[true] - past[found] == 2
    print("error of the heads", error, "t_2 =", true, "found:", found, "x_{t-t_2} is off by 2")
