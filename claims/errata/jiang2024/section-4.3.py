"""Section 4.3 of jiang2024: the printed condition does not make the bound (17) converge.

ReLU interpolation: beta = 2 and C_FF(f) = sup |f''| / 8. Take m_FF = m_h^2: then m_h and
m_FF^2 / m_h^3 = m_h both tend to infinity. The second term of (17) is tau^2 C_0 times
    C_2(H, m_h) m_h^3 / m_FF^2 = C_2(H, m_h) / m_h.
"""

from fractions import Fraction


def C_2_of_the_sines(k):
    """At least: 2 k functions sqrt2 sin(2 pi i x), each with sqrt2 (2 pi i)^2 / 8."""
    return 2 * sum(Fraction(14, 10) * (2 * 3 * i) ** 2 / 8 for i in range(1, k + 1))


def C_2_of_any_orthonormal_pairs(k, tau, root):
    """At least, on tau = root^2 rooms of length 1, for k a multiple of 3 tau.

    Project on the functions that are linear on each of p cells of a room: 2 p tau dimensions. Of k
    orthonormal functions the parts outside have norms that add up to k - 2 p tau at least. Such a
    part is at most |phi''|_2 / (pi p)^2 (Wirtinger, twice), and |phi''|_2 <= root sup |phi''|. So
    C_2 >= 2/8 sum sup |phi_i''| >= pi^2 p^2 (k - 2 p tau) / (4 root).
    """
    p = k // (3 * tau)
    return 3**2 * Fraction(p) ** 2 * (k - 2 * p * tau) / (4 * root)


for m_h in (10, 100, 1000):
    print(f"sines, m_h = {m_h}: second term >=", float(C_2_of_the_sines(m_h) / m_h), "tau^2 C_0")

for root in (1, 4):
    tau = root**2
    terms = []
    for m_h in (48 * tau, 480 * tau, 4800 * tau):
        terms.append(C_2_of_any_orthonormal_pairs(m_h, tau, root) / m_h)
        print(f"any pairs, tau = {tau}, m_h = {m_h}: >=", float(terms[-1]), "tau^2 C_0")
    assert terms[1] == 100 * terms[0] and terms[2] == 100 * terms[1]
