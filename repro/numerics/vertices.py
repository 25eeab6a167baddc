"""The best vertex of an l1 problem in high precision, from a start in float64.

Given rows (one for each time, one column for each function) and values, the sum of |values - rows
alpha| is least at a vertex: at as many rows as there are functions the residual is 0, and there is
a z, |z| <= 1, orthogonal to the columns, that is the sign of the residual at all others. `optimum`
finds it for one sum, `least_worst` for the largest of several; l1.py proves the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import flint
import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.optimize import linprog

BITS, EACH = 512, 24  # to begin with, and for each function; doubled until they are independent
MOST_BITS = 1 << 15
SPARE = 128  # setting: bits by which a pivot must exceed its own uncertainty
ORTHONORMAL = 1e-12  # within which Q^T Q must be the identity
EXCHANGES = 400  # of one interpolation time for another
SHARE = 1e-9  # below which a kernel does not take part in the worst case
LP = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class NotConverged(ArithmeticError):
    """A linear program that the solver gave up, or exchanges that did not come to an end."""


class Undecided(NotConverged):
    """A sign that the precision in force does not tell."""


def dot(a: Sequence[flint.arb], b: Sequence[flint.arb]) -> flint.arb:
    return sum((x * y for x, y in zip(a, b, strict=True)), flint.arb(0))


def column(entries: Sequence[flint.arb]) -> flint.arb_mat:
    return flint.arb_mat([[entry] for entry in entries])


def sign(value: flint.arb) -> int:
    if value.contains(0):
        raise Undecided(f"the precision does not tell the sign of {value}")
    return 1 if value > 0 else -1


@dataclass(frozen=True)
class Basis:
    """Orthonormal columns that span those of the rows, in float64, found with so many bits."""

    Q: np.ndarray
    bits: int


def independent(
    make: Callable[[], list[list[flint.arb]]], count: int, least: int = 0
) -> tuple[list[list[flint.arb]], Basis]:
    """The rows, at the first precision at which their columns are seen to be independent."""
    bits = max(BITS, EACH * count, least)
    while bits <= MOST_BITS:
        with flint.ctx.workprec(bits):
            rows = make()
            basis = _basis(rows)
        if basis is not None:
            return rows, basis
        bits *= 2
    raise NotConverged(f"{MOST_BITS} bits do not tell the functions apart")


def _basis(rows: list[list[flint.arb]]) -> Basis | None:
    matrix = flint.arb_mat(rows)
    R = _cholesky(matrix.transpose() * matrix)
    if R is None:
        return None
    entries = (matrix * R.inv()).entries()
    Q = np.array([float(entry) for entry in entries]).reshape(len(rows), -1)
    if not np.abs(Q.T @ Q - np.eye(Q.shape[1])).max() < ORTHONORMAL:
        return None
    return Basis(Q, flint.ctx.prec)


def _cholesky(gram: flint.arb_mat) -> flint.arb_mat | None:
    """Upper triangular R with R^T R = gram, or None if the precision does not carry it."""
    n = gram.nrows()
    R = [[flint.arb(0)] * n for _ in range(n)]
    for i in range(n):
        pivot = gram[i, i] - dot([R[k][i] for k in range(i)], [R[k][i] for k in range(i)])
        if not pivot > 0 or pivot.rel_accuracy_bits() < SPARE:
            return None
        R[i][i] = pivot.sqrt()
        for j in range(i + 1, n):
            done = dot([R[k][i] for k in range(i)], [R[k][j] for k in range(i)])
            R[i][j] = (gram[i, j] - done) / R[i][i]
    return flint.arb_mat(R)


def optimum(
    rows: list[list[flint.arb]], values: list[flint.arb], basis: Basis
) -> tuple[list[int], list[flint.arb], list[flint.arb]]:
    """Rows that are met exactly, the coefficients, and z with |z| <= 1, orthogonal to the columns.

    An exchange of Barrodale and Roberts: |z_i| > 1 at a chosen row i means that the error falls if
    the residual there leaves 0 on the side of the sign of z_i. Along this line the error is convex
    and piecewise linear; the row at which it stops falling is chosen instead of i.
    """
    matrix = flint.arb_mat(rows)
    chosen, signs = _start(basis.Q, np.array([float(value) for value in values]))
    for _ in range(EXCHANGES):
        square = flint.arb_mat([rows[i] for i in chosen])
        alpha = square.solve(column([values[i] for i in chosen]))
        residual = [v - p for v, p in zip(values, (matrix * alpha).entries(), strict=True)]
        _follow(signs, residual)
        pull = matrix.transpose() * column([flint.arb(int(sign)) for sign in signs])
        z = square.transpose().solve(-1 * pull).entries()
        worst = max(range(len(chosen)), key=lambda k: abs(float(z[k])))
        if abs(float(z[worst])) <= 1 + 2.0**-40:
            return chosen, alpha.entries(), _feasible(signs, chosen, z)
        leave = sign(z[worst])
        unit = [flint.arb(-leave if k == worst else 0) for k in range(len(chosen))]
        slope = (matrix * square.solve(column(unit))).entries()
        entering, passed = _stop(residual, slope, signs, abs(float(z[worst])))
        signs[passed] *= -1
        signs[chosen[worst]], signs[entering], chosen[worst] = leave, 0, entering
    raise NotConverged(f"no optimum after {EXCHANGES} exchanges")


def _start(Q: np.ndarray, values: np.ndarray) -> tuple[list[int], np.ndarray]:
    """The rows where the dual program in float64 has |z| < 1, and the signs of z elsewhere."""
    scale = np.abs(values).max()
    if not scale > 0:
        raise ValueError("the kernel vanishes on the whole window: nothing to approximate")
    H = Q.shape[1]
    found = linprog(-values / scale, A_eq=Q.T, b_eq=np.zeros(H), bounds=(-1, 1), options=LP)
    if found.x is None:
        raise NotConverged(f"the dual program of {Q.shape} rows and functions: {found.message}")
    z = found.x
    inside = np.maximum(1 - np.abs(z), 1e-12)
    chosen = [int(i) for i in _pivots(inside, Q)[:H]]
    signs = np.where(z < 0, -1, 1)
    signs[chosen] = 0
    return chosen, signs


def _pivots(weight: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """The rows in the order in which they are far from the span of those before, by weight."""
    _, order = cast(Any, qr((weight[:, None] * Q).T, pivoting=True, mode="r"))
    return order


def _follow(signs: np.ndarray, residual: list[flint.arb]) -> None:
    """Signs are those of the residual where it is not 0; where it is, they are free."""
    for i, value in enumerate(residual):
        if signs[i] and not value.contains(0):
            signs[i] = sign(value)


def _stop(
    residual: list[flint.arb], slope: list[flint.arb], signs: np.ndarray, pull: float
) -> tuple[int, list[int]]:
    """Where sum |residual - tau slope| stops falling as tau grows from 0, and what it passes.

    It falls at the rate pull - 1 at first, and each row that changes sign takes 2 |slope| off.
    """
    ahead = []
    for i, (r, s) in enumerate(zip(residual, slope, strict=True)):
        if signs[i] and not s.contains(0) and signs[i] * float(s) > 0:
            ahead.append((max(0.0, float(r / s)) if not r.contains(0) else 0.0, i))
    rate, passed = 1 - pull, []
    for _, i in sorted(ahead):
        rate += 2 * abs(float(slope[i]))
        if rate >= 0:
            return i, passed
        passed.append(i)
    raise NotConverged("the error falls without end: the rows do not span")


def _feasible(signs: np.ndarray, chosen: list[int], z: list[flint.arb]) -> list[flint.arb]:
    """The whole z, divided by its largest entry if that may exceed 1."""
    whole = [flint.arb(int(sign)) for sign in signs]
    for i, entry in zip(chosen, z, strict=True):
        whole[i] = entry
    largest = max((abs(entry).upper() for entry in z), key=float)
    return whole if largest <= 1 else [entry / largest for entry in whole]


def least_worst(
    rows: list[list[flint.arb]], values: list[flint.arb], basis: Basis, count: int
) -> tuple[list[int], list[flint.arb], list[flint.arb], list[flint.arb]]:
    """Rows met exactly, the coefficients, z and lam, at the vertex that float64 finds.

    At a vertex with k kernels of equal error E, H + 1 - k rows are met exactly, and with the signs
    s_t of the other residuals, coefficients and E solve one system, z and lam its transpose:
        phi(t) = rho(t) at the chosen rows,       sum_t s_t phi_B(t) + E = sum_t s_t rho_B(t);
        sum z_t f_h(t) + sum_B lam_B sum_t s_t f_h(t) = 0,       sum_B lam_B = 1.
    """
    H, size = len(rows[0]), len(rows) // count
    z, lam = _worst_case(basis.Q, np.array([float(v) for v in values]), count)
    active, chosen, signs = _vertex(z, lam, basis.Q)
    system = [[*rows[i], flint.arb(0)] for i in chosen]
    right = [values[i] for i in chosen]
    for B in active:
        part = range(B * size, (B + 1) * size)
        s = flint.arb_mat([[flint.arb(int(signs[i])) for i in part]])
        system.append([*(s * flint.arb_mat([rows[i] for i in part])).entries(), flint.arb(1)])
        right.append((s * column([values[i] for i in part]))[0, 0])
    square = flint.arb_mat(system)
    alpha = square.solve(column(right)).entries()[:-1]
    solved = square.transpose().solve(column([*[flint.arb(0)] * H, flint.arb(1)])).entries()
    shares = dict(zip(active, solved[len(chosen) :], strict=True))
    whole = [shares.get(i // size, flint.arb(0)) * int(signs[i]) for i in range(len(rows))]
    for i, entry in zip(chosen, solved, strict=False):
        whole[i] = entry
    parts = (whole[B * size : (B + 1) * size] for B in range(count))
    largest = [max((abs(entry).upper() for entry in part), key=float) for part in parts]
    return chosen, alpha, whole, largest


def _vertex(
    z: np.ndarray, lam: np.ndarray, Q: np.ndarray
) -> tuple[list[int], list[int], np.ndarray]:
    """Which kernels have the worst error, which rows are met, and the signs of the others."""
    active = [B for B, share in enumerate(lam) if share > SHARE]
    bounds = np.repeat(lam, len(z) // len(lam))
    inside = np.where(bounds > SHARE, 1 - np.abs(z) / np.maximum(bounds, SHARE), 0)
    order = _pivots(np.maximum(inside, 1e-12), Q)
    chosen = [int(i) for i in order[: Q.shape[1] + 1 - len(active)]]
    signs = np.where(bounds > SHARE, np.sign(z), 0).astype(int)
    signs[chosen] = 0
    return active, chosen, signs


def _worst_case(Q: np.ndarray, values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """z and lam in float64: max z.values with Q^T z = 0, |z| <= lam_B in block B, sum lam = 1."""
    (R, H), each = Q.shape, len(values) // count
    one, spread = sparse.eye_array(R), sparse.kron(sparse.eye_array(count), np.ones((each, 1)))
    found = linprog(
        np.r_[-values, np.zeros(count)],
        A_ub=sparse.block_array([[one, -spread], [-one, -spread]]),
        b_ub=np.zeros(2 * R),
        A_eq=sparse.block_array(
            [[sparse.csr_array(Q.T), None], [None, sparse.csr_array(np.ones((1, count)))]]
        ),
        b_eq=np.r_[np.zeros(H), 1],
        bounds=[(-1, 1)] * R + [(0, 1)] * count,
        options=LP,
    )
    if found.x is None:
        raise NotConverged(f"the program for {count} kernels: {found.message}")
    return found.x[:R], found.x[R:]
