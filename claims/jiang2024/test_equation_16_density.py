"""Equation (16) (jiang2024, Section 4.3, argued at the end of A.2): a space that is dense.

The targets with finite C_0, C_1^(alpha) and C_2^(beta)(., k) for all k are dense in the continuous
maps from X^(E) to Y, if n is large enough.

Proof, for n >= tau d, tau >= 2, rooms that are shifted boxes [0, 1]^d, and every C_FF that is
finite on smooth functions.
   (i)  Weierstrass: polynomials P_1, ..., P_tau of all tokens are within eps of H_1, ..., H_tau.
  (ii)  P has a representation with n = tau d (representation.py): for x in I_s with the place z,
        f(x) = e_s (x) (a + b z), a = 3/5, b = 1/5, and rho is log 2 for two tokens of one room and
        0 for others, so that block s of u_t is w_ts (a + b z_s) with the weights of (25). Block t
        of u_t is at least 2a/(tau + 1), that of u_t' at most (a + b)/(tau + 1): the compact images
        K_t of u_1, ..., u_tau are disjoint.
 (iii)  On K_t, F is P_t of an affine map. Times smooth functions that are 1 near one K_t and 0 near
        the others, and summed, this is a smooth F with compact support: K_F and C_FF(F) are finite.
        f is affine on each room and has a smooth extension as well.
  (iv)  rho has the tau singular values log 2, so C_1^(alpha) = tau^alpha log 2. Its functions are 1
        on one room and 0 on the others; cosines of the coordinates of the places, room by room,
        complete them to an orthonormal basis of smooth functions that are at most 2^(d/2). So C_0
        and all C_2(., k) are finite.
So the targets of P lie in the space, within eps of H. A larger n is padded with zeros.         QED

Checked: (ii), the distance of the images, exactly; (i) to (iii) on a target that is not Lipschitz,
H_t(x) = sqrt(x_1) + (t - 1) x_2. The polynomials p_{k+1} = p_k + (x - p_k^2)/2, p_0 = 0,
approximate sqrt x within 2/k with the Lipschitz constant k/2; with p_k for sqrt the representation
is exact, and an F with clipped places has a Lipschitz constant of order k. (iv): claim on (12).

The argument in A.2 is another, and has a gap: a continuous function on a compact set need not have
a finite complexity. sqrt has no finite K_F, and neither have the inner functions of Theorem A.1.

Readings: C for the C~ on the right of (16); k >= 1 as "for all k".
"""

import itertools

import flint
import numpy as np
import pytest

from repro.bounds import theorem
from repro.jiang2024 import representation
from repro.numerics import exact, superposition

TAU = 2
ROOTS = [flint.fmpq(j, 16) for j in range(17)]  # so that the square root of z is rational


def square_root(k, x):
    """p_k(x); numbers, arrays or polynomials."""
    p = 0 * x
    for _ in range(k):
        p = p + (x - p * p) / 2
    return p


# Of sqrt x - p_k at the squares of ROOTS: r - r^2/2 at r = 1, r - r^2 + r^4/8 at r = 9/16.
WORST = {1: flint.fmpq(1, 2), 2: flint.fmpq(135585, 524288)}


def target(k):
    def H(z):
        first, second = z[..., 0, 0], z[..., 1, 0]
        return np.stack([square_root(k, first) + t * second for t in range(TAU)], axis=-1)

    return H


@pytest.mark.exact
def test_the_polynomials_have_the_lipschitz_constant_k_over_2(claim):
    """p_k'(0) = k/2; and p_{k+1}' = p_k' (1 - p_k) + 1/2 with 0 <= p_k <= 1: no larger anywhere."""
    x = flint.fmpq_poly([0, 1])
    for k in range(1, 6):
        p = square_root(k, x)
        slope = p.derivative()(flint.fmpq(0))
        claim.measured("p_k'(0)", slope, equation="(16)", k=k).equals(flint.fmpq(k, 2))
        outside = sum(not 0 <= p(flint.fmpq(j, 64)) <= 1 for j in range(65))
        claim.measured("values of p_k outside [0, 1]", outside, equation="(16)", k=k).equals(0)


@pytest.mark.exact
def test_the_images_of_the_averages_are_apart(claim):
    """Block t at the corners of the cube of all places: 2a/(tau + 1) at least in u_t, and
    (a + b)/(tau + 1) at most in the others, for affine functions of the places."""
    form = representation.Representation(target(1), representation.doubled_diagonal(TAU))
    corners = np.array([[[first], [second]] for first in (0, 1) for second in (0, 1)])
    u = form.target().averages(representation.SHIFTED.encode(exact.rationals(corners)))
    for t in range(TAU):
        own, others = u[:, t, t], np.delete(u[:, :, t], t, axis=1)
        apart = own.min() - others.max()
        stated = (2 * form.a - (form.a + form.b)) / (TAU + 1)
        claim.measured("distance of the images", apart, equation="(25)", t=t + 1).equals(stated)


@pytest.mark.exact
def test_the_lipschitz_bound_by_hand(claim):
    """a/b = 3. Rows (2, 1)/3 and (1, 2)/3, or (2, 1, 1)/4 and so on, have the quotients 2 and 1/2,
    so that the images are read 3 (2 - 1) - 1 = 2 outside of [0, 1]: tau (sup/2 + Lip) / (min w /
    5)."""
    for tau, sup, lipschitz, by_hand in ((2, 2, 2, 90), (3, 1, 3, 210)):
        form = representation.Representation(target(1), representation.doubled_diagonal(tau))
        bound = form.lipschitz_bound(sup=sup, lipschitz=flint.fmpq(lipschitz))
        claim.measured("bound of K_F", bound, equation="(15)", tau=tau).equals(flint.fmpq(by_hand))


@pytest.mark.construct
def test_error_and_complexity_along_a_dense_sequence(claim):
    pairs = list(itertools.product(ROOTS, ROOTS[::4]))
    z = np.array([[[root * root], [other]] for root, other in pairs])
    stated = np.array([[root + t * other for t in range(TAU)] for root, other in pairs])
    x = representation.SHIFTED.encode(z)
    for k in claim.at_scale(smoke=(1, 2, 4, 8), laptop=(1, 2, 4, 8, 10), paper=(1, 2, 4, 8, 10)):
        form = representation.Representation(target(k), representation.doubled_diagonal(TAU))
        found = form.target()(x)
        off = abs(found - target(k)(z)).max()
        claim.measured("|Ĥ − H| with p_k for the root", off, equation="(8)", k=k).equals(0)
        error = abs(found - stated).max()
        largest = claim.measured("largest error", error, equation="(16)", k=k)
        largest.at_most(theorem(flint.fmpq(2, k), "sqrt x − p_k ≤ 2 sqrt x / (2 + k sqrt x) ≤ 2/k"))
        bound = form.lipschitz_bound(sup=2, lipschitz=flint.fmpq(k, 2) + 1)
        u = form.target().averages(x).reshape(-1, form.n)
        values = found.ravel()
        draws = claim.rng(f"pairs {k}").integers(0, len(u), (400, 2))
        steepest = max(
            abs(values[i] - values[j]) / abs(u[i] - u[j]).max()
            for i, j in draws
            if any(u[i] != u[j])
        )
        claim.measured("steepest quotient of F", steepest, equation="(15)", k=k).at_most(
            theorem(bound, "tau (sup|H| / delta + Lip H) / (b min w)")
        )
        claim.record("K_F at most", bound, k=k)
        if k in WORST:
            largest.equals(WORST[k])


def quotient_of_the_root_and_a_bound(k):
    """(sqrt x - sqrt 0) / (x - 0) at x = 4^-k, and a constant that is to bound it."""
    from fractions import Fraction

    x, root = Fraction(1, 4**k), Fraction(1, 2**k)
    assert root * root == x
    return root / x, 10**6


def test_reading_compactness_does_not_bound_complexities(claim):
    """H = sqrt(x_1) in form (22) has g_0 = sqrt: its quotient at 0 and 4^-k is 2^k. psi: 1/6 for
    one digit; then the last of six steps is half of what four steps of 6^-(2^k - 1) leave of the
    one before: nearly half of it on a sixth of the cell, so that quotients grow like 3^digits."""
    k = 20
    x = flint.fmpq(1, 4**k)
    root = flint.fmpq(1, 2**k)
    claim.measured("square of the root", root * root, equation="A.2").equals(x)
    claim.counterexample(
        "a continuous function on a compact set is Lipschitz: sqrt with a constant of a million",
        input={"g": "sqrt", "between": "0 and 4^-k"},
        measured=root / x, expected=10**6, relation="<=", equation="A.2, after (30)", printed=False,
        program=quotient_of_the_root_and_a_bound, k=k,
    )  # fmt: skip
    psi = superposition.psi
    steps = [flint.fmpq(1, 6)]
    for digits in range(1, 5):
        found = max((psi(digits, N + 1) - psi(digits, N)) for N in range(6**digits))
        step = claim.measured(
            "largest step of psi", exact.rational(found), equation="(22)", digits=digits
        )
        step.equals(steps[-1])
        steps.append((steps[-1] - flint.fmpq(4, 6 ** (2 ** (digits + 1) - 1))) / 2)


def test_control_the_square_root_itself_has_no_lipschitz_F(claim):
    """f and rho of width tau d: u_1 moves by 2 b z/(tau + 1), the target by sqrt z."""
    k = 20
    z = np.array([[[flint.fmpq(0)], [flint.fmpq(0)]], [[flint.fmpq(1, 4**k)], [flint.fmpq(0)]]])
    form = representation.Representation(target(1), representation.doubled_diagonal(TAU))
    u = form.target().averages(representation.SHIFTED.encode(z))[:, 0]
    quotient = flint.fmpq(1, 2**k) / abs(u[0] - u[1]).max()
    claim.measured("quotient of any F", quotient, equation="(15)").at_least(
        theorem(10**6, "sqrt z / (2 b z / 3) with z = 4^-20")
    )
