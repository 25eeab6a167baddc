"""Theorem 6.1, s = 0 for log, proof gap."""

# rho = I(s = 0), f(y) = y. A log head gives x_t the weight 0 (phi_log(0) = -inf): without the residual the output depends on the past only.
past = (0, 1, -1)
weights = {s: (s and 1 / s**2) for s in range(4)}  # any p
out = {x: sum(weights[s] * v for s, v in enumerate((x, *past))) for x in (1, -1)}
assert out[1] == out[-1]  # targets +1 and -1: the error is at least 1 for every readout
print("same output", out[1], "targets 1 and -1")
