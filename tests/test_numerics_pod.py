"""Singular values of kernels: known spectra, and error bounds worked out another way."""

import itertools
import math

import flint
import numpy as np
import pytest

from repro.numerics import pod


@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("q", [1, 2, 4])
def test_gauss_integrates_polynomials_of_each_cell_exactly(cells, q):
    x, w = pod.gauss(cells, q)
    assert len(x) == len(w) == cells * q
    assert all(a < b for a, b in itertools.pairwise(x))
    for cell in range(cells):
        points, weights = x[cell * q : (cell + 1) * q], w[cell * q : (cell + 1) * q]
        for k in range(2 * q):
            found = sum((b * a**k for a, b in zip(points, weights, strict=True)), flint.arb(0))
            ends = [flint.fmpq(end, cells) ** (k + 1) / (k + 1) for end in (cell, cell + 1)]
            assert found.contains(ends[1] - ends[0])
            assert found.rad() < 1e-12


def legendre(k, u):
    """Orthonormal on [0, 1]."""
    return [1, 2 * u - 1, 6 * u * u - 6 * u + 1][k] * flint.arb(2 * k + 1).sqrt()


def kernel(u, v):
    """Singular values 3, 2, 1/2; the left and right functions differ."""
    pairs = ((3, 0, 1), (2, 2, 0), (flint.fmpq(1, 2), 1, 2))
    return sum((s * legendre(i, u) * legendre(j, v) for s, i, j in pairs), flint.arb(0))


def test_a_known_decomposition_is_found():
    found = pod.decompose(kernel, 2, 3, flint.arb(0))
    for value, known in zip(found.values, [3, 2, 0.5, 0, 0, 0], strict=True):
        assert value.contains(flint.arb(known))
        assert value.rad() < 1e-12
    assert found.square.contains(flint.fmpq(53, 4))
    for r, tail in enumerate([13.25, 4.25, 0.25, 0]):
        assert found.tail(r).contains(flint.arb(tail))
        assert found.tail(r).rad() < 1e-5  # the root of a rounding
    x = found.points
    for k, (i, j) in enumerate([(0, 1), (2, 0), (1, 2)]):
        left, right = (np.array([float(legendre(n, flint.arb(u))) for u in x]) for n in (i, j))
        sign = np.sign(found.left[0, k] * left[0])
        assert found.left[:, k] == pytest.approx(sign * left, abs=1e-12)
        assert found.right[:, k] == pytest.approx(sign * right, abs=1e-12)


def test_what_interpolation_misses_widens_every_ball():
    sharp, wide = (pod.decompose(kernel, 2, 3, flint.arb(e)) for e in (0, 0.125))
    assert [float(v.rad()) for v in wide.values] == pytest.approx([0.125] * 6, rel=1e-6)
    assert float(wide.tail(1)) == pytest.approx(4.25, rel=1e-6)
    radius = 2 * math.sqrt(4.25) * 0.125 + 0.125**2  # of the square of a ball
    assert float(wide.tail(1).rad()) == pytest.approx(radius, rel=1e-6)
    assert float(wide.square) == float(sharp.square)


def test_the_minimum_has_its_known_spectrum():
    """min(u, v) has the eigenvalues 1 / ((k - 1/2) pi)^2."""
    found = pod.decompose(lambda u, v: u.min(v), 8, 3, pod.minimum_error(8, 3))
    for k, value in enumerate(found.values[:6], start=1):
        assert value.contains(1 / ((flint.arb(k) - 0.5) * flint.arb.pi()) ** 2)
    assert found.error < 0.01


def test_the_minimum_is_missed_by_what_quadrature_on_triangles_finds():
    """By symmetry twice the triangle v < u, v = u t, on which all are polynomials."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    nodes, weights = (nodes + 1) / 2, weights / 2
    u, t = np.meshgrid(nodes, nodes, indexing="ij")
    v, area = u * t, weights[:, None] * weights * u
    for q in (2, 3, 5):
        x = (np.polynomial.legendre.leggauss(q)[0] + 1) / 2
        lagrange = [np.poly1d(np.poly(np.delete(x, i)), False) for i in range(q)]
        lagrange = [p / p(a) for p, a in zip(lagrange, x, strict=True)]
        met = sum(min(x[i], x[j]) * lagrange[i](u) * lagrange[j](v)
                  for i in range(q) for j in range(q))  # fmt: skip
        square = 2 * (area * (v - met) ** 2).sum()
        assert float(pod.minimum_error(1, q)) == pytest.approx(math.sqrt(square), rel=1e-9)
        assert float(pod.minimum_error(4, q)) == pytest.approx(math.sqrt(square) / 8, rel=1e-9)


def test_errors_of_minima_and_smooth_kernels():
    assert pod.minimum_error(1, 2) > 0
    # 2 (E_u + E_v) with E = 2 (h/4)^q sup / q!: 2 * 2 * 8^-3 / 6 * (5 + 7) = 1/64.
    assert pod.smooth_error(2, 3, (5, 7)).contains(flint.fmpq(1, 64))
    assert pod.smooth_error(2, 3, (5, 7)).rad() < 1e-15


@pytest.mark.parametrize("k", [2, 3, 6])
def test_the_bound_for_smooth_kernels_holds(k):
    """For cos(k u): its one singular value is |cos(k u)|_2, and rho_N's is off by no more."""
    cells, q = 2, 2
    bound = pod.smooth_error(cells, q, (k**q, 0))
    found = pod.decompose(lambda u, v: (k * u).cos(), cells, q, bound)
    exact = ((1 + (2 * flint.arb(k)).sin() / (2 * k)) / 2).sqrt()
    assert found.values[0].contains(exact)
    assert 0 < abs(found.interpolant[0] - exact) < bound


def test_every_matrix_of_balls_has_its_singular_values_in_them():
    rng = np.random.default_rng(0)
    middle = rng.normal(size=(4, 4))
    balls = flint.arb_mat([[flint.arb(a, 1e-3) for a in row] for row in middle.tolist()])
    found, U, V = pod.singular_values(balls)
    assert np.allclose(U @ np.diag([float(s) for s in found]) @ V, middle, atol=1e-12)
    for _ in range(50):
        moved = middle + 1e-3 * rng.choice([-1, 1], size=(4, 4))
        for ball, s in zip(found, np.linalg.svd(moved, compute_uv=False), strict=True):
            assert ball.contains(flint.arb(s))
    assert all(ball.rad() < 4.1e-3 for ball in found)  # |E|_F = 4e-3


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_decomposition_that_is_not_orthogonal_is_paid_for(side, monkeypatch):
    """A = 20 I; U or V is (1 + d) I and s = 16: |E|_F and |Q^T Q - 1|_F are sqrt(2) times these."""
    d, s = 2.0**-6, 16.0
    one, other = np.eye(2), (1 + d) * np.eye(2)
    U, V = (other, one) if side == "left" else (one, other)
    monkeypatch.setattr(np.linalg, "svd", lambda A: (U, np.array([s, s]), V))
    found, _, _ = pod.singular_values(flint.arb_mat([[20, 0], [0, 20]]))
    wanted = math.sqrt(2) * ((20 - (1 + d) * s) + ((1 + d) ** 2 - 1) * s)
    for ball in found:
        assert float(ball.mid()) == s
        assert float(ball.rad()) == pytest.approx(wanted, rel=1e-6)
