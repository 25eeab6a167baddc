"""Finding, on Theorem A.3 (jiang2024, A.2): n = tau d is enough; for one f and rho, nothing less.

Every continuous target on encoded inputs is of form (8) with n = tau d, f(x) = e_s (x) (0.6 + 0.2
z) for the place z of a token in I_s, the weights 2/(tau + 1) and 1/(tau + 1) of (25), and one F for
all t. If one continuous pair f, rho is to serve all targets, less is not enough: for n < tau d one
of the tau d coordinates of the input is a target that no F meets better, in the sup norm, than the
constant 1/2 does. Proofs: repro/jiang2024/representation.py.

Checked: in rationals, for four targets and two encodings, the error is exactly 0; f stays in
[0, 1]^n, and any other positive weights with different rows serve as well. F is defined on all of
R^n, within its Lipschitz bound. Below tau d: affine f of every smaller width confuse two antipodes,
exactly; for a nonlinear f of width 1 with a content coupling, the two are enclosed in balls.

Not checked: Borsuk's theorem, by which every f and rho of smaller width fail. If f and rho may
depend on the target, smaller n can do: n = 1 for a target that is a mean.
"""

import itertools

import flint
import numpy as np
import pytest

from repro.bounds import rounding_error, theorem
from repro.jiang2024 import couplings, model, representation
from repro.numerics import arrays, exact, logarithms

SHAPES = [(2, 1), (3, 1), (2, 3), (4, 2), (8, 1)]
shapes = pytest.mark.parametrize(("tau", "d"), SHAPES, ids=[f"tau={t}-d={d}" for t, d in SHAPES])
ERROR = "largest |H_t − Ĥ_t|"


def ranks(z):
    """The t-th smallest of the tokens' sums."""
    return np.sort(z.sum(-1), axis=-1)


def distances(z):
    """The largest coordinate of |z_t - z_{t+1}|, around a circle."""
    return abs(z - np.roll(z, -1, axis=-2)).max(-1)


def products(z):
    """t times the product of all coordinates, minus the token's own sum."""
    t = np.arange(1, z.shape[-2] + 1)
    return np.prod(z, axis=(-2, -1), keepdims=True)[..., 0] * t - z.sum(-1)


def mixture(z):
    """Something of each, by turns."""
    kinds = [ranks(z), distances(z), products(z)]
    return np.stack([kinds[t % 3][..., t] for t in range(z.shape[-2])], axis=-1)


TARGETS = [ranks, distances, products, mixture]


def places(claim, tau, d, count):
    """Rationals in [0, 1], ends and ties among them."""
    return exact.rationals(claim.rng("places").integers(0, 8, (count, tau, d))) / 7


@shapes
@pytest.mark.parametrize("encoding", ["SHIFTED", "APPENDED"])
@pytest.mark.exact
def test_every_target_is_met_exactly_for_all_t(tau, d, encoding, claim):
    forms, count = representation, claim.at_scale(smoke=6, laptop=40, paper=400)
    z, rooms = places(claim, tau, d, count), getattr(forms, encoding)
    x = rooms.encode(z)
    for H in TARGETS:
        form = forms.Representation(H, forms.doubled_diagonal(tau), d, encoding=rooms)
        error = abs(form.target()(x) - H(z)).max()
        claim.measured(ERROR, error, equation="(8)", target=H.__name__).equals(0)
    f, weights = form.f(x), form.target().weights(x)
    claim.measured("n", f.shape[-1], equation="n = τd").equals(tau * d)
    wrong = int(((f < 0) | (f > 1)).sum())
    claim.measured("entries of f outside [0, 1]", wrong, equation="f ∈ C(I, [0,1]ⁿ)").equals(0)
    own = exact.rationals([[1 + (t == s) for s in range(tau)] for t in range(tau)])
    wrong = int((weights != own / (tau + 1)).sum())
    claim.measured("weights unlike (25)", wrong, equation="(25)").equals(0)


@pytest.mark.exact
def test_any_positive_weights_with_different_rows_serve(claim):
    """The diagonal need not be doubled; b is what `spread` says for delta = 1."""
    forms, tau = representation, 4
    z, half = places(claim, tau, 1, 5), exact.rational("1/2")
    for draw in range(claim.at_scale(smoke=3, laptop=20, paper=100)):
        w = exact.rationals(claim.rng(f"weights {draw}").integers(1, 30, (tau, tau)))
        w = w / w.sum(-1, keepdims=True)
        form = forms.Representation(mixture, w, a=half, b=min(half, forms.spread(w, half)))
        error = abs(form.target()(forms.SHIFTED.encode(z)) - mixture(z)).max()
        claim.measured(ERROR, error, equation="(8)", draw=draw).equals(0)


@pytest.mark.construct
def test_F_is_defined_everywhere_and_lipschitz(claim):
    """Between the images too, on [0, 1]^n: the quotients stay below the bound of the docstring."""
    forms, tau = representation, 3
    form = forms.Representation(distances, forms.doubled_diagonal(tau))
    count = claim.at_scale(smoke=300, laptop=2000, paper=20000)
    rng = claim.rng("points of the cube")
    u = exact.rationals(rng.integers(0, 101, (count, tau))) / 100
    v = u + exact.rationals(rng.integers(-5, 6, (count, tau))) / 1000
    apart = abs(u - v).max(-1)
    quotients = abs(form.F(u) - form.F(v))[apart > 0] / apart[apart > 0]
    bound = form.lipschitz_bound(sup=1, lipschitz=2)
    claim.record("largest", float(quotients.max()))
    claim.record("bound", float(bound))
    steepest = claim.measured("largest quotient of F", quotients.max(), equation="F in (8)")
    why = "tau (sup|H| / delta + Lip H) / (b min w), with sup|H| = 1 and Lip H = 2"
    steepest.at_most(theorem(bound, why))


@pytest.mark.exact
def test_F_by_hand(claim):
    """b = 1/5. Weights (1/2, 1/4, 1/4): moving u_1 by (-1, 1, 0)/100 moves z by (-1/10, 1/5, 0),
    and |z_1 - z_2| from 1/2 to 4/5: a quotient of 30, a fifth of 3 (1/2 + 2) / (1/5 1/4), the
    bound. Between the images, for weights 2/3, 1/3: (2/3, 7/30) is read as (2, 1/2) by the first
    row, a distance 1 from the square, half of delta = 2; by the second as (7, -5/4), far away. So F
    is 1/2 min(1, 1/2).
    """
    forms, first = representation, exact.rationals([["1/4"], ["3/4"], ["1/2"]])
    form = forms.Representation(distances, forms.doubled_diagonal(3))
    u = form.target().averages(forms.SHIFTED.encode(first))[0]
    v = u + exact.rationals(["-1/100", "1/100", 0])
    values = form.F(np.stack([u, v])).tolist()
    claim.measured("F on the image of u_1", values, equation="F in (8)").equals(
        [flint.fmpq(1, 2), flint.fmpq(4, 5)]
    )
    claim.measured("bound", form.lipschitz_bound(1, 2), equation="F in (8)").equals(150)
    two = forms.Representation(ranks, forms.doubled_diagonal(2))
    between = two.F(exact.rationals([["2/3", "7/30"]])).tolist()
    claim.measured("F between images", between, equation="F in (8)").equals([flint.fmpq(1, 4)])


@pytest.mark.exact
def test_gaps_and_bounds_by_hand(claim):
    """Rows (1, 39)/40 and (1, 3)/4 have the ratios 1/10, 13/10 and 10, 10/13. With a/b = 2, delta
    is 2 9/10 - 1/10, and b = 9/11 a has delta = 1. Rows (1/5, 4/5) and (1/2, 1/2), a/b = 3: ratios
    2/5 and 8/5, or 5/2 and 5/8; delta = 3 3/5 - 2/5 = 7/5, and tau (sup / delta + Lip) / (b min w)
    is 2 (7 5/7 + 1) 5 5 for sup = 7 and Lip = 1."""
    forms, half, q = representation, flint.fmpq(1, 2), flint.fmpq
    w = exact.rationals([["1/40", "39/40"], ["1/4", "3/4"]])
    found = [forms.gap(w, half, half / 2), forms.spread(w, half)]
    claim.measured("δ, and the b that makes it one", found, equation="δ").equals(
        [q(17, 10), q(9, 22)]
    )
    uneven = forms.Representation(ranks, exact.rationals([["1/5", "4/5"], ["1/2", "1/2"]]))
    claim.measured("bound", uneven.lipschitz_bound(7, 1), equation="F in (8)").equals(300)


def affine(A):
    """f(x) = A_s z for x in I_s; A: (tau, n, d)."""

    def f(x):
        s, z = representation.SHIFTED.read(x)
        return np.stack([A[int(room) - 1] @ place for room, place in zip(s, z, strict=True)])

    return f


@shapes
@pytest.mark.exact
def test_affine_f_of_any_smaller_width_confuses_two_antipodes(tau, d, claim):
    """u_t(z) = u_t(1 - z), and some coordinate is 0 in one and 1 in the other."""
    forms, w = representation, representation.doubled_diagonal(tau)
    for n, t in itertools.product(sorted({1, tau * d // 2, tau * d - 1}), (0, tau - 1)):
        A = exact.rationals(claim.rng(f"A {n}").integers(-9, 10, (tau, n, d)))
        linear = np.concatenate([w[t, s] * A[s] for s in range(tau)], axis=-1)
        pair = [z.reshape(tau, d) for z in forms.antipodes(linear)]
        target = model.Target(np.sum, affine(A), forms.by_position(w))
        u = [target.averages(forms.SHIFTED.encode(z))[t] for z in pair]
        off = abs(u[0] - u[1]).max()
        claim.measured("|u_t(z) − u_t(1−z)|", off, equation="n < τd", n=n).equals(0)
        half = abs(pair[0] - pair[1]).max() / 2
        claim.measured("least error of F", half, equation="H_t = z_i", n=n).equals(flint.fmpq(1, 2))


@pytest.mark.certified
def test_a_nonlinear_f_of_width_one_confuses_two_antipodes(claim):
    """tau = 2, rho(u, v) = uv: along two sides of the square u_1(z) - u_1(1 - z) changes its sign.

    At (0, 0) it is minus what it is at (1, 1); bisection encloses a zero, balls prove the signs.
    """

    def f(x):
        s = (x / 2).floor()
        return ((3 * s * (x - 2 * s)).sin() + s * (x - 2 * s).exp()) / 10

    target = model.Target(couplings.first, lambda x: arrays.each(f, x), lambda u, v: u * v[:, 0])

    def difference(step):  # from (0, 0) over (1, 0) to (1, 1)
        z = np.array([min(step, flint.fmpq(1)), max(step - 1, flint.fmpq(0))])
        one, other = ([[flint.arb(2 + 2 * t + p)] for t, p in enumerate(y)] for y in (z, 1 - z))
        return target(np.array(one))[0] - target(np.array(other))[0]

    low, high = flint.fmpq(0), flint.fmpq(2)
    start = difference(low)
    # f is 1/10, 2/10 at 2, 4 and (sin 3 + e)/10, (sin 6 + 2e)/10 at 3, 5; logits 4, 8 and 9, 15:
    # 1/10 + 1/10 / (1 + e^-4) = 0.19820..., (sin 3 + e + (sin 6 - sin 3 + e) / (1 + e^-6)) / 10
    apart = claim.measured("u_1(0) − u_1(1)", start, equation="n = 1")
    apart.within(-0.3169452907916911, rounding_error(1e-14, "balls of 53 bits"))
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if difference(middle) * start > 0 else (low, middle)
    before, after = (difference(step) * start for step in (low, high))
    zero = theorem(flint.fmpq(0), "the intermediate value; both signs are proved in balls")
    claim.measured("sign before", before, equation="n < τd").at_least(zero)
    claim.measured("sign after", after, equation="n < τd").at_most(zero)
    claim.measured("length enclosing z", high - low, equation="n < τd").at_most(
        theorem(flint.fmpq(1, 10**8), "30 bisections of a length of 2")
    )


def confused(H, z, t, other, at):
    """What every F is off by, at least, if u_t(z) = u_at(other)."""
    return abs(H(z)[t - 1] - H(other)[at - 1]) / 2


SAME = "one F, one value; half of the distance of the two targets"


def test_control_without_encoding_two_sequences_are_confused(claim):
    """f and rho see tokens only: u_1(a, b) = u_2(b, a), whatever they are."""
    z = exact.rationals([["1/3"], ["2/3"]])
    target = model.Target(couplings.first, lambda x: np.concatenate([x, 1 - x * x], -1), by_size)
    u = abs(target.averages(z)[0] - target.averages(z[::-1])[1]).max()
    claim.measured("|u_1(a, b) − u_2(b, a)|", u, equation="(21)").equals(0)
    error, least = confused(products, z, 1, z[::-1], 2), theorem(flint.fmpq(1, 9), SAME)
    claim.measured(ERROR, error, equation="(8) without (7)").at_least(least)


def by_size(u, v):
    """A coupling in rationals' logarithms: log 3 for the larger of two tokens, 0 else."""
    larger = v[:, 0][None, :] > u[:, 0][:, None]
    return arrays.each(lambda yes: logarithms.Log(3 if yes else 1), larger)


def test_control_overlapping_rooms_confuse_two_sequences(claim):
    """I_1 = [2, 3], I_2 = [5/2, 7/2]: (a, b) and (b, a) are both admissible if both lie in both."""
    a, b = exact.rationals(["13/5", "14/5"])
    x = np.array([[a], [b]])
    admissible = all(2 <= v <= 3 and flint.fmpq(5, 2) <= v <= flint.fmpq(7, 2) for v in (a, b))
    overlap = "(7), not disjoint"
    claim.measured("both orders are admissible", admissible, equation=overlap).equals(True)
    target = model.Target(couplings.first, lambda x: x / 4, by_size)
    u = abs(target.averages(x)[0] - target.averages(x[::-1])[1]).max()
    claim.measured("|u_1(a, b) − u_2(b, a)|", u, equation="(21)").equals(0)
    ends = np.array([[2], [flint.fmpq(5, 2)]])  # of the rooms
    error = confused(products, x - ends, 1, x[::-1] - ends, 2)
    least = theorem(flint.fmpq(1, 5), SAME)
    claim.measured(ERROR, error, equation="(8) without (7)").at_least(least)


def test_control_a_doubled_block_must_be_seen(claim):
    """b = a, tau = 2: (1, 1)/3 is u_1(0, 1) and u_2(1, 0); `Representation` refuses such a b."""
    forms, half = representation, flint.fmpq(1, 2)
    w, z = forms.doubled_diagonal(2), exact.rationals([[0], [1]])
    u = [w[t] * (half + half * place[:, 0]) for t, place in ((0, z), (1, z[::-1]))]
    claim.measured("|u_1(0, 1) − u_2(1, 0)|", abs(u[0] - u[1]).max(), equation="δ = 0").equals(0)
    error = confused(ranks, z, 1, z[::-1], 2)
    claim.measured(ERROR, error, equation="f with b = a").at_least(theorem(half, SAME))
    with pytest.raises(ValueError, match="n = tau d needs delta > 0"):
        forms.Representation(ranks, w, a=half, b=half)


def test_control_equal_rows_of_weights_hide_t(claim):
    """Uniform attention: u_1 = u_2, for every b."""
    forms = representation
    w = exact.rationals([[1, 1], [1, 1]]) / 2
    z = exact.rationals([["1/3"], ["1"]])
    form = forms.Representation(ranks, forms.doubled_diagonal(2))
    target = model.Target(form.F, form.f, forms.by_position(w))
    u = target.averages(forms.SHIFTED.encode(z))
    claim.measured("|u_1 − u_2|", abs(u[0] - u[1]).max(), equation="w_1 = w_2").equals(0)
    error, least = confused(ranks, z, 1, z, 2), theorem(flint.fmpq(1, 3), SAME)
    claim.measured(ERROR, error, equation="(8), uniform weights").at_least(least)


def test_control_one_coordinate_less(claim):
    """The last block is left out: the last place can no longer be seen."""
    forms, tau = representation, 3
    form = forms.Representation(products, forms.doubled_diagonal(tau))
    z = exact.rationals([["1/2"], ["1"], ["0"]])
    y = z.copy()
    y[2] = 1
    u = [form.target().averages(forms.SHIFTED.encode(p))[0, :-1] for p in (z, y)]
    name, error = "|u_1(z) − u_1(y)| without the last block", confused(products, z, 1, y, 1)
    claim.measured(name, abs(u[0] - u[1]).max(), equation="n = τd − 1").equals(0)
    claim.measured(ERROR, error, equation="n = τd − 1").at_least(theorem(flint.fmpq(1, 4), SAME))
