"""5.3, "requiring K + 1 layers": one layer does the example of Section 5.1, K = M = 2."""

from itertools import product


def relu(v):
    return max(v, 0)


g = {1: 1, -1: 2}
changes = {-7: 1, -5: -2, -3: 2, -1: -1, 1: -1, 3: 1, 5: 1}  # of the slope, where y bends
for past in product((-1, 1), repeat=3):  # x_t, x_{t-1}, x_{t-2}
    t_1 = g[past[0]]
    t_2 = g[past[t_1]]
    target = past[0] * past[t_1] * past[t_2]
    u = past[0] + 2 * past[1] + 4 * past[2]
    y = -1 + sum(change * relu(u - place) for place, change in changes.items())
    assert y == target
    print("x_t, x_{t-1}, x_{t-2} =", past, "target", target, "found", y)

slope, slopes = 0, []
for change in changes.values():
    slope += change
    slopes.append(slope)
assert max(map(abs, slopes)) == 1
# u is x_t plus 2 x_{t-1} + 4 x_{t-2}: the residual, and lin heads for the distances 1 and 2, three
# heads for any accuracy. No slope exceeds 1, so what the heads leave in u is all that y is off by.
print("seven bends and a constant: 8 neurons, 3 heads, one layer, no dot product")
