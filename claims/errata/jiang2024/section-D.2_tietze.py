"""D.2, proof gap: an extension with the same sup norm need not have the same constant.

phi(0) = 0 and phi(4) = 1: the Lipschitz constant is 1/4 and the sup norm is 1.
"""

from fractions import Fraction

given = {Fraction(0): Fraction(0), Fraction(4): Fraction(1)}
C = Fraction(1, 4)
grid = [Fraction(k, 4) for k in range(17)]


def late_rise(x):
    """Continuous, with the same sup norm: all that Tietze's theorem promises."""
    return max(Fraction(0), x - 3)


def mcshane(x):
    return min(value + C * abs(x - y) for y, value in given.items())


for extension in (late_rise, mcshane):
    assert all(extension(y) == value for y, value in given.items())
    assert max(abs(extension(x)) for x in grid) == 1
    quotients = [
        abs(extension(x) - extension(y)) / abs(x - y) for x in grid for y in grid if x != y
    ]
    print(f"{extension.__name__}: sup norm 1, Lipschitz constant {max(quotients)}")
    assert max(quotients) == {"late_rise": 1, "mcshane": C}[extension.__name__]
