"""Section 4.3, false."""

from fractions import Fraction as F


# beta = 2, m_FF = m_h^2: m_h and m_FF^2/m_h^3 = m_h -> infinity. Second term C_2(H, m_h) m_h^3/m_FF^2 = C_2/m_h.
# Any k orthonormal pairs on tau unit rooms: C_2 >= pi^2 p^2 (k - 2 p tau)/(4 sqrt tau) for every p >= 0.
def least(tau_root, k):  # tau = tau_root^2; 3 < pi
    tau = tau_root**2
    p = k // (3 * tau)
    return 9 * F(p) ** 2 * (k - 2 * p * tau) / (4 * tau_root) / k


for root in (1, 4):
    terms = [least(root, 48 * root**2 * 10**j) for j in range(4)]
    assert all(b == 100 * a for a, b in zip(terms, terms[1:]))
    print("tau =", root**2, "second term / (tau^2 C_0) at least", [float(t) for t in terms])
