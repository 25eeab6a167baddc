"""Theorem 4.1 of jiang2024, proof: (39) drops the volume of the domain, which can exceed 1."""

tau, volume = 1, 2  # one token, in the room [0, 2]
difference = 1  # F = 0 and F^ = 1, so that |F - F^| = 1 everywhere

left = tau * volume * difference  # (37): the integral of |F - F^|
right = tau * difference  # (39)
print("integral", left, "printed bound", right)
assert left > right
