"""Theorem 5.4, the largest norm, proof gap: the last memory function need not be the hardest."""

tokens = (-1, 0, 1)
g_1 = [x + 2 for x in tokens]
g_2 = [1 for x in tokens]
# |g|_B >= max |g| for |x| <= 1, and the constant 1 is one neuron of norm 1.
largest = max(max(g_1), max(g_2)) ** 2
last = max(g_2) ** 2
assert (largest, last) == (9, 1)
print("max_l |g_l|_B^2 >=", largest, "and |g_K|_B^2 =", last)
