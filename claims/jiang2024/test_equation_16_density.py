"""Equation (16) (jiang2024, Section 4.3, argued at the end of A.2): a space that is dense.

The targets with finite C_0, C_1^(alpha) and C_2^(beta)(., k) for all k are dense in the continuous
maps from X^(E) to Y, if n is large enough.

Checked: on a target that is not Lipschitz, H_t(x) = sqrt(x_1) + (t - 1) x_2. The polynomials
p_{k+1} = p_k + (x - p_k^2)/2, p_0 = 0, approximate sqrt x within 2/k with the Lipschitz constant
k/2. With p_k for sqrt the target has, in rationals, an exact representation of width n = tau d
whose coupling has tau singular values log 2 and whose F is Lipschitz with a constant of order k:
C_0, C_1 are numbers, and F, f and the bases are Lipschitz, so C_2 is finite for every scheme that
takes Lipschitz functions. Error and complexity are tabled against k.
A reading of the argument in A.2 fails, not the statement: that a continuous function on a compact
set has a finite complexity. sqrt has none for K_F, nor have the inner functions of Theorem A.1: the
quotients of Sprecher's grow by 3 with every digit.
Control: sqrt itself, for which no Lipschitz F exists with this f and rho.

Not checked: density for all targets, which is Weierstrass's theorem and the representation of width
tau d (finding-representation-n-tau-d).

Readings: C for the C~ on the right of (16); k >= 1 as "for all k".
"""

import itertools
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.bounds import chosen, theorem
from repro.jiang2024 import representation
from repro.numerics import superposition

TAU = 2
ROOTS = [flint.fmpq(j, 16) for j in range(17)]  # so that the square root of z is rational


def square_root(k, x):
    """p_k(x); numbers, arrays or polynomials."""
    p = 0 * x
    for _ in range(k):
        p = p + (x - p * p) / 2
    return p


def target(k):
    def H(z):
        first, second = z[..., 0, 0], z[..., 1, 0]
        return np.stack([square_root(k, first) + t * second for t in range(TAU)], axis=-1)

    return H


def places():
    pairs = itertools.product(ROOTS, ROOTS[::4])
    return np.array([[[root * root], [other]] for root, other in pairs])


@pytest.mark.exact
def test_the_polynomials_have_the_lipschitz_constant_k_over_2(claim):
    """p_k'(0) = k/2; and p_{k+1}' = p_k' (1 - p_k) + 1/2 with 0 <= p_k <= 1: no larger anywhere."""
    x = flint.fmpq_poly([0, 1])
    for k in range(1, 6):
        p = square_root(k, x)
        claim.measured(f"p_{k}'(0)", p.derivative()(flint.fmpq(0)), equation="k/2").equals(
            flint.fmpq(k, 2)
        )
        values = [p(flint.fmpq(j, 64)) for j in range(65)]
        outside = sum(not 0 <= value <= 1 for value in values)
        claim.measured(f"values of p_{k} outside [0, 1]", outside, equation="0 ≤ p_k ≤ 1").equals(0)


@pytest.mark.construct
def test_error_and_complexity_along_a_dense_sequence(claim):
    forms, z = representation, places()
    x = forms.SHIFTED.encode(z)
    stated = np.array(
        [
            [root + t * other for t in range(TAU)]
            for root, other in itertools.product(ROOTS, ROOTS[::4])
        ]
    )
    before = None
    for k in claim.at_scale(smoke=(1, 2, 4, 8), laptop=(1, 2, 4, 8, 10), paper=(1, 2, 4, 8, 10)):
        form = forms.Representation(target(k), forms.doubled_diagonal(TAU))
        found = form.target()(x)
        claim.measured(f"|Ĥ − H^({k})|", abs(found - target(k)(z)).max(), equation="(8)").equals(0)
        error = abs(found - stated).max()
        theorem = "theorem: sqrt x - p_k <= 2 sqrt x / (2 + k sqrt x) <= 2/k"
        claim.measured("largest error", error, equation="dense", k=k).at_most(
            theorem(flint.fmpq(2, k), "sqrt x - p_k <= 2 sqrt x / (2 + k sqrt x) <= 2/k")
        )
        bound = form.lipschitz_bound(sup=2, lipschitz=flint.fmpq(k, 2) + 1)
        u = form.target().averages(x).reshape(-1, form.n)
        values = found.ravel()
        pairs = claim.rng(f"pairs {k}").integers(0, len(u), (400, 2))
        steepest = max(
            abs(values[i] - values[j]) / abs(u[i] - u[j]).max()
            for i, j in pairs
            if any(u[i] != u[j])
        )
        claim.measured("quotients of F", steepest, equation="K_F", k=k).at_most(
            theorem(bound, "tau (sup|H| / delta + Lip H) / (b min w)")
        )
        claim.cell(f"k = {k}", "largest error", paper="—", ours=f"{float(error):.3f}")
        claim.cell(f"k = {k}", "K_F at most", paper="—", ours=str(bound))
        if before is not None:
            claim.measured("largest error", error, equation="→ 0", k=k).at_most(
                chosen(before * flint.fmpq(9, 10), "by more than a tenth for each k tried")
            )
        before = error


def test_reading_compactness_does_not_bound_complexities(claim):
    """H = sqrt(x_1) in form (22) has g_0 = sqrt: its quotient at 0 and 4^-k is 2^k."""
    k = 20
    x = flint.fmpq(1, 4**k)
    root = flint.fmpq(1, 2**k)
    claim.measured("the root", root * root, equation="sqrt").equals(x)
    claim.counterexample(
        "components on a compact set have finite complexity: K_F of g = sqrt is at most 10^6",
        input={"g": "sqrt", "between": ["0", f"4^-{k}"]},
        measured=root / x,
        expected=10**6,
        relation="<=",
        equation="A.2, after (30); K_F of (15)",
        printed=False,
        snippet="from fractions import Fraction\n"
        "x, root = Fraction(1, 4**20), Fraction(1, 2**20)\n"
        "print('quotient of sqrt at 0:', root / x, ' and without end: 2^k at 4^-k')\n",
    )
    psi = superposition.psi
    slopes = [max((psi(r, N + 1) - psi(r, N)) * 6**r for N in range(6**r)) for r in (1, 2, 3, 4)]
    claim.record("steepest quotient of psi, digits 1 to 4", [float(s) for s in slopes])
    for before, after in itertools.pairwise(slopes):
        claim.measured("growth per digit", after / before, equation="Sprecher's ψ").at_least(
            chosen(Fraction(5, 2), "8/3, 3.00, 3.00 seen; half of a jump, on a sixth of a cell")
        )


def test_control_the_square_root_itself_has_no_lipschitz_F(claim):
    """f and rho of width tau d: u_1 moves by 2 b z/(tau + 1), the target by sqrt z."""
    forms, k = representation, 20
    z = np.array([[[flint.fmpq(0)], [flint.fmpq(0)]], [[flint.fmpq(1, 4**k)], [flint.fmpq(0)]]])
    form = forms.Representation(target(1), forms.doubled_diagonal(TAU))
    u = form.target().averages(forms.SHIFTED.encode(z))[:, 0]
    quotient = flint.fmpq(1, 2**k) / abs(u[0] - u[1]).max()
    claim.measured("quotient of any F", quotient, equation="H = sqrt").at_least(
        theorem(10**6, "sqrt z / (2 b z / 3) with z = 4^-20; the polynomials have 4.5 k at most")
    )
