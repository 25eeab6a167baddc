"""Distinct roles of FFN and attention (wang2024, Section 5.2): knowing where is not fetching.

The feed-forward layers compute the memory functions g_i and the readout, attention fetches
x_{t-g_i(x_t)}. An approximation of g_i within rounding accuracy leaves no error at all; one beyond
it gives a wrong position.

Why for every g and T: [g + e] = g for |e| < 1/2 (lin). g e^e stays below g + 1/2 if and only if
e < log(1 + 1/(2g)), and above g - 1/2 if and only if -e < -log(1 - 1/(2g)) (log). The first is
the smaller one, it falls with g, and at g = T it exceeds the 1/(4T) of the proof, since
log(1 + x) > x/2 for 0 < x <= 1/2.

Checked, on y_t = x_{t-g(x_t)}, g = 1, 2, 3, through the network of Theorem 5.1 in exact arithmetic:
lin: any perturbation of g by less than 1/2, another one for each token, leaves every state of the
network the same; any by 1/2 to 3/2 moves the pointer by one. log: the same with the exact
threshold, log(1 + 1/(2g)) upwards and -log(1 - 1/(2g)) downwards. The proof asks for 1/(4T); what
is needed is log(1 + 1/(2T)), between 1.62 and 2 times as much: the order 1/T is right, the constant
could be log(3/2). Two jobs: with wrong pointers attention fetches what they name, as exactly as
before; with heads of weight 0 the pointers are right and nothing is fetched.
Controls: accuracy 1/2 for log; no rounding; the readout of another target.
Not checked: nested pointers, whose networks see inexact blocks (Theorem 5.4).
"""

import itertools
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import exactly, theorem
from repro.numerics import arrays, barron, exact, logarithms
from repro.wang2024 import adaptive, moving, targets

T = 3
G = {-1: 1, 0: 2, 1: 3}  # g of FOLLOW, by hand
TOKENS = list(G)
HALF = Fraction(1, 2)


def pointer_row():
    return adaptive.Layout(1, 1).pointer(1)


def heads(rpe, reach=T):
    return moving.interpolated(rpe, reach, "1/100")


def pointed(windows):
    """x_{t-g(x_t)} at t = 3, 4, ..., by the definition; (N, n - 3)."""
    x = windows[..., 0].astype(int)
    t = np.arange(T, x.shape[1])
    return np.take_along_axis(x, t - x[:, T:] - 2, axis=1)


@pytest.mark.exact
def test_the_heads_by_hand(claim):
    """lin: T + 1, bases 128^h: q + q^2 + ... < 0.01 from q = 1/128 on. log: 1 + |F_T|, F_3 = 1/3,
    1/2, 2/3, and F_4 has 1/4 and 3/4 besides."""
    bases = claim.measured("e^β", [b.of for b in heads("lin").exponents], equation="E.2")
    bases.equals([128**h for h in (1, 2, 3, 4)])
    counts = [heads(rpe, reach).H for rpe in ("lin", "log") for reach in (T, T + 1)]
    claim.measured("heads for 3 and 4", counts, equation="E.2, E.5").equals([4, 5, 4, 6])


def by_token(rpe, changes):
    """The network for g (log: log g) plus a change at each token: an amount, or a factor's log."""
    low, middle, high = map(exact.rational if rpe == "lin" else logarithms.Log, changes)
    change = targets.neurons((middle, [0], 1), (high - middle, [1], 0), (low - middle, [-1], 0))
    parts = zip(getattr(targets.by_value(), rpe), change, strict=True)
    return barron.Network(*map(np.concatenate, parts))


def follow(rpe, changes, psi):
    networks = [by_token(rpe, changes)]
    return adaptive.transformer(targets.FOLLOW, [psi], [[1]], memory_networks=networks)


def pointers(rpe, changes, psi):
    """What the first layer writes for the tokens -1, 0, 1, as integers."""
    tokens = exact.rationals(TOKENS)[:, None]
    found = adaptive.pointed(follow(rpe, changes, psi), tokens)[:, pointer_row()]
    values = found if rpe == "lin" else map(logarithms.exp, found)
    return [int(value.p) for value in values]


def for_all(claim, name, cases, wrong, equation):
    examples = claim.at_scale(smoke=30, laptop=120, paper=10_000)
    claim.for_all(name, cases, wrong, equation=equation, examples=examples)


def differing(found, stated):
    return sum(a != b for a, b in zip(found, stated, strict=True))


unit = st.fractions(min_value=-1, max_value=1, max_denominator=10**6).filter(lambda v: abs(v) < 1)
triples = st.tuples(unit, unit, unit)


@pytest.mark.exact
def test_lin_within_a_half_every_pointer_is_exact(claim):
    """g(x) + u(x)/2 with |u| < 1, another u for each token."""
    psi = heads("lin")

    def wrong(changes):
        return differing(pointers("lin", [u / 2 for u in changes], psi), G.values())

    for_all(claim, "wrong pointers", triples, wrong, "|δ| < 1/2")


@pytest.mark.exact
def test_log_within_the_exact_threshold_every_pointer_is_exact(claim):
    """log g + log r, with r between 1 - 1/(2g) and 1 + 1/(2g)."""
    psi = heads("log")

    def wrong(changes):
        factors = [1 + u / (2 * g) for u, g in zip(changes, G.values(), strict=True)]
        return differing(pointers("log", factors, psi), G.values())

    for_all(claim, "wrong pointers", triples, wrong, "|e^δ − 1| < 1/(2g)")


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.exact
def test_beyond_the_threshold_every_pointer_is_off_by_one(rpe, claim):
    """g + d, 1/2 < |d| < 3/2; log (g + d) for log, g + d > 1/2. None of the tokens is right."""
    psi = heads(rpe, reach=T + 1)
    signs = st.sampled_from([1, -1]) if rpe == "lin" else st.just(1)
    moves = st.tuples(*[st.tuples(unit.map(abs), signs) for _ in range(3)])

    def wrong(case):
        start, width = HALF + Fraction(1, 10**7), 1 - Fraction(1, 10**6)
        moved = [sign * (start + u * width) for u, sign in case]
        factors = [1 + d / g for g, d in zip(G.values(), moved, strict=True)]
        stated = [g + sign for g, (_, sign) in zip(G.values(), case, strict=True)]
        return differing(pointers(rpe, moved if rpe == "lin" else factors, psi), stated)

    for_all(claim, "pointers that are not g ± 1", moves, wrong, "1/2 < |δ| < 3/2")


EDGE = HALF - Fraction(1, 10**9)


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.exact
def test_within_rounding_accuracy_the_network_is_the_same(rpe, claim):
    """All states after the first layer, on all windows of 4 tokens, at the edge of the interval."""
    target, psi, bits = targets.FOLLOW, heads(rpe), 256
    windows = exact.rationals(target.windows(4))
    if claim.scale == "smoke":
        windows = windows[::3]

    def states(changes):
        network = follow(rpe, changes, psi)
        with flint.ctx.workprec(bits):
            found = list((network if rpe == "lin" else network.balls(bits)).states(windows))
        return found[2:]

    signs = (1, -1, 1)
    if rpe == "lin":
        nothing, some = [0, 0, 0], [sign * EDGE for sign in signs]
    else:
        nothing = [1, 1, 1]
        some = [1 + sign * EDGE / g for sign, g in zip(signs, G.values(), strict=True)]
    pairs = list(zip(states(nothing), states(some), strict=True))
    if rpe == "log":  # the pointers log k are the same balls; what follows has them alone
        pairs = [(a.astype(str), b.astype(str)) for a, b in pairs]
    different = sum(int((a != b).sum()) for a, b in pairs)
    claim.record("numbers", sum(a.size for a, _ in pairs))
    claim.measured("numbers that change", different, equation="Theorem 5.1").equals(0)


@pytest.mark.certified
def test_the_proof_asks_for_half_of_what_log_needs(claim):
    """1/(4T) < log(1 + 1/(2T)) < 1/(2T); T log(1 + 1/(2T)) grows from log(3/2) to 1/2."""
    last = claim.at_scale(smoke=100, laptop=1000, paper=10**5)
    with flint.ctx.workprec(128):
        needed = [(1 + flint.arb(1) / (2 * t)).log() for t in range(1, last + 1)]
        downwards = [-(1 - flint.arb(1) / (2 * t)).log() for t in range(1, last + 1)]
        scaled = [t * value for t, value in enumerate(needed, start=1)]
        falls = sum(not a < b for a, b in itertools.pairwise(scaled))
        kinder = sum(not a > b for a, b in zip(downwards, needed, strict=True))
    name = "T at which T log(1 + 1/(2T)) does not grow"
    claim.measured(name, falls, equation="log(1 + 1/(2T))").equals(0)
    name = "T at which going down is forgiven less"
    claim.measured(name, kinder, equation="−log(1 − 1/(2T))").equals(0)
    name, place = "needed accuracy times T", "1/(4T) < log(1 + 1/(2T))"
    why = "the proof's 1/(4T) is enough, since T log(1 + 1/(2T)) ≥ log(3/2) > 0.405"
    first = claim.measured(name, scaled[0], equation=place, T=1)
    first.at_least(theorem(Fraction(405, 1000), why))
    last_one = claim.measured(name, scaled[-1], equation="T log(1 + 1/(2T)) → 1/2", T=last)
    last_one.at_most(theorem(HALF, "log(1 + x) < x: a constant of 1/2 would not do for all T"))
    least = HALF - Fraction(1, 8 * last)
    last_one.at_least(theorem(least, "log(1 + x) > x − x²/2, x = 1/(2T)"))


@pytest.mark.construct
def test_two_jobs(claim):
    """Right or wrong pointers (g + 1), accurate heads or weight 0; lin, in rationals."""
    target, n = targets.FOLLOW, 6
    windows = target.windows(n)
    few = claim.at_scale(smoke=30, laptop=150, paper=len(windows))
    windows = windows[claim.rng("windows").choice(len(windows), few, replace=False)]
    t = np.arange(T + 1, n)
    truth, x = pointed(windows)[:, 1:], windows[..., 0].astype(int)
    error = heads("lin", T + 1).error
    for where, fetch in itertools.product(("right", "wrong"), ("accurate", "weight 0")):
        psi = heads("lin", T + 1) if fetch == "accurate" else moving.silent("lin", T + 1)
        off = int(where == "wrong")
        network = follow("lin", [off] * 3, psi)
        states = list(network.states(exact.rationals(windows)))
        pointer = states[2][..., T + 1 :, 2].astype(float).astype(int)
        wrong = int((pointer != x[:, T + 1 :] + 2).sum())
        named = np.take_along_axis(x, t - pointer, axis=1)
        missed = max(abs(states[3][..., T + 1 :, 1] - exact.rationals(named)).ravel())
        outcome = max(abs(states[4][..., T + 1 :, 0] - exact.rationals(truth)).ravel())
        job = {"pointers": where, "heads": fetch}
        claim.record("error", float(outcome), **job)
        stray = claim.measured("wrong pointers", wrong, equation="Section 5.2", **job)
        stray.equals(off * pointer.size)
        fetched = claim.measured("|fetched − named token|", missed, equation="Section 5.2", **job)
        name = "largest error of the output"
        result = claim.measured(name, outcome, equation="Theorem 5.1", **job)
        if fetch == "weight 0":
            fetched.equals(1)
            result.at_least(theorem(1, "0 misses a token ±1 by 1"))
            continue
        fetched.at_most(theorem(error, "the l1 error of the heads, whatever the pointer"))
        if where == "right":
            result.at_most(theorem(error, "|f|_Lip = 1"))
        else:
            result.at_least(theorem(2 - error, "two tokens differ by 2, less the heads' error"))


DECISIVE = [-1, 1, 0, 0, 1], [0, -1, 1, 0, 0], [0, 0, -1, 1, -1]  # one step too far: -1 for 1


@pytest.mark.construct
def test_figure_a_growing_error_of_the_memory_function(claim):
    """g + d in rationals (lin, d <= 0.6), log g + d in balls (log, d <= 0.4), random windows.

    lin jumps at 1/2. log jumps first where g = 3, at log(7/6) = 0.154; 1/(4T) = 1/12 is safe.
    """
    target, bits, reach = targets.FOLLOW, 512, T + 1
    draws = target.draw(claim.at_scale(smoke=2, laptop=5, paper=240), reach + 1, claim.rng("x"))
    windows = np.concatenate([np.array(DECISIVE, dtype=float)[..., None], draws])
    truth = exact.rationals(pointed(windows)[:, -1])
    some = claim.at_scale(smoke=20, laptop=50, paper=240)
    amounts = [Fraction(3 * k, 5 * some) for k in range(some + 1) if 6 * k != 5 * some]
    edge = {"lin": flint.arb(flint.fmpq(1, 2)), "log": flint.arb(flint.fmpq(7, 6)).log()}
    for rpe in ("lin", "log"):
        psi = heads(rpe, reach)
        for d in amounts if rpe == "lin" else [d for d in amounts if d <= Fraction(2, 5)]:
            networks = [shifted(getattr(target.memories[0], rpe), d)]
            network = adaptive.transformer(target, [psi], [[1]], memory_networks=networks)
            with flint.ctx.workprec(bits):
                network = network if rpe == "lin" else network.balls(bits)
                outputs = network(exact.rationals(windows))[:, -1, 0]
                error = max(abs(outputs - truth), key=float)
            found = claim.measured("largest error", error, equation="Section 5.2", rpe=rpe, d=d)
            if exact.rational(d) < edge[rpe]:
                found.at_most(theorem(psi.error, "the l1 error of the heads"))
            else:
                why = "one step too far is a token 2 away, less the error of the heads"
                found.at_least(theorem(2 - psi.error, why))


def shifted(network, d):
    """One more neuron, d relu(1), in the arithmetic that the others allow: balls beside Log."""
    amount = exact.rational(d)
    if any(isinstance(a, logarithms.Log) for a in network.a):
        with flint.ctx.workprec(512):
            network = network._replace(a=arrays.each(logarithms.ball, network.a))
        amount = flint.arb(amount)
    one = exact.vector([amount]), exact.rationals([[0]]), exact.rationals([1])
    return barron.Network(*map(np.concatenate, zip(network, one, strict=True)))


def test_control_accuracy_of_a_half_is_not_enough_for_log(claim):
    """log g + 0.49, as a factor e^0.49 > 1.63: g = 1, 2, 3 become 2, 3, 5."""
    found = pointers("log", [Fraction(163, 100)] * 3, heads("log", T + 2))
    wrong = claim.measured(
        "wrong pointers of 3", differing(found, G.values()), equation="(15), log"
    )
    wrong.at_least(exactly(3, "1.63 g rounds to 2, 3 and 5"))


@pytest.mark.parametrize("H", [5, 6, 7], ids="H={}".format)
def test_control_without_rounding_more_heads_do_not_help(H, claim):
    """g + 1/4 and no rounding: the heads are asked for a distance between two tokens."""
    import torch

    psi, windows = moving.fitted("lin", T + 1, H), targets.FOLLOW.windows(5)
    network = follow("lin", [Fraction(1, 4)] * 3, psi)
    plain = adaptive.unrounded(network).to(torch.float64)
    error = np.abs(plain(torch.tensor(windows))[:, T:, 0].numpy() - pointed(windows)).max()
    most = theorem(psi.error + psi.rounding(5), "what the heads leave with rounding, (15)")
    claim.measured("largest error", error, equation="(15)").at_least(most)


def test_control_another_readout_has_the_right_tokens_and_a_wrong_answer(claim):
    """f = x_t for f = x_{t-g}: where and fetch are as before; f is the third job."""
    target, psi = targets.FOLLOW, heads("lin")
    other = targets.coordinate(2, 0).network
    network = adaptive.transformer(target, [psi], [[1]], readout=other)
    windows = target.windows(4)
    outputs = network(exact.rationals(windows))[:, -1, 0]
    errors = abs(outputs - exact.rationals(pointed(windows)[:, -1]))
    occurs = theorem(2, "x_t = 1 and x_{t-3} = -1 occurs")
    claim.measured("largest error", max(errors), equation="Theorem 5.1").at_least(occurs)
