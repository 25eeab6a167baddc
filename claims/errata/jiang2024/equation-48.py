"""(48)-(51), three entries, false.

Two encoded tokens in rooms of volume 1; everything is constant on a room; f = 0 on the first room
and 1 on the second. If row 2 has the logits 0 and log b, then H_2 = b / (1 + b).
"""

from fractions import Fraction

tau = 2
half = Fraction(1, 2)

# 1. The tail. rho = 2 log b on I_1 x I_1, log b on I_2 x I_2: sigma = (2 log b, log b). Rank
#    m_h = 1 drops the second, and H_2 becomes 1/2. (50) allows tau^2 (log b)^2, and log b < b - 1.
b = Fraction(33, 32)
error, allowed = b / (1 + b) - half, tau**2 * (b - 1) ** 2
print(f"tail: the error is {error}, (50) allows less than {allowed}")
assert error > allowed

# 2. The factor sigma_1. phi_1 = 1 on I_2, psi_1 = 1/sqrt 2, sigma_1 = 100 log 3. If
#    psi^_1 = psi_1 + 1/100 on I_2, one logit of row 2 grows by log 3: from 1/2 to 3/4.
error, allowed = Fraction(3, 4) - half, tau**2 * Fraction(1, 100)
print(f"sigma_1: the error is {error}, (50) allows {allowed}")
assert error > allowed

# 3. The factor K_F. rho = 0, F(z) = 100 z, f^ = f + 1/1000: both outputs are off by 100/1000.
error, allowed = tau * 100 * Fraction(1, 1000), tau**2 * Fraction(1, 1000)
print(f"K_F: the summed error is {error}, (51) allows {allowed}")
assert error > allowed
