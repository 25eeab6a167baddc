"""Section 3.2 (wang2024, equations (2)-(4)): the Transformer with lin- or log-RPE.

x^(0)_t = W_E x_t + b_E; layer l adds an attention of H heads and then a ReLU network of m neurons,
the last network replacing the token; token t takes from token t - s, of each head, the share
    e^{<W_Q x_t, W_K x_{t-s}> + p phi(s)} / sum_j e^{<W_Q x_t, W_K x_{t-j}> + p phi(j)},
with phi_lin(s) = -s for s >= 0, phi_log(s) = -log s for s >= 1, and -inf elsewhere.

Checked: the one forward pass of this package (repro/wang2024/model.py), for lin and log, with dot
product, without, and TMX (Definition B.5), normalised or not, two layers, the first feed-forward
layer rounding as (15) has it. The same weights are run in rationals, in balls and in float64. The
rationals lie in balls of radius below 1e-50 that the displayed formulas give, written out number by
number with exp and log; and in the model's own balls; float64 is within a derived round-off. Exact:
future tokens do not matter; under log-RPE no token attends to itself; the softmax cancels the
second term of TMX, since e^{-p phi(w . x_t)} does not depend on s.
Controls: a key from the future, distance 0 under log, no residual, a readout that adds; float32;
TMX without softmax; tokens of the past.

Not checked: infinite sequences. Here the sums end where the window does; for dot-product-free heads
the infinite normaliser is finite for p > 0 (lin) and p > 1 (log) only.

Readings: repro/wang2024/model.py. The first token of a window has no key under log-RPE: a softmax
has no output there.
"""

import itertools

import numpy as np
import pytest

from repro.bounds import exactly, rounding_error, theorem
from repro.numerics import exact, logarithms, roundoff
from repro.wang2024 import model

KINDS = ["dot product", "dot-product-free", "TMX"]
MODELS = list(itertools.product(["lin", "log"], KINDS, [True, False]))
names = [
    f"{rpe}-{kind}-{'softmax' if soft else 'normalisation-free'}" for rpe, kind, soft in MODELS
]
models = pytest.mark.parametrize(("rpe", "kind", "normalised"), MODELS, ids=names)
n, d, D, H, m, r = 6, 3, 5, 2, 4, 2
DIGITS, BITS = "1e-50", 512


def random_model(seed, rpe, kind, normalised):
    """Two layers; rows 0, 1: any rationals, 2: integers >= 1, 3: the constant 1, 4: log of (15).

    Logits read rows 2 to 4, which attention does not write: they are logarithms of rationals.
    """
    rng = np.random.default_rng(seed)
    Log, rationals = logarithms.Log, exact.rationals

    def draw(*shape, low=-2, high=3):
        return rationals(rng.integers(low, high, shape).tolist())

    def head(layer):
        W_V = draw(D, D)
        W_V[:, 4] = 0
        p = Log(int(rng.integers(2, 5))) if rpe == "lin" else int(rng.integers(0, 4))
        if kind == "dot-product-free":
            return model.Head(W_V, p)
        if kind == "TMX":
            return model.Head(W_V, p, w=rationals([0, 0, 1, 0, 0]))
        W_Q, W_K = rationals([[0] * D] * r), rationals([[0] * D] * r)
        W_Q[0, 2], W_Q[1, 3] = Log(int(rng.integers(2, 4))), Log("2/3")
        W_K[:, 2:4] = draw(r, 2, low=-1, high=2)
        if layer == 2:
            W_Q[1, 3], W_Q[1, 4], W_K[1] = 0, int(rng.integers(1, 3)), rationals([0, 0, 0, 1, 0])
        return model.Head(W_V, p, W_Q, W_K)

    def attention(layer):
        W_O = draw(D, D)
        W_O[2:] = 0
        return model.Attention([head(layer) for _ in range(H)], W_O, rpe, normalised)

    W_E = draw(D, d)
    W_E[2:] = rationals([[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    b_E = rationals([*rng.integers(-2, 3, 2).tolist(), 0, 1, 0])
    a, b = draw(D, m, low=-1, high=2), draw(m, D, low=-1, high=2)
    off = rationals([1, 2, 4, 8]) / 101
    a[2], a[3:], b[:, 4] = abs(a[2]), 0, 0
    if not normalised:  # sums of e^logit are large, and positions must stay small
        b[:, :2] = 0
    if rpe == "log":
        a[4], a[:4], b = abs(a[1]), 0, b / 4
    first = model.FeedForward(a, b, draw(m) / 3 + off, rounding=rpe)
    readout = model.FeedForward(draw(1, m), draw(m, D), draw(m))
    readout.b[:, 4] = 0
    layers = [model.Layer(attention(1), first), model.Layer(attention(2), readout)]
    return model.Transformer(W_E, b_E, layers), tokens(rng)


def tokens(rng):
    some = exact.rationals(rng.integers(-2, 3, (n, d)).tolist()) / 2
    some[:, 2] = exact.rationals(rng.integers(1, 4, n).tolist())
    return some


# --- the displayed formulas, one number after the other, in balls --------------------------------


def times(W, x):
    ball = logarithms.ball
    return [sum((ball(w) * a for w, a in zip(row, x, strict=True)), ball(0)) for row in W]


def plus(x, y):
    return [a + logarithms.ball(b) for a, b in zip(x, y, strict=True)]


def rounded(z, rpe):
    """Equation (15)."""
    ball = logarithms.ball
    k = ((z if rpe == "lin" else z.exp()) + ball("1/2")).floor().unique_fmpz()
    return ball(k) if rpe == "lin" else ball(k).log()


def logit(head, rpe, window, t, key):
    ball = logarithms.ball

    def phi(z):
        return -z if rpe == "lin" else -z.max(ball(1)).log()

    bias = ball(head.p) * phi(ball(t - key))
    if head.w is not None:
        return bias - ball(head.p) * phi(times([head.w], window[t])[0])
    if head.W_Q is None:
        return bias
    q, k = times(head.W_Q, window[t]), times(head.W_K, window[key])
    return sum((a * b for a, b in zip(q, k, strict=True)), bias)


def attended(attention, window, t, smallest):
    """Attn(x_t), or None where a softmax has no key."""
    keys = [t - s for s in range(smallest, t + 1) if t - s in window]
    total = [logarithms.ball(0)] * D
    if attention.normalised and not keys:
        return None
    for head in attention.heads:
        e = {key: logit(head, attention.rpe, window, t, key).exp() for key in keys}
        denominator = sum(e.values()) if attention.normalised else 1
        for key in keys:
            value = times(head.W_V, window[key])
            total = plus(total, [v * e[key] / denominator for v in value])
    return times(attention.W_O, total)


def displayed(network, xs, broken=""):
    """{position: output}, by (2) and (3)."""
    window = {t: plus(times(network.W_E, x), network.b_E) for t, x in enumerate(xs)}
    for number, layer in enumerate(network.layers, start=1):
        after, ffn = {}, layer.feed_forward
        printed = 0 if layer.attention.rpe == "lin" else 1
        smallest = {"a key from the future": -n, "distance 0 under log": 0}.get(broken, printed)
        for t, x in window.items():
            change = attended(layer.attention, window, t, smallest)
            if change is not None:
                x = change if broken == "no residual" else plus(x, change)
                hidden = [a.max(0 * a) for a in plus(times(ffn.b, x), ffn.c)]
                out = times(ffn.a, hidden)
                if number < len(network.layers):
                    after[t] = plus(x, [rounded(z, ffn.rounding) for z in out])
                else:
                    after[t] = [out[0] + x[0]] if broken == "the readout adds" else out
        window = after
    return window


@models
@pytest.mark.certified
def test_the_forward_pass_is_the_displayed_formula(rpe, kind, normalised, claim):
    """Every rational output lies in the ball of the formula, and so do the model's own balls."""
    import flint

    wrong, widest = 0, flint.arb(0)
    for seed in range(claim.at_scale(smoke=1, laptop=8, paper=100)):
        network, xs = random_model(seed, rpe, kind, normalised)
        with flint.ctx.workprec(BITS):
            formula, balls = displayed(network, xs), network.balls(BITS)(xs)
            for t, rational, ball in zip(range(network.first, n), network(xs), balls, strict=True):
                ours, (theirs,) = flint.arb(ball[0]), formula.pop(t)
                wrong += not (theirs.contains(rational[0]) and ours.contains(rational[0]))
                widest = max(widest, theirs.rad(), ours.rad())
        wrong += len(formula)
    claim.measured("outputs outside the balls", wrong, equation="(2)-(4)").equals(0)
    radius = flint.arb(DIGITS)
    bits = rounding_error(radius, "512 bits")
    claim.measured("largest radius", widest, equation="(2)-(4)").at_most(bits)


def error_scale(network, xs):
    """K A, such that float64 is off by at most u K A (1.01 for u^2), for each output.

    Every number in the network is a sum of products. With |weights| and |tokens| for the signed
    ones the same sums have a size A, and an error of at most u K A if K relative errors of size u
    meet on the way (Higham 2002, Section 3; ReLU does not enlarge an error). A scalar product of k
    terms costs k, and 1 for its rounded weights. Logits read rows 2 to 4, integers and log k, so
    that a logit whose terms have size L is off by at most (2(1+D) + r + 4 + 4 + 3) L u: 4 for log k
    and for phi, which are right to 2 ulp; subtracting the maximum costs 2 L u, exp 2 ulp. In
    e / sum e all of this counts twice, and n + 1 is added.
    """
    inner, last = model.inner, network.layers[-1]
    z, A = inner(xs, network.W_E) + network.b_E, inner(abs(xs), abs(network.W_E)) + abs(network.b_E)
    K = d + 2
    for layer in network.layers:
        attention, ffn = layer.attention, layer.feed_forward
        L = max(logit_size(head, z, attention.rpe) for head in attention.heads)
        shares = [(attention.scores(head, z), abs(head.W_V)) for head in attention.heads]
        moved = sum(inner(share, inner(A, W_V).T) for share, W_V in shares)
        A = A[attention.first :] + inner(moved, abs(attention.W_O))
        K += 2 * (1 + D) + 2 * ((2 * (1 + D) + r + 13) * L + 4) + 2 * n + H + 3
        z = z[attention.first :] + attention(z)
        if layer is not last:  # what is rounded is then what it should be, without error
            out = ffn(z)
            z, A[:, :4] = z + out, A[:, :4] + abs(out[:, :4])
    hidden = inner(A, abs(last.feed_forward.b)) + abs(last.feed_forward.c)
    A, K = inner(hidden, abs(last.feed_forward.a)), K + 4 + D + m
    return 1.01 * K * exact.to_float(A)


def logit_size(head, z, rpe):
    """At least the sum of the absolute terms of every logit."""
    to_float = exact.to_float
    z, p, far = abs(to_float(z)), float(head.p), n if rpe == "lin" else np.log(n)
    if head.w is not None:
        centre = (z @ abs(to_float(head.w))).max()
        return p * (far + (centre if rpe == "lin" else np.log(centre)))
    if head.W_Q is None:
        return p * far
    q, k = (z @ abs(to_float(W)).T for W in (head.W_Q, head.W_K))
    return (q.max(0) * k.max(0)).sum() + p * far


def error_over_bound(claim, rpe, kind, normalised, dtype, seed):
    """Largest |floating point - exact| over u K A, u being that of float64."""
    import torch

    network, xs = random_model(seed, rpe, kind, normalised)
    floats = network.to(getattr(torch, dtype), claim.device)
    ours = floats(model.rounded(xs, getattr(torch, dtype), claim.device))
    off = abs(exact.rationals(ours.double().cpu().numpy()) - network(xs))
    bound = roundoff.unit("float64") * error_scale(network, xs)
    return (exact.to_float(off) / np.maximum(bound, 1e-300)).max()


@models
@pytest.mark.construct
def test_float64_is_within_the_derived_round_off(rpe, kind, normalised, claim):
    seeds = range(claim.at_scale(smoke=1, laptop=8, paper=100))
    worst = max(error_over_bound(claim, rpe, kind, normalised, "float64", s) for s in seeds)
    derived = rounding_error(1, "u K A, derived at error_scale")
    claim.measured("error over its bound", worst, equation="(2)-(4)").at_most(derived)


@pytest.mark.exact
def test_phi_by_hand_and_minus_infinity_elsewhere(claim):
    """phi_lin(3) = -3, phi_log(3) = log 1/3; below 0 or 1 there is no number, even if for one of
    two arguments only."""
    import torch

    for rpe, stated, outside in (("lin", -3, -0.5), ("log", logarithms.Log("1/3"), 0.5)):
        found = model.phi(rpe, exact.rationals([3]))[0]
        claim.measured("φ(3)", found == stated, equation="(4)", rpe=rpe).equals(True)
        for z in (exact.rationals([3, outside]), torch.tensor([3.0, outside])):
            with pytest.raises(ValueError, match=f"phi_{rpe}"):
                model.phi(rpe, z)


@models
@pytest.mark.exact
def test_the_future_does_not_matter(rpe, kind, normalised, claim):
    """All tokens after t are replaced; the outputs up to t stay what they were, exactly."""
    network, xs = random_model(11, rpe, kind, normalised)
    before, changed = network(xs), 0
    for t in range(network.first, n - 1):
        other = np.concatenate([xs[: t + 1], tokens(claim.rng(f"future of {t}"))[t + 1 :]])
        upto = t + 1 - network.first
        changed += int((network(other)[:upto] != before[:upto]).sum())
    claim.measured("outputs that changed", changed, equation="R_{t,s} = −∞ for t < s").equals(0)


@models
@pytest.mark.exact
def test_a_token_attends_to_itself_under_lin_and_never_under_log(rpe, kind, normalised, claim):
    network, xs = random_model(12, rpe, kind, normalised)
    attention, x = network.layers[0].attention, model.inner(xs, network.W_E) + network.b_E
    diagonals = [np.diagonal(attention.scores(h, x), attention.first) for h in attention.heads]
    own = sum(int((share > 0).sum()) for share in diagonals)
    every = {"lin": H * n, "log": 0}[rpe]
    shares = claim.measured("positive shares of x_t in Attn(x_t)", own, equation="φ_log(0) = −∞")
    shares.equals(every)


def tmx_against_free(rpe, normalised):
    """Shares of TMX heads over those of the same heads without w, and e^{-p phi(w . x_t)}."""
    network, xs = random_model(13, rpe, "TMX", normalised)
    attention, x = network.layers[0].attention, model.inner(xs, network.W_E) + network.b_E
    for head in attention.heads:
        free = attention.scores(model.Head(head.W_V, head.p), x)
        tmx, first = attention.scores(head, x), attention.first
        powers = [head.p.of ** int(g.p) if rpe == "lin" else g**head.p for g in x[first:, 2]]
        yield tmx, free, exact.vector(powers)[:, None]


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.exact
def test_the_softmax_cancels_the_second_term_of_tmx(rpe, claim):
    differ = sum(int((tmx != free).sum()) for tmx, free, _ in tmx_against_free(rpe, True))
    name = "shares that differ from those without w"
    claim.measured(name, differ, equation="Definition B.5").equals(0)


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_control_without_softmax_the_second_term_of_tmx_stays(rpe, claim):
    """No denominator: every share has the factor e^{-p phi(w . x_t)}, u^-g (lin) or g^p (log)."""
    largest = 0
    for tmx, free, factors in tmx_against_free(rpe, False):
        wrong = int((tmx != factors * free).sum())
        claim.measured("shares without the factor", wrong, equation="Definition B.5").equals(0)
        largest = max(largest, (tmx[free != 0] / free[free != 0]).max())
    least = theorem(2, "u⁻ᵍ ≥ 2 for u ≤ 1/2, g ≥ 1; gᵖ ≥ 2 for g ≥ 2, p ≥ 1")
    claim.measured("largest share, TMX/free", largest, equation="Definition B.5").at_least(least)


@pytest.mark.parametrize("kind", KINDS)
def test_control_float32_exceeds_the_bound_of_float64(kind, claim):
    u = claim.measured("u of float64", roundoff.unit("float64"), equation="error_scale")
    u.within(2.0**-53, exactly(0, "half a unit of the last of 53 digits"))
    worst = max(error_over_bound(claim, "lin", kind, True, "float32", seed) for seed in range(4))
    least = rounding_error(1, "u K A, derived at error_scale: what float64 stays below")
    claim.measured("error over the bound", worst, equation="(2)-(4)").at_least(least)


@pytest.mark.parametrize("kind", KINDS)
def test_control_tokens_of_the_past_matter(kind, claim):
    """Not the future but token 0 is replaced: a later output moves."""
    moved = 0
    for seed in range(10):
        network, xs = random_model(seed, "log", kind, True)
        other = xs.copy()
        other[0] = other[0] + 3
        moved += bool((network(other)[1:] != network(xs)[1:]).any())
    least = exactly(1, "if the past did not matter, no output would move: exact arithmetic")
    claim.measured("models whose later outputs move", moved, equation="(3)").at_least(least)


BROKEN = ["a key from the future", "distance 0 under log", "no residual", "the readout adds"]


@pytest.mark.parametrize("broken", BROKEN)
def test_control_another_formula_gives_other_outputs(broken, claim):
    """One change to the formula; of 10 random models some must come out elsewhere."""
    import flint

    outside = 0
    for seed in range(10):
        network, xs = random_model(seed, "log" if "log" in broken else "lin", KINDS[seed % 3], True)
        with flint.ctx.workprec(BITS):
            formula = displayed(network, xs, broken)
            pairs = zip(range(network.first, n), network(xs), strict=True)
            outside += any(not formula[t][0].overlaps(flint.arb(y[0])) for t, y in pairs)
    least = exactly(1, "the formula as printed has none: balls that do not overlap")
    moved = claim.measured("models out of 10 with another output", outside, equation="(2)-(4)")
    moved.at_least(least)


def weight_of_the_present_token(beta):
    """w 0^beta, which is 1 if the weight w of s = 0 is 0^-beta; tokens 0, 0, 1."""
    from repro.numerics.exact import rationals
    from repro.wang2024.model import Attention, Head

    layer = Attention((Head(rationals([[1]]), beta),), rationals([[1]]), "log", normalised=False)
    w = layer(rationals([[0], [0], [1]]))[-1, 0]
    return w * 0**beta, 1


def test_reading_the_sums_of_log_heads_from_s_0_on(claim):
    """The proof of Theorem B.2 prints sum_{s >= 0} (s/g)^-beta for log heads. By (3) the weight w
    of s = 0 is 0, since phi_log(0) = -inf; were it 0^-beta, then w 0^beta = 1. It begins at s = 1.
    """
    rationals = exact.rationals
    head = model.Head(rationals([[1]]), exact.rational(2))
    layer = model.Attention((head,), rationals([[1]]), "log", normalised=False)
    w = layer(rationals([[0], [0], [1]]))[-1, 0]  # the present token alone is not 0
    claim.counterexample(
        "the sum over s of (s/g)^-beta in the proof of Theorem B.2 begins at s = 0",
        input={"tokens": [0, 0, 1], "p": 2, "g": 1}, measured=w * 0**2, expected=1,
        equation="w 0^β = 1", printed=False, program=weight_of_the_present_token, beta=2,
    )  # fmt: skip
    before = layer(rationals([[0], [1], [0]]))[-1, 0]
    claim.measured("weight of x_{t-s}", before, equation="(3)", s=1).equals(1)
