"""Theorem A.3 (jiang2024, A.2; later version: Theorem 4.1): every continuous target has form (8).

On d-dimensional encoded inputs of length tau, every continuous map equals a target of form (8) with
n = tau (2 tau d + 1) + 1; the later version says n = 2 tau d + 1.

Proof. Put each compact I_s into a cube, and extend the map to it (Tietze). By
repro/jiang2024/representation.py (finding-representation-n-tau-d) it has form (8) with n = tau d.
More coordinates of f, equal to 0 and unread by F, change nothing.                              QED

The printed proof has a gap: F_1 of (28) subtracts psi_qt(x_t), and nothing shows that this is a
function of u; the f of (26) has 2 tau d + 2 coordinates only. Corrected, it uses a coordinate for
each pair (q, t') and subtracts nothing.

Checked: the corrected proof, for targets with a known superposition (22) of 2 tau d + 1 terms: the
representation of the printed width has an error of exactly 0, for the weights of (25) and for
random positive ones. For psi = id, which is no inner family of Theorem A.1, u does not show
psi_qt(x_t): a step is missing, the theorem is not refuted. For n = 2 tau d + 1 and inner functions
that are sines, the least distance of all u_t on a grid of k points per variable, times k - 1, stays
above what it can at most be for n = 1, where it tends to 0.

Not checked: Theorem A.1, on which the printed proof rests (see its claim).
"""

import functools

import flint
import numpy as np
import pytest

from repro.bounds import exactly, rounding_error, theorem
from repro.jiang2024 import model, representation
from repro.numerics import arrays, exact, logarithms

ERROR = "largest |H_t − Ĥ_t|"
SCALED = "distance of the u_t, times k − 1"
SIZES = {"tau=2-d=1": (2, 1), "tau=3-d=1": (3, 1), "tau=2-d=2": (2, 2)}
cases = pytest.mark.parametrize("case", SIZES)


def places(claim, case):
    count = claim.at_scale(smoke=20, laptop=200, paper=2000)
    return exact.rationals(claim.rng("places").integers(0, 8, (count, *SIZES[case]))) / 7


@cases
@pytest.mark.exact
def test_the_printed_width_with_the_corrected_proof(case, claim):
    H, stated = TARGETS[case]()
    (tau, d), z = SIZES[case], places(claim, case)
    x = representation.SHIFTED.encode(z)
    form = representation.Superposed(H, representation.doubled_diagonal(tau))
    claim.measured("n", form.n, equation="Theorem A.3").equals(tau * (2 * tau * d + 1) + 1)
    claim.measured("|(22) − target|", abs(H(z) - stated(z)).max(), equation="(22)").equals(0)
    claim.measured(ERROR, abs(form.target()(x) - stated(z)).max(), equation="(30)").equals(0)
    outside = int(((form.f(x) < 0) | (form.f(x) > 1)).sum())
    claim.measured("entries of f outside [0, 1]", outside, equation="(26)").equals(0)


@cases
@pytest.mark.construct
def test_any_positive_weights_serve(case, claim):
    """The corrected f divides by the weights: nothing depends on 2/(tau + 1) and 1/(tau + 1)."""
    H, stated = TARGETS[case]()
    z, tau = places(claim, case), SIZES[case][0]
    for draw in range(claim.at_scale(smoke=3, laptop=10, paper=50)):
        w = exact.rationals(claim.rng(f"weights {draw}").integers(1, 1000, (tau, tau)))
        form = representation.Superposed(H, w / w.sum(-1, keepdims=True))
        error = abs(form.target()(representation.SHIFTED.encode(z)) - stated(z)).max()
        claim.measured(ERROR, error, equation="(8)", draw=draw).equals(0)


def doubled_sum(z, t):
    """(27) for tau = 2, psi_qs(x) = x: u_q = psi_t(x_t) + sum_s psi_s(x_s); and b = (1/2, 1)."""
    f = np.stack([z, exact.rationals(["1/2", "1"])], axis=-1)
    return f[t - 1] + f.sum(0)


def at_equal_averages(x, y, coordinates):
    """The sum of these coordinates at x and at y, which have the same u_1; tau = 2, psi(x) = x."""
    from fractions import Fraction

    x, y = ([Fraction(v) for v in z] for z in (x, y))
    assert 2 * x[0] + x[1] == 2 * y[0] + y[1]  # (27)
    return sum(x[s] for s in coordinates), sum(y[s] for s in coordinates)


def test_printed_equation_28_subtracts_what_u_does_not_show(claim):
    """H_t(x) = x_1 + x_2, in form (22) with psi_qs(x) = x: u_1 = 2 x_1 + x_2, H_1 = x_1 + x_2."""
    x, y = ["0", "1"], ["1/2", "0"]
    inputs = exact.rationals([x, y])
    averages = [doubled_sum(z, 1).tolist() for z in inputs]
    claim.measured("u_1 at x", averages[0], equation="(27)").equals(averages[1])
    for false, equation, coordinates in (
        ("F_1 of (28), which subtracts psi_qt(x_t), is a function of u", "(28)", [0]),
        ("some F gives H_1 = x_1 + x_2 from the f of (26)", "(29)-(30)", [0, 1]),
    ):
        left, right = (z[coordinates].sum() for z in inputs)
        claim.counterexample(
            false,
            input={"tau": 2, "d": 1, "t": 1, "psi_qs(x)": "x", "x": x, "y": y},
            measured=left, expected=right, equation=equation,
            program=at_equal_averages, x=x, y=y, coordinates=coordinates,
        )  # fmt: skip
    sum_of_two = ridges([[[1], [1]]], lambda v: np.concatenate([v, v], axis=-1))
    form = representation.Superposed(sum_of_two, representation.doubled_diagonal(2))
    found = form.target()(representation.SHIFTED.encode(inputs[..., None]))[:, 0]
    claim.measured("H_1 with the pairs (q, t')", found.tolist(), equation="(26), corrected").equals(
        inputs.sum(-1).tolist()
    )


def sines(rng, tau, n):
    """f on I_s: n sines of random frequency and phase, on a grid of k places; (tau, k, n)."""
    frequency, phase = rng.uniform(1, 6, (tau, 1, n)), rng.uniform(0, 2 * np.pi, (tau, 1, n))
    return lambda k: (1 + np.sin(frequency * np.linspace(0, 1, k)[:, None] + phase)) / 2


def scaled(f, tau, grid):
    """(k - 1) times the least distance of the u_t, for every k."""
    w = representation.doubled_diagonal(tau)
    on_a_grid, separation = representation.on_a_grid, representation.separation
    return [(k - 1) * separation(on_a_grid(f(k), w)) for k in grid]


GRIDS = {2: (5, 9, 17, 33), 3: (4, 7, 13)}


@pytest.mark.parametrize("tau", GRIDS, ids="tau={}".format)
@pytest.mark.construct
def test_generic_functions_separate_from_two_tau_plus_one_on(tau, claim):
    """Medians over draws. An embedding has |u(x) - u(y)| >= c |x - y|, so at least c/(k - 1)."""
    draws = claim.at_scale(smoke=7, laptop=25, paper=200)
    grid, rng = GRIDS[tau], claim.rng("sines")
    found = {
        n: np.median([scaled(sines(rng, tau, n), tau, grid) for _ in range(draws)], axis=0)
        for n in (1, tau, 2 * tau + 1)
    }
    w, b = 1 / (tau + 1), 0.2
    ours = scaled(lambda k: affine_values(tau, k), tau, grid)
    for n, values in found.items():
        claim.record(SCALED, values.tolist(), f="sines", n=n)
    claim.record(SCALED, ours, f="affine", n=tau)
    for k, value in zip(grid, ours, strict=True):
        claim.measured(SCALED, value, equation="Theorem A.3", f="affine", n=tau, k=k).within(
            w * b,
            rounding_error(1e-13, "8u for a distance of sums of τ numbers below 1, times k − 1"),
        )
    # n = 1: N = tau k^tau averages in [0, 1], of which two are within 1/(N - 1). No constant is a
    # lower bound for all k then; for n = 2 tau + 1 already this one is exceeded on every grid.
    bounded, collapse = found[2 * tau + 1], found[1]
    at = {"equation": "Theorem A.3", "f": "sines"}
    most = [(k - 1) / (tau * k**tau - 1) for k in grid]
    for k, value, ceiling in zip(grid, collapse, most, strict=True):
        claim.measured(SCALED, value, n=1, k=k, **at).at_most(
            theorem(ceiling, "(k − 1)/(τ k^τ − 1): as many numbers in [0, 1]")
        )
    claim.measured(f"least {SCALED}", bounded.min(), n=2 * tau + 1, **at).at_least(
        theorem(most[-1], "what n = 1 cannot exceed on the last grid")
    )
    # Not 0 all the same: that no two points of a grid coincide says nothing.
    claim.measured(f"last {SCALED}", collapse[-1], n=1, **at).at_least(
        rounding_error(1e-12, "distances of numbers of size 1 are off by 1e-15")
    )


def affine_values(tau, k):
    """e_s (x) (0.6 + 0.2 z) on the grid, (tau, k, tau)."""
    z = np.linspace(0, 1, k)
    return np.eye(tau)[:, None, :] * (0.6 + 0.2 * z)[None, :, None]


@pytest.mark.parametrize("n", [1, 5, 11], ids="n={}".format)
def test_control_without_encoding_nothing_separates(n, claim):
    """The same f for all s, x -> (x, ..., x^n): u_1(a, b) = u_2(b, a), whatever n is."""

    def f(x):
        return np.concatenate([x**q for q in range(1, n + 1)], axis=-1)

    def rho(u, v):
        return arrays.each(lambda same: logarithms.Log(2 if same else 1), u == v[:, 0])

    def F(u):  # reads x_1 off the first average of (x_1, x_2), for 0 and 1
        return (3 * u[..., 0] > 1) + flint.fmpq(0)

    target = model.Target(F, f, rho)
    z = exact.rationals([[0], [1]])
    both = [target.averages(z)[0], target.averages(z[::-1])[1]]
    same = abs(both[0] - both[1]).max()
    claim.measured("|u_1(a, b) − u_2(b, a)|", same, equation="(8)").equals(0)
    off = [abs(target(x)[t] - x[0, 0]) for x, t in ((z, 0), (z[::-1], 1))]
    claim.measured(ERROR, max(off), equation="(8)").at_least(
        theorem(flint.fmpq(1, 2), "F has one value for H_1(a, b) = a and H_2(b, a) = b")
    )


def test_control_the_last_coordinate_must_tell_t(claim):
    """Rows of weights with the same mean of s: refused, and F would mix two targets."""
    H, stated = three_tokens()
    w = exact.rationals([[2, 4, 2], [3, 2, 3], [2, 2, 4]]) / 8
    with pytest.raises(ValueError, match="the last coordinate must tell t"):
        representation.Superposed(H, w)
    form = representation.Superposed(H, representation.doubled_diagonal(3))
    z = exact.rationals([[1], [1], [1]])
    u = form.target().averages(representation.SHIFTED.encode(z))
    u[0, -1] = u[2, -1]  # t = 1 with the code of t = 3
    error = abs(form.F(u)[0] - stated(z)[0])
    claim.measured(ERROR, error, equation="(29)-(30)").at_least(exactly(1, "27 is read for 2"))


def test_control_the_f_of_26_is_off_by_a_quarter(claim):
    """psi_qs(x) = x, no pairs (q, t'): F(u) has one value where H_1 is 1 and 1/2, and the best F of
    the form c u_q, c = 3/4, is off by 1/4 at both."""
    inputs = exact.rationals([[0, 1], ["1/2", 0]])
    u = [doubled_sum(x, 1) for x in inputs]
    claim.measured("|u(x) − u(y)|", abs(u[0] - u[1]).max(), equation="(27)").equals(0)
    for c in exact.rationals(["1/2", "3/4", "1"]):
        worst = max(abs(c * u_x[0] - x.sum()) for u_x, x in zip(u, inputs, strict=True))
        claim.measured(ERROR, worst, equation="(26)", F=f"{c} u").at_least(
            theorem(flint.fmpq(1, 4), "F has one value for two targets")
        )


# --- targets whose superposition (22) is known: it, and the function that it is -------------------


def ridges(directions, outer):
    """(22) with psi_qs(z) = the part of (D_q . z) that belongs to s, moved into [0, 1].

    D: (Q, tau, d) with entries -1, 0, 1; z counts as 1 - z where D = -1, and d divides. So the sums
    over s are (D_q . z + N_q)/d with N_q entries -1 in D_q; `outer` gets all D_q . z.
    """
    D, d = np.array(directions), np.shape(directions)[-1]

    def inner(s, z):
        up, down = D[:, s] == 1, D[:, s] == -1  # (Q, d)
        parts = (z[..., [j]] * up[:, j] + (1 - z[..., [j]]) * down[:, j] for j in range(d))
        return np.add.reduce(list(parts)) / exact.rational(d)

    tokens, negative = range(D.shape[1]), (D == -1).sum((1, 2))
    inners = [functools.partial(inner, s) for s in tokens]
    return representation.Superposition(inners, lambda v: outer(v * d - negative), len(D))


def two_tokens():
    """z_1 z_2 and |z_1 - z_2|."""
    D = [[[1], [1]], [[1], [0]], [[0], [1]], [[1], [-1]], [[0], [0]]]

    def outer(v):
        product = (v[..., 0] ** 2 - v[..., 1] ** 2 - v[..., 2] ** 2) / 2
        return np.stack([product, abs(v[..., 3])], axis=-1)

    def stated(z):
        return np.stack([z[..., 0, 0] * z[..., 1, 0], abs(z[..., 0, 0] - z[..., 1, 0])], axis=-1)

    return ridges(D, outer), stated


def three_tokens():
    """z_1 z_2 + z_2 z_3, max(z_1, z_3) and (z_1 + z_2 + z_3)^3."""
    D = [[[1], [1], [0]], [[0], [1], [1]], [[1], [0], [0]], [[0], [1], [0]], [[0], [0], [1]],
         [[1], [0], [-1]], [[1], [1], [1]]]  # fmt: skip

    def outer(v):
        squares = v**2
        pairs = squares[..., 0] + squares[..., 1] - squares[..., 2] - 2 * squares[..., 3]
        largest = (v[..., 2] + v[..., 4] + abs(v[..., 5])) / 2
        return np.stack([(pairs - squares[..., 4]) / 2, largest, v[..., 6] ** 3], axis=-1)

    def stated(z):
        a, b, c = (z[..., s, 0] for s in range(3))
        return np.stack([a * b + b * c, np.maximum(a, c), (a + b + c) ** 3], axis=-1)

    return ridges(D, outer), stated


def two_points_of_the_plane():
    """The inner product of two tokens, and their distance in the largest coordinate."""
    one, two = [1, 0], [0, 1]
    D = [[one, one], [two, two], [one, [0, 0]], [two, [0, 0]], [[0, 0], one], [[0, 0], two],
         [[1, 1], [-1, -1]], [[1, -1], [-1, 1]], [[0, 0], [0, 0]]]  # fmt: skip

    def outer(v):
        squares = v**2
        inner = (squares[..., 0] + squares[..., 1] - squares[..., 2:6].sum(-1)) / 2
        return np.stack([inner, (abs(v[..., 6]) + abs(v[..., 7])) / 2], axis=-1)

    def stated(z):
        x, y = z[..., 0, :], z[..., 1, :]
        return np.stack([(x * y).sum(-1), abs(x - y).max(-1)], axis=-1)

    return ridges(D, outer), stated


TARGETS = dict(zip(SIZES, (two_tokens, three_tokens, two_points_of_the_plane), strict=True))
