"""Equations (10) and (11) (jiang2024, Section 4.3): a singular value decomposition for couplings.

rho(u, v) = sum_k sigma_k phi_k(u) psi_k(v) with orthonormal phi_k, psi_k, and no rho^ of rank r has
|rho - rho^|_2^2 below sum_{k > r} sigma_k^2, which the truncation attains.

Proof of (11); (10) is quoted (Schmidt 1907), for square integrable rho. The truncation leaves the
terms k > r, which are orthonormal up to sigma_k: it attains the sum. Let rho^(u, v) be
sum_{j <= r} a_j(u) b_j(v), and P the orthogonal projection of L2 onto the span of b_1, ..., b_r.
For each u, rho^(u, .) lies in that span, so |rho(u, .) - rho^(u, .)| >= |(1 - P) rho(u, .)|.
   (i)  Squared and integrated over u, the phi_k being orthonormal: with p_k = |P psi_k|^2
        |rho - rho^|^2 >= sum_k sigma_k^2 |(1 - P) psi_k|^2 = sum_k sigma_k^2 (1 - p_k).
  (ii)  0 <= p_k <= 1, and sum_k p_k <= r by Bessel's inequality, for an orthonormal basis of the
        span.
 (iii)  sum_k sigma_k^2 p_k <= sum_{k <= r} sigma_k^2, since
        sum_{k > r} sigma_k^2 p_k <= sigma_r^2 (r - sum_{k <= r} p_k)
                                  <= sum_{k <= r} sigma_k^2 (1 - p_k).
So |rho - rho^|^2 >= sum_{k > r} sigma_k^2.                                                     QED

Checked: (i)-(iii) in rationals, for random couplings of rank r. Balls around the singular values,
by Gauss quadrature, contain the known values of four kernels (min(u, v), two of waves, the mixed
one of D.3) and shrink at the order of interpolation. The functions are orthonormal, the truncation
leaves the tail, and alternating least squares from random starts ends at the tail and never below
its ball.

Readings: Lebesgue measure; [0, 1] for I, a piece of unit length. A system that ends with the rank
can be continued to an orthonormal basis, which is printed: only (14) and Section 4.3 see it.
"""

import math

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.jiang2024 import couplings
from repro.numerics import exact, pod, roundoff

POINTS = {"minimum": 64, "sines": 40, "sines and cosines": 40, "D.3": 24}
kernels = pytest.mark.parametrize("name", list(POINTS))
SIGMA = (flint.fmpq(1), flint.fmpq(1, 2), flint.fmpq(1, 5), flint.fmpq(1, 10))


def known(name, k):
    """sigma_k, k = 0, 1, ..., in balls."""
    if name == "minimum":
        return 1 / ((2 * k + 1) * flint.arb.pi() / 2) ** 2
    if name == "D.3":
        a, b = flint.arb(11).sqrt(), flint.arb(3).sqrt()
        return [(a + b) / 4, flint.arb(1) / 2, (a - b) / 4, *[flint.arb(0)] * 9][k]
    return flint.arb(SIGMA[k] if k < len(SIGMA) else 0)


def waves(name):
    """sum sigma_i 2 sin(2 pi i u) sin or cos(2 pi i v), in balls."""
    wave = "cos_pi" if "cosines" in name else "sin_pi"

    def kernel(u, v):
        pairs = ((s, 2 * i * u, 2 * i * v) for i, s in enumerate(SIGMA, start=1))
        return sum((2 * s * a.sin_pi() * getattr(b, wave)() for s, a, b in pairs), flint.arb(0))

    return kernel


def mixed(u, v):
    """1 + 2 sin(2 pi u) sin(2 pi (u + v)) = 1 + cos(2 pi v) - cos(2 pi (2u + v))."""
    return 1 + 2 * (2 * u).sin_pi() * (2 * (u + v)).sin_pi()


def sampled(name, x):
    """rho(x_i, x_j) in float64."""
    kernel = {"minimum": lambda u, v: u.min(v), "D.3": mixed}.get(name) or waves(name)
    return np.array([[float(kernel(flint.arb(u), flint.arb(v))) for v in x] for u in x])


def decomposition(name, points):
    """The POD from about `points` nodes: cells where there is a kink, one cell where there is none.

    For waves |d^q rho| <= sum 2 sigma_i (2 pi i)^q; for D.3 it is (4 pi)^q and 2 (2 pi)^q.
    """
    pi = flint.arb.pi()
    if name == "minimum":
        cells = points // 4
        return pod.decompose(lambda u, v: u.min(v), cells, 4, pod.minimum_error(cells, 4))
    if name == "D.3":
        error = pod.smooth_error(1, points, ((4 * pi) ** points, 2 * (2 * pi) ** points))
        return pod.decompose(mixed, 1, points, error)
    steep = sum(((2 * pi * i) ** points * 2 * s for i, s in enumerate(SIGMA, 1)), flint.arb(0))
    return pod.decompose(waves(name), 1, points, pod.smooth_error(1, points, (steep, steep)))


@kernels
@pytest.mark.certified
def test_known_singular_values_lie_in_the_balls(name, claim):
    found = decomposition(name, POINTS[name])
    for k, value in enumerate(found.values[:4]):
        claim.record("σ_k", value, k=k + 1)
        radius, off = flint.arb(value.rad()), abs(flint.arb(value.mid()) - known(name, k))
        claim.measured("distance of σ_k", off, equation="(10)", k=k + 1).at_most(
            theorem(radius, "Mirsky, |ρ − ρ_N|, and the residual of the SVD")
        )
    gap = min(abs(known(name, k) - known(name, k + 1)) for k in range(3 if name != "D.3" else 2))
    claim.measured("radius of the balls", radius, equation="(10)").at_most(
        theorem(gap.lower() / 2, "half the distance of two neighbouring σ_k: no ball holds both")
    )


@pytest.mark.certified
def test_rate_the_balls_shrink_like_the_error_of_interpolation(claim):
    """min(u, v): |rho - rho_N| is a constant times h^(3/2)."""
    sizes = claim.at_scale(smoke=(16, 32, 64), laptop=(16, 32, 64, 128), paper=(16, 32, 64, 128))
    found = {N: decomposition("minimum", N) for N in sizes}
    for N in sizes[1:]:
        before, after = found[N // 2], found[N]
        ratio = after.error / before.error
        claim.measured("bound of the error, h halved", ratio, equation="(10)", points=N).within(
            flint.arb(2) ** flint.arb(-1.5),
            theorem(flint.fmpq(1, 10**6), "the square is n h⁴ for n = 1/h diagonal cells"),
        )


@pytest.mark.parametrize("q", [2, 3, 4, 5, 6], ids="q={}".format)
@pytest.mark.certified
def test_error_of_interpolation_is_near_its_bound(q, claim):
    """rho = u^q: the interpolation at Gauss's points of a cell of length h leaves h^q times
    Legendre's polynomial of leading coefficient 1, orthogonal to the interpolant. So |rho|^2 =
    1/(2q + 1) exceeds |rho_N|^2 by the square of h^q (q!)^2 / ((2q)! sqrt(2q + 1))."""
    for cells in (1, 2):
        bound = pod.smooth_error(cells, q, (math.factorial(q), 0))
        found = pod.decompose(lambda u, v: u**q, cells, q, bound)
        measured = (flint.fmpq(1, 2 * q + 1) - found.square).sqrt()
        legendre = math.factorial(q) ** 2 / (math.factorial(2 * q) * flint.arb(2 * q + 1).sqrt())
        ratio, near = measured * cells**q / legendre, flint.fmpq(1, 1000)
        claim.measured("|ρ − ρ_N| over Legendre's", ratio, equation="(10)", cells=cells).within(
            1, theorem(near, "Legendre; 1e-3 for the difference")
        )
        why = "twice the best uniform error; Chebyshev's 2 (h/4)^q for Legendre's"
        error = claim.measured("|ρ − ρ_N|", measured, equation="(10)", cells=cells)
        error.at_most(theorem(bound, why)).at_least(theorem(bound / 4, why))


@kernels
@pytest.mark.certified
def test_functions_are_orthonormal_and_the_truncation_leaves_the_tail(name, claim):
    """With float64 functions: sums over the nodes are the integrals of interpolants."""
    found, r = decomposition(name, POINTS[name]), 2
    _, w = pod.gauss(*((16, 4) if name == "minimum" else (1, POINTS[name])))
    weights = np.array([float(value) for value in w])
    why = "20 N u, an orthogonal U to N u and N products of 5 roundings"
    rounded = rounding_error(20 * len(w) * roundoff.unit("float64"), why)
    for side, functions in (("φ", found.left[:, :4]), ("ψ", found.right[:, :4])):
        off = abs((functions * weights[:, None]).T @ functions - np.eye(4)).max()
        distance = claim.measured("distance from orthonormal", off, equation="(10)", side=side)
        distance.at_most(rounded)
    sigma = np.array([float(s) for s in found.interpolant])
    kept = (found.left[:, :r] * sigma[:r]) @ found.right[:, :r].T
    whole = (found.left * sigma) @ found.right.T
    left = float((weights[:, None] * weights * (whole - kept) ** 2).sum())
    tail = found.tail(r)
    claim.measured("squared error of the truncation", left, equation="(11)", r=r).within(
        tail, theorem(tail.rad() + 1e-12, "the tail's ball; and 1e-12 for N² products below 2")
    )


@kernels
@pytest.mark.parametrize("r", [1, 2], ids="r={}".format)
@pytest.mark.best_in_class
def test_least_squares_from_random_starts_ends_at_the_tail(name, r, claim):
    """Equispaced grid, so that waves are exact; for the others the tail of the grid's matrix. Each
    round is a step of subspace iteration: after 200 what is left of sigma_(r+1) is at most
    (sigma_(r+1) / sigma_r)^400, 1e-40 here, times what a random start makes of it."""
    N = 48
    x = (np.arange(N) + 0.5) / N
    A = sampled(name, x) / N
    tail = (np.linalg.svd(A, compute_uv=False)[r:] ** 2).sum()
    rounded = rounding_error(1e-12, "48² products of sums of 48, all below 2")
    for start in range(4):
        V = claim.rng(f"start {start}").standard_normal((N, r))
        for _ in range(200):
            U = A @ np.linalg.qr(V)[0]
            V = A.T @ np.linalg.qr(U)[0]
        cost = ((A - np.linalg.qr(U)[0] @ V.T) ** 2).sum()
        claim.measured("cost found", cost, equation="(11)", start=start).within(tail, rounded)
    if name != "minimum":
        certified = decomposition(name, POINTS[name]).tail(r)
        why = "N > 2R points see waves exactly; 1e-9 for rounding"
        claim.measured("tail on the grid", tail, equation="(11)").within(
            certified, theorem(certified.rad() + 1e-9, why)
        )


def steps_that_fail(case):
    """How many of (i)-(iii) fail, for rho = diag(SIGMA) on four cells of length 1: phi_k = psi_k is
    1 on cell k. rho^ = a b^T, for integers; (i) also with the best a, where it is an equality."""
    r, numbers = case
    n, entries = len(SIGMA), list(numbers)
    a, b = (flint.fmpq_mat(n, r, [entries.pop() for _ in range(n * r)]) for _ in range(2))
    gram = b.transpose() * b
    if gram.det() == 0:
        return 0  # of smaller rank
    P = b * gram.inv() * b.transpose()
    p = [P[k, k] for k in range(n)]
    rho = flint.fmpq_mat(n, n, [SIGMA[i] * (i == j) for i in range(n) for j in range(n)])

    def square(rest):
        return sum(entry * entry for entry in rest.entries())

    projected = sum(s * s * (1 - q) for s, q in zip(SIGMA, p, strict=True))
    steps = [
        square(rho - a * b.transpose()) >= projected,
        square(rho - rho * P) == projected,
        all(0 <= q <= 1 for q in p),
        sum(p) == r,
        sum(s * s * q for s, q in zip(SIGMA, p, strict=True)) <= sum(s * s for s in SIGMA[:r]),
    ]
    return steps.count(False)


@pytest.mark.exact
def test_the_steps_of_the_proof_for_random_couplings(claim):
    integers = st.lists(st.integers(-5, 5), min_size=24, max_size=24)
    cases, name = st.tuples(st.integers(1, 3), integers), "steps that fail"
    examples = claim.at_scale(smoke=50, laptop=500, paper=20000)
    claim.for_all(name, cases, steps_that_fail, equation="(11)", examples=examples)


def test_control_without_the_weights_the_values_are_those_of_no_kernel(claim):
    """The bare matrix [rho(x_i, x_j)] has values about N times too large."""
    N = 24
    x, _ = pod.gauss(1, N)
    A = sampled("D.3", x)
    largest = np.linalg.svd(A, compute_uv=False)[0]
    claim.measured("largest singular value without weights", largest, equation="(10)").at_least(
        theorem(2, "σ_1 = (√11 + √3)/4 is below 2; without weights it grows like the 24 points")
    )


def test_control_keeping_the_last_terms_leaves_the_first(claim):
    """r = 2 of the four sines, at the nodes: terms 3 and 4 leave 1 + 1/4, 1 and 2 the tail 1/20."""
    found = decomposition("sines", 40)
    weights = np.array([float(value) for value in pod.gauss(1, 40)[1]])
    at_nodes = sampled("sines", found.points)
    sigma = np.array([float(s) for s in found.interpolant])
    terms = slice(2, 4)
    kept = (found.left[:, terms] * sigma[terms]) @ found.right[:, terms].T
    left = float((weights[:, None] * weights * (at_nodes - kept) ** 2).sum())
    claim.measured("squared error of terms 3 and 4", left, equation="(11)").at_least(
        theorem(24 * float(found.tail(2)), "5/4 against 1/20, a factor 25")
    )


@pytest.mark.certified
def test_the_coupling_of_section_5_1_has_the_singular_values_that_were_chosen(claim):
    """couplings.Coupling, both kinds, and glued over three pieces; its waves are orthonormal on an
    equispaced grid of more than 2R points, whatever the sigma_i."""
    for u, key, by_hand in (("1/4", "sin", 2), ("1/12", "sin", 1), ("0", "cos", 2)):
        pair = exact.rationals([["1/4"], [u]])
        value = couplings.Coupling(exact.vector(SIGMA[:2]), key).rho(pair[:1], pair[1:])[0, 0]
        at = {"equation": "(68)", "key": key, "v": u}
        claim.measured("ρ(1/4, v) of two waves", value, **at).within(
            by_hand, theorem(flint.fmpq(1, 10**12), "2 sin π/2 (1, 1/2, or 1), and sin π; balls")
        )
    for key, pieces in (("sin", 0), ("cos", 0), ("sin", 3)):
        coupling = couplings.Coupling(exact.vector(SIGMA), key, pieces)
        n = 12
        grid = exact.rationals([flint.fmpq(2 * j + 1, 2 * n) for j in range(n)])[:, None]
        x = np.concatenate([grid + 2 * t for t in range(1, pieces + 1)]) if pieces else grid
        values = pod.singular_values(flint.arb_mat(coupling.rho(x, x).tolist()))[0]
        for k, sigma in enumerate(SIGMA, start=1):
            off = abs(values[k - 1] / n - flint.arb(sigma))
            where = {"k": k, "key": key, "pieces": pieces}
            claim.measured("distance of σ_k", off, equation="(68)", **where).at_most(
                theorem(flint.fmpq(1, 10**12), "discrete orthogonality; balls")
            )
