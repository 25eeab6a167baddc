"""Vertices of l1 problems: by hand, by brute force from every start, and by their duals."""

import itertools

import flint
import numpy as np
import pytest

from repro.numerics import vertices
from repro.numerics.vertices import NotConverged, Undecided

arb = flint.arb


def balls(array):
    return [[arb(a) for a in row] for row in np.asarray(array, dtype=float).tolist()]


def floats(entries):
    return np.array([float(entry) for entry in entries])


def basis(rows):
    return vertices.independent(lambda: balls(rows), np.shape(rows)[1])[1]


def test_signs_and_nothing():
    assert [vertices.sign(arb(v)) for v in (2, -3, "0.1")] == [1, -1, 1]
    for unclear in (arb(0), arb(1, 1), arb(-1, 2)):
        with pytest.raises(Undecided, match="does not tell the sign"):
            vertices.sign(unclear)
    signs = np.array([1, 1, 0, -1, -1])
    vertices._follow(signs, list(map(arb, [2, -2, 3, 0, 4])))
    assert signs.tolist() == [1, -1, 0, -1, 1]
    with pytest.raises(ValueError, match="vanishes on the whole window"):
        vertices._start(np.ones((3, 1)), np.zeros(3))


# --- precision -----------------------------------------------------------------------------------


def close(exponent):
    """Two columns that differ by 2^-exponent: a pivot of 4^-exponent."""
    third = arb(1) / 3
    return [[third, third], [arb(0), third * arb(2) ** -exponent]]


@pytest.mark.parametrize(
    ("exponent", "count", "least", "bits"),
    [(1, 2, 0, 512), (1, 30, 0, 720), (1, 2, 2000, 2000), (600, 2, 0, 2048), (925, 2, 0, 2048),
     (990, 2, 0, 4096)],
)  # fmt: skip
def test_the_precision_is_the_first_that_tells_columns_apart(exponent, count, least, bits):
    """2^-1850 leaves about 198 of 2048 bits, 2^-1980 only 68: less than SPARE."""
    rows, found = vertices.independent(lambda: close(exponent), count, least)
    assert found.bits == bits
    assert pytest.approx(np.eye(2), abs=1e-15) == found.Q
    with flint.ctx.workprec(bits):
        assert rows[1][1].overlaps(arb(2) ** -exponent / 3)


def test_dependent_columns_are_given_up_at_the_last_precision():
    asked = []

    def dependent():
        asked.append(flint.ctx.prec)
        return balls([[1, 2], [2, 4]])

    with pytest.raises(NotConverged, match="32768 bits do not tell the functions apart"):
        vertices.independent(dependent, 2)
    assert asked == [512 * 2**k for k in range(7)]


def test_cholesky_by_hand():
    """R^T R with R = (1 2 3; 0 2 2; 0 0 4)."""
    with flint.ctx.workprec(512):
        R = vertices._cholesky(flint.arb_mat([[1, 2, 3], [2, 8, 10], [3, 10, 29]]))
    assert R is not None
    assert floats(R.entries()).reshape(3, 3).tolist() == [[1, 2, 3], [0, 2, 2], [0, 0, 4]]
    assert vertices._cholesky(flint.arb_mat([[1, 2], [2, 1]])) is None
    assert vertices._cholesky(flint.arb_mat([[1, 1], [1, 1]])) is None
    # Not even a ball around 0.
    with flint.ctx.workprec(512):
        third = arb(1) / 3
        gram = [[4 * third if i == j else third for j in range(3)] for i in range(3)]
        R = vertices._cholesky(flint.arb_mat(gram))
    assert R is not None
    assert all(R[i, j] == 0 for i in range(3) for j in range(i))


def test_columns_that_are_not_orthonormal_are_no_basis(monkeypatch):
    monkeypatch.setattr(vertices, "_cholesky", lambda gram: flint.arb_mat([[1, 0], [0, 1]]))
    assert vertices._basis(balls([[1, 0], [0, 1]])) is not None
    assert vertices._basis(balls([[1, 0], [0, 1.001]])) is None


# --- one sum -------------------------------------------------------------------------------------


def least_sum(rows, values):
    """Of all interpolants at as many rows as there are columns, the least error."""
    H = rows.shape[1]
    errors = []
    for chosen in itertools.combinations(range(len(rows)), H):
        alpha = np.linalg.solve(rows[list(chosen)], values[list(chosen)])
        errors.append(np.abs(values - rows @ alpha).sum())
    return min(errors)


def judge(rows, values, chosen, alpha, z):
    """The vertex is met, and z proves that no other is better."""
    alpha, z = floats(alpha), floats(z)
    residual = values - rows @ alpha
    assert np.abs(residual[chosen]).max() < 1e-12
    assert np.abs(z).max() <= 1 + 1e-15
    assert np.abs(rows.T @ z).max() < 1e-12
    assert z @ values == pytest.approx(np.abs(residual).sum())
    assert np.abs(residual).sum() == pytest.approx(least_sum(rows, values))


def test_one_constant_is_the_median():
    rows, values = np.ones((5, 1)), np.array([0.0, 1.0, 5.0, -2.0, 7.0])
    chosen, alpha, z = vertices.optimum(balls(rows), list(map(arb, values.tolist())), basis(rows))
    assert (chosen, floats(alpha).tolist()) == ([1], [1])
    assert floats(z).tolist() == [-1, 0, 1, -1, 1]


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**100, 2.0**900])
def test_the_unit_of_the_values_does_not_matter(unit):
    """2 is the median of 1, 2, 7; a linear program takes costs from 1e20 on for infinite."""
    rows, values = np.ones((3, 1)), unit * np.array([1.0, 2.0, 7.0])
    chosen, alpha, z = vertices.optimum(balls(rows), list(map(arb, values.tolist())), basis(rows))
    assert (chosen, floats(alpha).tolist()) == ([1], [2 * unit])
    assert floats(z).tolist() == [-1, 0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_every_start_leads_to_the_same_optimum(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    rows, values = rng.normal(size=(8, 2)), rng.normal(size=8)
    exact, found = list(map(arb, values.tolist())), basis(rows)
    for start in itertools.combinations(range(8), 2):
        for guess in (1, -1):
            signs = np.full(8, guess)
            signs[list(start)] = 0
            monkeypatch.setattr(vertices, "_start", lambda *_, s=start, g=signs: (list(s), g))
            judge(rows, values, *vertices.optimum(balls(rows), exact, found))


# (values, the row to start from): rows that are met together, and an optimum that is not unique
TIES = {
    "three alike": ([9, 5, 5, 5, 0], 0),
    "three alike, from below": ([0, 5, 5, 5, 9], 0),
    "even number": ([0, 1, 2, 3], 1),
}


@pytest.mark.parametrize(("values", "start"), TIES.values(), ids=TIES)
def test_ties_leave_a_z_that_proves_the_optimum(values, start, monkeypatch):
    values, rows = np.array(values, dtype=float), np.ones((len(values), 1))
    signs = np.sign(values - values[start]).astype(int)
    monkeypatch.setattr(vertices, "_start", lambda *_: ([start], signs))
    judge(
        rows, values, *vertices.optimum(balls(rows), list(map(arb, values.tolist())), basis(rows))
    )


def test_exchanges_that_do_not_end_are_an_error(monkeypatch):
    rows = np.ones((5, 1))
    monkeypatch.setattr(vertices, "EXCHANGES", 1)
    monkeypatch.setattr(vertices, "_start", lambda *_: ([4], np.array([-1, -1, -1, -1, 0])))
    with pytest.raises(NotConverged, match="no optimum after 1 exchanges"):
        vertices.optimum(balls(rows), list(map(arb, range(5))), basis(rows))


@pytest.mark.parametrize("seed", range(4))
def test_the_start_in_float64_is_the_optimum_already(seed):
    rng = np.random.default_rng(seed)
    rows, values = rng.normal(size=(9, 3)), rng.normal(size=9)
    chosen, signs = vertices._start(basis(rows).Q, 1e-13 * values)
    alpha = np.linalg.solve(rows[chosen], values[chosen])
    residual = values - rows @ alpha
    assert np.abs(residual).sum() == pytest.approx(least_sum(rows, values))
    assert signs.tolist() == [0 if k in chosen else np.sign(r) for k, r in enumerate(residual)]


def test_a_line_search_stops_where_the_sum_is_least():
    """sum |r - tau s|, s = 1 for three rows: crossed at tau = 1, 2, 3, and 2 taken off at each."""
    residual, slope = list(map(arb, [2, 1, 3, 5])), list(map(arb, [1, 1, 1, -1]))
    signs = np.ones(4, dtype=int)
    assert vertices._stop(residual, slope, signs, 2.5) == (1, [])
    assert vertices._stop(residual, slope, signs, 3.0) == (1, [])
    assert vertices._stop(residual, slope, signs, 4.0) == (0, [1])
    assert vertices._stop(residual, slope, signs, 6.5) == (2, [1, 0])
    with pytest.raises(NotConverged, match="falls without end"):
        vertices._stop(residual, slope, signs, 7.5)
    signs[1] = 0  # a chosen row is not in the way
    assert vertices._stop(residual, slope, signs, 2.5) == (0, [])
    residual, slope = [arb(1), arb(0), arb(-1)], list(map(arb, [1, -1, 1]))
    signs = np.array([1, -1, 1])  # the last is behind: it counts as met now
    assert vertices._stop(residual, slope, signs, 2.0) == (1, [])
    assert vertices._stop(residual, slope, signs, 4.0) == (2, [1])


def test_z_is_divided_by_the_largest_that_an_entry_may_be():
    signs = np.array([1, 0, -1, 0])
    whole = vertices._feasible(signs, [1, 3], list(map(arb, ["0.5", "-0.25"])))
    assert floats(whole).tolist() == [1, 0.5, -1, -0.25]
    whole = vertices._feasible(signs, [3, 1], list(map(arb, ["0.5", -2])))
    assert floats(whole).tolist() == [0.5, -1, -0.5, 0.25]
    # One is between 1/2 and 3/2.
    whole = vertices._feasible(np.array([1, 0, -1]), [1], [arb(1, 0.5)])
    assert floats(whole) == pytest.approx([2 / 3, 2 / 3, -2 / 3])
    assert float(whole[1].upper()) == pytest.approx(1)


# --- the largest of several ----------------------------------------------------------------------


# rows, values, how many kernels: rows met, alpha, shares, z
KERNELS = {
    # max(|a| + |4 - a|, 2 |10 - a|) is least where 2a - 4 = 20 - 2a, with error 8
    "two": ([1] * 4, [0, 4, 10, 10], 2, [], [6], [0.5, 0.5], [-0.5, -0.5, 0.5, 0.5]),
    "two, at one time each": ([1, 1], [0, 4], 2, [], [2], [0.5, 0.5], [-0.5, 0.5]),
    "one row is met": ([2], [6], 1, [0], [3], [0], [0]),
    # the median of the first, whatever the second one, which then has an error of 1
    "the second is easier": (
        [1] * 6,
        [0, 5, 9, 5, 5.5, 4.5],
        2,
        [1],
        [5],
        [1, 0],
        [-1, 0, 1] + [0] * 3,
    ),
}


@pytest.mark.parametrize("kind", KERNELS)
def test_kernels_by_hand(kind):
    rows, values, count, *expected = KERNELS[kind]
    rows = np.array(rows, dtype=float)[:, None]
    met, *found = vertices.least_worst(balls(rows), list(map(arb, values)), basis(rows), count)
    alpha, z, lam = map(floats, found)
    assert [met, *map(pytest.approx, (alpha, lam, z))] == expected


def test_a_share_at_the_limit_is_left_out_whole(monkeypatch):
    """max(999999999 |a|, |1 - a|) is least at a = 1e-9, with shares 1e-9 and 1 - 1e-9."""
    rows, lam = np.array([[999999999.0], [1.0]]), np.array([vertices.SHARE, 1 - vertices.SHARE])
    monkeypatch.setattr(vertices, "_worst_case", lambda *_: (lam * [-1, 1], lam))
    _, (a,), _, _ = vertices.least_worst(balls(rows), [arb(0), arb(1)], basis(rows), 2)
    assert max(999999999 * abs(float(a)), abs(1 - float(a))) <= 1


def test_rows_are_chosen_by_weight_and_by_what_they_add():
    Q = np.array([[0.25, 0.5], [1.0, 0.5], [0.5, 1.5], [2.0, 1.0]])
    assert vertices._pivots(np.ones(4), Q)[:2].tolist() == [3, 2]  # 1 is half of 3
    assert vertices._pivots(np.array([9.0, 1.0, 1.0, 1.0]), Q)[:2].tolist() == [0, 3]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("count", "H"), [(2, 2), (3, 2), (3, 4)])
def test_the_dual_proves_the_worst_error(seed, count, H):
    rng, size = np.random.default_rng(seed), 7
    rows = rng.normal(size=(count * size, H))
    values = rng.normal(size=count * size) * np.repeat(1 + np.arange(count) % 2, size)
    exact = list(map(arb, values.tolist()))
    chosen, alpha, z, lam = vertices.least_worst(balls(rows), exact, basis(rows), count)
    alpha, z, lam = floats(alpha), floats(z), floats(lam)
    residual = (values - rows @ alpha).reshape(count, size)
    assert np.abs(rows.T @ z).max() < 1e-12
    assert np.abs(z).reshape(count, size).max(1) == pytest.approx(lam, rel=1e-14)  # rounding
    assert z @ values / lam.sum() == pytest.approx(np.abs(residual).sum(1).max())
    assert np.abs(residual.ravel()[chosen]).max(initial=0) < 1e-12
    assert len(chosen) + (lam > 1e-9).sum() == H + 1


def test_the_program_for_several_kernels_is_feasible_and_optimal():
    rows, values = np.ones((4, 1)) / 2, np.array([0.0, 4.0, 10.0, 10.0])
    z, lam = vertices._worst_case(rows, values, 2)
    assert z == pytest.approx([-0.5, -0.5, 0.5, 0.5])
    assert lam == pytest.approx([0.5, 0.5])


# --- what is only known to lie in a ball, and what is at its bound -------------------------------


def test_a_share_is_no_less_than_z_may_be():
    """A function of 9/10 to 11/10 at two times, one of them met: there |z| may be 11/9."""
    rows = [[arb(1, 0.1)], [arb(1, 0.1)]]
    *_, lam = vertices.least_worst(rows, [arb(0), arb(3)], basis(np.ones((2, 1))), 1)
    assert float(lam[0]) >= 11 / 9


def test_where_every_z_is_at_its_bound_a_row_without_functions_is_not_met():
    """|1| + |a| + |2 - a| is 3 for all a in [0, 2], with z = (1, -1, 1); the first is 1 for all a."""
    Q, values, z = basis([[0], [1], [1]]).Q, np.array([1.0, 0.0, 2.0]), np.array([1.0, -1.0, 1.0])
    assert vertices._start(Q, values)[0] in ([1], [2])
    assert vertices._vertex(z, np.ones(1), Q)[1] in ([1], [2])
