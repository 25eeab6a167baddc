"""Equations (40)-(43) (jiang2024, Appendix A.3): softmax passes errors on.

(42) says |h_t - h^_t| <= sum_s |f(x_s)| |rho - rho^|(x_t, x_s) + sum_s |f - f^|(x_s), since softmax
is Lipschitz and bounded by 1.

Misprint: |f| must be sup |f|, as in (50). A weight moves if another logit does: for two tokens with
f = (1, 0) and only the second logit off the right side is 0 and the left side is not.

Proved in repro/jiang2024/softmax.py, for delta = rho^ - rho of oscillation omega = max delta - min
delta and values f_1, ..., f_tau of diameter D (in any norm):
    |sum_s (sigma[rho + delta](s) - sigma[rho](s)) f_s| <= D tanh(omega / 4) <= D omega / 4
                                                        <= D |delta|_2 / (2 sqrt 2),
    sum_s |sigma[rho + delta](s) - sigma[rho](s)| <= omega / 2 <= min(|delta|_1 / 2, |delta|_inf),
    |h_t - h^_t| <= 1/2 sup|f| sum_s |rho - rho^| + max_s |f - f^|.
The last is (42) with sup|f|, with one half to spare, and without the sum in (43). None of the
constants can be lowered.

Checked: (40) and (41) in rationals, (42) in balls. The first line exactly (for rational e^rho and
e^delta it reads ((D + M) / (D - M))^2 <= R = e^omega, M being the move), in the largest norm on
R^n; for two tokens it is an equality. The others in balls, in the Euclidean norm; their constants
are approached to 1e-8.
"""

import itertools
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.jiang2024 import model, softmax
from repro.numerics import exact, logarithms

arb, ball = flint.arb, logarithms.ball
positive = st.integers(1, 60).map(lambda k: Fraction(k, 6))
values = st.integers(-10, 10).map(lambda k: Fraction(k, 5))
tokens = st.tuples(positive, positive, values, values)  # e^rho, e^rho^, f, f^
cases = st.lists(tokens, min_size=1, max_size=5)


def average(exponentials, values):
    return sum(e * v for e, v in zip(exponentials, values, strict=True)) / sum(exponentials)


def sides(case):
    """|h - h^|, sup |f|, e^(rho^ - rho) for each token and |f - f^|."""
    a, b, f, f_hat = zip(*case, strict=True)
    ratios = [y / x for x, y in zip(a, b, strict=True)]
    off = [abs(x - y) for x, y in zip(f, f_hat, strict=True)]
    return abs(average(a, f) - average(b, f_hat)), max(map(abs, f)), ratios, off


@pytest.mark.exact
def test_what_stands_between_40_and_42_in_rationals(claim):
    """(40), (41), sum sigma^ = 1 and sum |sigma - sigma^| <= 2 tanh(omega/4), in R = e^omega."""

    def broken(case):
        left, top, ratios, off = sides(case)
        a, b, f, f_hat = zip(*case, strict=True)
        pairs = [(x / sum(a), y / sum(b)) for x, y in zip(a, b, strict=True)]
        values = list(zip(pairs, f, f_hat, strict=True))
        summed = sum(abs(p * v - q * w) for (p, q), v, w in values)
        split = sum(abs(v) * abs(p - q) + q * abs(v - w) for (p, q), v, w in values)
        total, R = sum(abs(p - q) for p, q in pairs), max(ratios) / min(ratios)
        chain = left <= summed <= split <= top * total + max(off)
        return (not chain) + ((2 + total) ** 2 > R * (2 - total) ** 2)

    examples = claim.at_scale(smoke=20, laptop=200, paper=10000)
    claim.for_all("inequalities that fail", cases, broken, equation="(40), (41)", examples=examples)


@pytest.mark.certified
def test_the_inequality_in_balls(claim):
    def undecided_or_false(case):
        left, top, ratios, off = sides(case)
        with flint.ctx.workprec(200):
            logits = sum((abs(ball(r).log()) for r in ratios), arb(0))
            bound = ball(top) * logits / 2 + ball(max(off))
            return int(not (ball(left) <= bound or ball(left) - bound < arb("1e-40")))

    examples = claim.at_scale(smoke=20, laptop=200, paper=10000)
    name = "cases above the bound by more than 1e-40"
    claim.for_all(name, cases, undecided_or_false, equation="(42)", examples=examples)


@pytest.mark.exact
def test_a_constant_error_of_f_is_not_multiplied(claim):
    """f^ = f + 1/7, logits as they are: h moves by 1/7, where (43) allows tau / 7."""

    def wrong(case):
        moved = [(a, a, f, f + Fraction(1, 7)) for a, _, f, _ in case]
        return sides(moved)[0] - Fraction(1, 7)

    examples = claim.at_scale(smoke=10, laptop=80, paper=2000)
    claim.for_all("move less 1/7", cases, wrong, equation="(43)", examples=examples)


def move_of_the_average_and_its_bound(f, ratio):
    """e^rho = (1, 1) and e^rho^ = (1, ratio): only the second logit is off, and f_2 = 0."""
    from fractions import Fraction

    h = Fraction(f[0] + f[1], 2)
    h_hat = Fraction(f[0] + ratio * f[1], 1 + ratio)
    return abs(h - h_hat), 0  # |f_1| * 0 + |f_2| * log(ratio), where f_2 = 0


def test_printed_a_weight_moves_when_another_logit_does(claim):
    """rho = (0, 0) and rho^ = (0, log 3): the weights are (1/2, 1/2) and (1/4, 3/4)."""
    Log = logarithms.Log
    weights, moved = (model.softmax(np.array([Log(1), Log(r)], dtype=object)) for r in (1, 3))
    average = abs(((weights - moved) * np.array([1, 0])).sum())
    statements = {
        "(41)-(42)": ("|σ(ρ) − σ(ρ̂)| <= |ρ − ρ̂|, term by term", abs(weights[0] - moved[0])),
        "(42)": ("the average moves by at most the sum of |f(x_s)| |ρ − ρ̂|", average),
    }
    for equation, (refutes, move) in statements.items():
        claim.counterexample(
            refutes,
            input={"rho": [0, 0], "rho^": ["0", "log 3"], "f = f^": [1, 0]},
            measured=move, expected=0, relation="<=", equation=equation,
            program=move_of_the_average_and_its_bound, f=[1, 0], ratio=3,
        )  # fmt: skip
    with flint.ctx.workprec(100):
        allowed = arb(3).log() / 2
    claim.measured("move of the average", arb(average), equation="(42)").at_most(
        theorem(allowed, "sup|f| = 1, half of log 3")
    )


def weights(exponentials):
    return [e / sum(exponentials) for e in exponentials]


def move(case):
    """Of e^rho, e^delta and two rows of f: the change of the weights and of both averages."""
    a, r, *f = zip(*case, strict=True)
    before, after = weights(a), weights([x * y for x, y in zip(a, r, strict=True)])
    change = [q - p for p, q in zip(before, after, strict=True)]
    return change, [sum(c * v for c, v in zip(change, row, strict=True)) for row in f]


@pytest.mark.exact
def test_the_move_is_at_most_the_diameter_times_tanh(claim):
    """M <= D tanh(omega/4), squared and solved for R = e^omega; the same for the weights, D = 2."""

    def excess(case):
        change, moves = move(case)
        R = max(r for _, r, *_ in case) / min(r for _, r, *_ in case)
        _, _, *f = zip(*case, strict=True)
        M, D = max(map(abs, moves)), max(max(row) - min(row) for row in f)
        total = sum(abs(c) for c in change)
        return ((D + M) ** 2 > R * (D - M) ** 2) + ((2 + total) ** 2 > R * (2 - total) ** 2)

    examples = claim.at_scale(smoke=20, laptop=200, paper=20000)
    name = "moves above their bound"
    claim.for_all(name, cases, excess, equation="D tanh(ω/4)", examples=examples)


@pytest.mark.parametrize("a", ["11/10", "2", "100"], ids="a={}".format)
@pytest.mark.exact
def test_two_tokens_attain_it(a, claim):
    """omega = 4 log a: the average of 0 and 1 moves by tanh(log a) = (a^2 - 1) / (a^2 + 1)."""
    quarter = logarithms.Log(a)
    (moved,) = softmax.moved(*softmax.extremal(quarter))
    s = exact.rational(a) ** 2
    claim.measured("move", moved, equation="D tanh(ω/4), attained").equals((s - 1) / (s + 1))


def norm(values):
    return sum((ball(v) ** 2 for v in values), arb(0)).sqrt()


@pytest.mark.certified
def test_the_bounds_by_oscillation_and_by_norms_in_balls(claim):
    """Euclidean norm on R^2; every inequality decided in balls of 200 bits."""

    def undecided_or_false(case):
        with flint.ctx.workprec(200):
            change, moves = move(case)
            delta = [ball(r).log() for _, r, *_ in case]
            top = max(r for _, r, *_ in case) / min(r for _, r, *_ in case)
            omega, M, total = ball(top).log(), norm(moves), ball(sum(abs(c) for c in change))
            pairs = itertools.product([f for _, _, *f in case], repeat=2)
            distances = [norm([x - y for x, y in zip(p, q, strict=True)]) for p, q in pairs]
            D, length = max(distances, key=float), norm(delta)
            one, largest = sum((abs(d) for d in delta), arb(0)), max(map(abs, delta), key=float)
            sides = [
                (M, D * (omega / 4).tanh()), (M, D * omega / 4), (M, D * length / arb(8).sqrt()),
                (total, omega / 2), (total, one / 2), (total, largest),
            ]  # fmt: skip
            return sum(not (low <= high or low - high < arb("1e-40")) for low, high in sides)

    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    name, where = "inequalities that fail by more than 1e-40", "D ω/4 and D |δ|₂/√8"
    claim.for_all(name, cases, undecided_or_false, equation=where, examples=examples)


CONSTANTS = {  # the square of each, and the size that it multiplies, of omega and delta
    "D ω/4": ("1/16", lambda omega, delta: omega),
    "D |δ|₂/√8": ("1/8", lambda omega, delta: norm(delta)),
    "Σ|σ − σ̂| ≤ |δ|₁/2": ("1/4", lambda omega, delta: omega / 2),
    "Σ|σ − σ̂| ≤ |δ|∞": ("1", lambda omega, delta: omega / 4),
}


def constants(name, omega):
    """What the constant must be for the example with this omega, and what it is; in balls."""
    logits, delta, values = softmax.extremal(omega / 4)  # delta = (-omega/2, omega/2)
    if name.endswith("|δ|₁/2"):
        logits, delta = np.array([omega / 2, arb(0)]), np.array([arb(0), omega])
        values = np.array([[arb(0)], [arb(1)]])
    (moved,) = softmax.moved(logits, delta, values)
    square, size = CONSTANTS[name]
    return moved / size(omega, delta), ball(square).sqrt()


@pytest.mark.parametrize("name", list(CONSTANTS))
@pytest.mark.certified
def test_no_constant_can_be_lowered(name, claim):
    """omega = 1e-4: tanh z / z > 1 - z^2 / 3; sums of absolute values are twice the move."""
    with flint.ctx.workprec(200):
        found, constant = constants(name, arb("1e-4"))
        allowed = constant * (1 - arb("1e-8"))
    why = "1 − ω²/12 times the constant is needed for ω = 1e-4"
    needed = claim.measured("constant needed", found, equation=name)
    needed.at_least(theorem(allowed, why)).at_most(theorem(constant, why))


@pytest.mark.parametrize("name", list(CONSTANTS))
def test_control_a_constant_lower_by_one_percent_fails(name, claim):
    with flint.ctx.workprec(200):
        found, constant = constants(name, arb("1e-2"))
        allowed = constant * (1 - arb("1e-2"))
    claim.measured("constant needed", found, equation=name).at_least(
        theorem(allowed, "the constant is approached as ω → 0")
    )


PINNED = {  # values f_s, delta; D, ω, |δ|₂, sup|f|, |δ|₁, and from these the four bounds
    # 10, 3, 3, 5, 5: 10 tanh(3/4), 10 · 3/4, 10 · 3/√8, 5 · 5/2
    "three values in the plane": (
        [[3, -4], [-3, 4], [0, 0]], [2, 2, -1], [6.3514895238728742, 7.5, 10.606601717798213, 12.5],
    ),
    # 1, 4, 4, 2, 4: tanh 1, 4/4, 4/√8 = √2, 2 · 4/2
    "two numbers": ([[1], [2]], [4, 0], [0.7615941559557649, 1, 1.4142135623730951, 4]),
}  # fmt: skip


@pytest.mark.parametrize("case", PINNED)
@pytest.mark.exact
def test_the_bounds_are_those_worked_out_by_hand(case, claim):
    import torch

    values, delta, by_hand = PINNED[case]
    found = softmax.bounds(*(torch.tensor(v, dtype=torch.float64) for v in (values, delta)))
    for (name, bound), stated in zip(found.items(), by_hand, strict=True):
        claim.measured("bound", bound.item(), equation=name).within(
            stated, rounding_error(1e-15 * stated, "9 u for a handful of operations, u = 2^-53")
        )


@pytest.mark.construct
def test_random_averages_stay_below(claim):
    """Six values in R^2, logits and delta of every size; float64, so the bounds have a margin."""
    import torch

    generator = torch.Generator().manual_seed(claim.seed("random averages"))
    count = claim.at_scale(smoke=1500, laptop=4000, paper=20000)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    logits, values = 3 * normal(count, 6), normal(count, 6, 2)
    sizes = 10 ** (3 * torch.rand((count, 1), generator=generator, dtype=torch.float64) - 2.5)
    delta = sizes * torch.where(normal(count, 6) > 0, 1.0, -1.0) * normal(count, 1).abs().sqrt()
    moves = softmax.moved(logits, delta, values).norm(dim=-1)
    bounds = softmax.bounds(values, delta)
    finite = bool(moves.isfinite().all())
    claim.measured("moves are finite", finite, equation="D tanh(ω/4)").equals(True)
    for name, bound in bounds.items():
        worst = float(((moves - 1e-14) / bound.clamp(min=1e-300)).max())
        claim.measured("largest move over its bound", worst, equation=name).at_most(
            theorem(1, "repro/jiang2024/softmax.py; 1e-14 for round-off")
        )


def test_control_weights_that_are_not_normalised(claim):
    """e^rho for sigma: ten tokens, f = e^rho = 1, one logit off by log 3; the sum moves by 2."""
    e, e_hat = [1] * 10, [3] + [1] * 9
    moved = sum(e_hat) - sum(e)
    with flint.ctx.workprec(100):
        least = 3 * arb(3).log() / 2
    claim.measured("move without normalisation", arb(moved), equation="(42)").at_least(
        theorem(least, "3 times what (42) with one half allows")
    )
