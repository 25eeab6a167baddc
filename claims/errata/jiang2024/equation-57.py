"""(62), proof gap."""

from fractions import Fraction as F


# row 1 of (62), masses 1: the weight of token 5 over that of token 2 in two sequences with the same tokens 1, 2, 5
def weights(seq):
    end = seq.index("p", 1) if "p" in seq[1:] else len(seq)
    return [F(0 < s < end, end - 1) for s in range(len(seq))]


one, two = "p a a b c c".split(), "p a a p c c".split()
assert all(one[i] == two[i] for i in (0, 1, 4))
q = [weights(s)[4] / weights(s)[1] for s in (one, two)]
print("c over a:", *q, "; by (8) it is e^(rho(p,c) - rho(p,a)) both times")
assert q == [1, 0]
