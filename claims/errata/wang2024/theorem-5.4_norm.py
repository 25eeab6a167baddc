"""Theorem 5.4, the largest norm, proof gap."""

g1, g2 = (
    {x: x + 2 for x in (-1, 0, 1)},
    1,
)  # |g|_B >= sup |g| on |x| <= 1; the constant 1 is one neuron of norm 1
assert max(max(g1.values()), g2) ** 2 == 9 != g2**2
print("max |g_l|^2 >= 9, |g_K|^2 = 1")
