"""Proposition 6.1, proof gap."""

rho, p, tau = [0, 1, 0, 0, 0], [1, 0, 2, 3, 4], 5  # delta_1; times 0 and 1 exchanged: p(0) = 1 > 0
M = [[rho[t - p[j]] if t >= p[j] else 0 for j in range(tau)] for t in range(tau)]
assert all(M[t][j] == 0 for t in range(tau) for j in range(t + 1, tau))  # causal
assert any(
    M[t][j] != M[t + 1][j + 1] for t in range(tau - 1) for j in range(tau - 1)
)  # but no convolution
print(*M, sep="\n")
# proof of the statement for rho != 0: column j begins at p(j) + s_0; in a convolution at j + const; so p(j) - j is constant, 0
