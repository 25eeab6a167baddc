"""Lemma 3.1 allows |x_i| = |y_i| = M; there two scores can tie, which the proof excludes."""

M = 1
x, y = [1, 1], [-1, 1]

# The scores of token 1: its own is lifted by 2 M^2.
scores = [x[0] * y[0] + 2 * M**2, x[0] * y[1]]
print("scores of token 1:", scores)
assert scores[0] == scores[1]


def stored(kept):
    """What the block stores if attention returns `kept`: -kept + 2 M^2."""
    return -kept + 2 * M**2


print("one score is kept:", stored(scores[0]), " -x_1 y_1 =", -x[0] * y[0])
print("both are kept:    ", stored(sum(scores)))
assert stored(scores[0]) == -x[0] * y[0]
assert stored(sum(scores)) != -x[0] * y[0]
