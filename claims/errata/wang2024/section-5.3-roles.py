"""5.3, "requires K + 1 layers", false."""

from itertools import product

relu = lambda v: max(v, 0)
g = {1: 1, -1: 2}
for x0, x1, x2 in product((-1, 1), repeat=3):  # x_t, x_{t-1}, x_{t-2}
    past = [x0, x1, x2]
    target = x0 * past[g[x0]] * past[g[past[g[x0]]]]
    u = x0 + 2 * x1 + 4 * x2
    y = (
        -1
        + relu(u + 7)
        - 2 * relu(u + 5)
        + 2 * relu(u + 3)
        - relu(u + 1)
        - relu(u - 1)
        + relu(u - 3)
        + relu(u - 5)
    )
    assert y == target
# the slopes are 1,-1,1,0,-1,0,1: one dot-product-free layer whose 3 heads make 2 I(s=1) + 4 I(s=2) within e errs by <= e
s, slopes = 0, []
for c in (1, -2, 2, -1, -1, 1, 1):
    s += c
    slopes.append(s)
assert max(map(abs, slopes)) == 1
print("K = M = 2 in one layer, 7 hinges and a constant; slopes", slopes)
