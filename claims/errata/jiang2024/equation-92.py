"""(92)-(98), false: the filter of Section 6.2 sees the future, the kernel of (97) does not."""


def at(values, s):
    """A sequence is 0 beyond its ends."""
    return values[s] if 0 <= s < len(values) else 0


def convolution(kernel, x, t):
    """(75)"""
    return sum(kernel(s) * x(t - s) for s in range(t + 1))


def both_sides(rho, theta, x, t, sign):
    """H_t(theta * x), and the convolution of x with theta * rho.

    sign = +1: as printed, with x(t + s) and rho(s + s'). sign = -1: the causal filter.
    """

    def filtered(values):
        return lambda t: sum(c * at(values, t + sign * s) for s, c in enumerate(theta))

    target = convolution(lambda s: at(rho, s), filtered(x), t)
    claimed = convolution(filtered(rho), lambda s: at(x, s), t)
    return target, claimed


target, claimed = both_sides([1, 0], [0, 1], [0, 1], 0, +1)
print(f"rho = delta_0, theta = delta_1, x = (0, 1): H_0 = {target}, (97) gives {claimed}")
assert (target, claimed) == (1, 0)  # the future x(1) is dropped

target, claimed = both_sides([0, 1], [0, 1], [1, 0], 0, +1)
print(f"rho = delta_1, theta = delta_1, x = (1, 0): H_0 = {target}, (97) gives {claimed}")
assert (target, claimed) == (0, 1)  # a term beyond t is added

for t in range(4):
    target, claimed = both_sides([3, -1, 2, 5], [2, 7, -4], [1, -2, 3, 6], t, -1)
    assert target == claimed
print("causal filter: both sides are equal")
