"""(62), proof gap: a coupling of pairs does not see a separator.

p is the prediction token; a, b, c are points of mass 1. Row 1 of (62) gives equal weights to the
points of the first segment, and 0 to all other tokens.
"""

from fractions import Fraction


def first_row(sequence):
    others = [s for s in range(1, len(sequence)) if sequence[s] == "p"]
    end = others[0] if others else len(sequence)
    return [Fraction(int(0 < s < end), end - 1) for s in range(len(sequence))]


quotients = []
for sequence in ("p a a b c c", "p a a p c c"):
    weights = first_row(sequence.split())
    quotients.append(weights[4] / weights[1])
    print(f"{sequence}: weight of the fifth token over that of the second: {quotients[-1]}")
# By (8) both are e^(rho(p, c) - rho(p, a)): tokens 1, 2 and 5 are the same, positions included.
assert quotients[0] != quotients[1]
