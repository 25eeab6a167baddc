"""Theorem 5.4, condition on the heads, proof gap."""

from fractions import Fraction as F


def g2(y, d):
    return (
        2 if y <= -d else 1 if y >= d else F(3, 2) - y / (2 * d)
    )  # 2 or 1 by the sign; slope 1/(2d)


near = lambda v: int(v + F(1, 2))  # rounding (15)
for d in (F(1, 10), F(1, 1000)):
    past = {1: F(-1), 2: F(1), 3: -d}  # g_1 = 3: t_1 = 3, x_{t-3} = -d, so t_2 = g_2(-d) = 2
    e = 3 * d  # what the heads leave in block 1
    true, found = near(g2(past[3], d)), near(g2(past[3] + e, d))
    assert (true, found) == (2, 1) and past[true] - past[found] == 2
    print("delta", d, "t_2", true, "found", found, "f = x_{t-t_2} off by 2; errors of the heads", e)
