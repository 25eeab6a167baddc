"""Theorem 5.4 (wang2024, Section 5.3; proof: Theorem C.1): nested memories, one layer for each.

For M memories of which the first K are nested, a normalisation-free Transformer with precision of
L = K + 1 + I{M >= K+1} layers, wide enough for the memory functions, has an error of at most
E_FFN + |f|_Lip E_Attn, E_Attn ~ C(n) H^-n sqrt(sum_{l<=K} a_l^(2n+2) + (sum_{l>K} a_l)^(2n+2)) with
a_l = e^{0.01 T_l} (lin) or T_l^1.01 (log).

Checked: L and the widths, counted for all K <= M <= 5. For four nested parities every pointer at
every position of all windows is exact, nothing else moves, the error is within |f|_Lip E_Attn, in
rationals (lin) and balls (log). Every H, with its constant: lin for all n, log for n = 1.

Not checked: log with n >= 2 and fewer heads than the 1 + |F_T| of the interpolant: it is open
whether a constant can be free of the |g_l|_Lip. E_FFN, which is 0 here (Lemma F.6).
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from repro.bounds import exactly, rounding_error, theorem
from repro.numerics import exact
from repro.wang2024 import adaptive, budgets, following, moving, nested
from repro.wang2024.pictures import networks as pictures

ERROR = "largest error"
LOST = "of the heads, derived at Moving.rounding (moving.py)"
SLOPES = "the parity has slopes ±1: errors of the blocks add up, and the older signs are free"
WHOLE = "whole tokens, but wrong ones: some parity has the other sign, less 2e and rounding"
ONE_BLOCK = "|f|_Lip = 1, and only block 2 is read"
DELTA, FINE, COARSE = Fraction(1, 1000), Fraction(1, 2000), Fraction(1, 100)
HEADS = {"lin": ((3, 4, 6), (3, 4, 5, 6)), "log": ((3, 5, 8), (3, 4, 5, 6, 7, 8))}  # smoke, above
RELAYS = [*(("lin", T) for T in (2, 3, 4, 5, 6)), *(("log", T) for T in (2, 3, 4))]
both = pytest.mark.parametrize("rpe", ["lin", "log"])
names = pytest.mark.parametrize("name", ["K=1, M=2", "K=2, M=2", "K=1, M=3", "K=2, M=3"])


def off(name, heads, n):
    """The largest |sum over l and s of psi(s; t_l) x_{t-s}, less x_{t-t_l}|, in rationals."""

    def psi(s, B):
        pairs = zip(heads.alphas, heads.exponents, strict=True)
        if heads.rpe == "lin":
            return sum(a * p.of ** (B - s) for a, p in pairs)
        return sum(a * exact.rational(Fraction(B, s)) ** int(p.p) for a, p in pairs) if s else 0

    rows, target = {B: [psi(s, B) for s in range(n)] for B in (1, 2)}, nested.EXAMPLES[name]
    windows, found = target.windows(n), []
    for x, steps in zip(windows[..., 0].astype(int), target.fetched(windows)[0], strict=True):
        for t, ts in enumerate(steps.tolist(), start=target.reach):
            past = x[t::-1].tolist()
            held = sum(row * v for B in ts for row, v in zip(rows[B], past, strict=False))
            found.append(abs(held - sum(past[B] for B in ts)))
    return max(found)


def together(heads):
    """The same largest error over all windows of 40 signs: x_t, x_{t-1}, x_{t-2}, and the past."""
    found, gap = [], {B: heads.kernel(B, 40) - (np.arange(40) == B) for B in (1, 2)}
    for x in itertools.product((1, -1), repeat=3):
        first = 1 if x[0] > 0 else 2
        both = gap[first] + gap[1 if x[first] > 0 else 2]
        found.append(abs(both[:3] @ x) + abs(both[3:]).sum())
    return max(found)


def curve(claim, rpe):
    (few, many), n = HEADS[rpe], claim.at_scale(smoke=8, laptop=10, paper=14)
    Hs = claim.at_scale(smoke=few, laptop=many, paper=many)
    return nested.curve(rpe, Hs, n, claim.seed("windows"), claim.device)


@pytest.mark.exact
def test_layers_and_widths_are_those_of_the_statement(claim):
    pairs, L, m = nested.counted(5)
    claim.measured("(K, M) with another L", L, equation="L of Theorem 5.4", pairs=pairs).equals(0)
    claim.measured("(K, M) with other widths", m, equation="m of Theorem 5.4").equals(0)


@names
@pytest.mark.exact
def test_every_pointer_is_exact_and_the_error_within_the_bound(name, claim):
    n, e = claim.at_scale(smoke=5, laptop=6, paper=8), nested.exact_heads("lin").error
    found, M = nested.exactly(name, n), nested.EXAMPLES[name].M
    for k, wrong in enumerate(found.wrong, start=1):
        claim.measured("positions with another t_k", wrong, equation="(E1)", k=k).equals(0)
    bound = theorem((M + 1) * M * e**2, "|f|_Lip² E_Attn² = (M + 1) M e²")
    claim.measured(f"{ERROR}, squared", found.output**2, equation="5.4").at_most(bound)
    error = claim.measured(ERROR, found.output, equation="5.4", windows=2**n, e=float(e))
    error.equals(off(name, nested.exact_heads("lin"), n))


@names
@pytest.mark.exact
def test_nothing_else_of_the_stream_moves(name, claim):
    """FFN j writes its pointers (the first one also 1), attention j + 1 its blocks; exactly."""
    moved, written = following.elsewhere(nested.EXAMPLES[name], nested.exact_states(name, 5))
    claim.measured("changes elsewhere", moved, equation="(E2)", written=written).equals(0)


@names
@pytest.mark.certified
def test_log_pointers_and_error_in_balls(name, claim):
    target, heads = nested.EXAMPLES[name], nested.exact_heads("log")
    wrong, found, bound = nested.in_balls(target, heads, 4)
    at = {"heads": heads.H, "error": float(found)}
    claim.measured("t_l not within 1e-30", wrong, equation="(E1)", **at).equals(0)
    error = claim.measured(ERROR, found, equation="5.4").at_most(theorem(bound, "|f|_Lip E_Attn"))
    error.within(off(name, heads, 4), rounding_error(2.0**-50, "compared in float64"))


@both
@pytest.mark.construct
def test_error_falls_with_the_heads(rpe, claim):
    for H, one in curve(claim, rpe).items():
        heads, why = moving.optimal(rpe, 2, H), LOST + ", twice, and of the readout"
        lost = rounding_error(one["lost"] + 2 * heads.rounding(40), why)
        error = claim.measured(ERROR, one["network"], equation="5.4", H=H)
        error.at_most(theorem(one["bound"], "|f|_Lip E_Attn") + lost)
        error.within(together(heads), theorem(0, SLOPES) + lost)


@both
@pytest.mark.best_in_class
def test_no_coefficients_fetch_a_token_better(rpe, claim):
    for H in curve(claim, rpe):
        heads = moving.optimal(rpe, 2, H)
        off = nested.block_error(heads, claim.rng("x"), claim.device)
        block = claim.measured("|block − x_(t−t_l)|", off, equation="(E3)", H=H)
        best = theorem(float(heads.error.upper()), "the l1 error")
        block.at_most(best + rounding_error(heads.rounding(40), LOST))
        psi, same = heads.kernel(1, 40), "x_t = x_(t−1) = 1, so t₁ = t₂ = 1: one past for both"
        least = abs(psi[0] + psi[1] - 1) + abs(psi[2:]).sum() - 2 * heads.rounding(40)
        block.at_least(theorem(least, same))


@pytest.mark.construct
def test_figure_error_against_heads(claim):
    panels = {}
    for rpe in HEADS:
        of_H, names = curve(claim, rpe), ("network", "bound", "less")
        ratio = of_H[min(of_H)]["network"] / of_H[max(of_H)]["network"]
        fall = claim.measured("fall of the error", ratio, equation="5.4", rpe=rpe)
        fall.at_least(theorem((max(of_H) / min(of_H)) ** 3, "H^-3, and so H^-2 and H^-1"))
        panels[f"{rpe}-RPE"] = {name: [(H, of_H[H][name]) for H in of_H] for name in names}
    caption = "The nested parity in float64, beside the proved bound and one layer less."
    claim.figure(pictures.heads(panels), "heads", caption=caption)


@pytest.mark.certified
def test_the_constants_of_the_proof_ask_for_thousands_of_heads(claim):
    """Below 2/5 < 1 / sqrt 6: growth (5/2 front M(4))^(1/4), M(4) = 8315.89007, T = 2. lin: growth
    e^0.02 / (1 - e^-0.01) = 102.531, front e times this: 5030.43. log: 100 4^1.01 = 405.584, front
    e 2^1.01 zeta(1.01) = 550.602: 23591.32. Three heads are needed."""
    for rpe, stated in (("lin", 5031), ("log", 23592)):
        H = moving.heads_of_proof(rpe, 2, Fraction(2, 5))
        needed = claim.measured("heads until √6 bound < 1", H, equation="C.1", rpe=rpe)
        needed.equals(stated)


@pytest.mark.parametrize(("rpe", "T"), RELAYS, ids=[f"{rpe}-T={T}" for rpe, T in RELAYS])
@pytest.mark.exact
def test_as_many_heads_relay_over_every_distance(rpe, T, claim):
    """t_1 = T x_t, t_2 = T x_{t-t_1}, y_t = x_{t-t_2}. lin: T + 1 heads, level 1/(8T), |g|_Lip = T;
    log: 1 + |F_T| powers, F_T the fractions t/B < 1 with B <= T, 1, 3, 5 for T = 2, 3, 4."""
    count = claim.at_scale(smoke=4, laptop=12 if rpe == "lin" else 4, paper=100)
    H, wrong, error, e = nested.relay(rpe, T, count, claim.rng(f"relay {T}"))
    stated = T + 1 if rpe == "lin" else {2: 2, 3: 4, 4: 6}[T]
    claim.measured("heads for each memory", H, equation="H = T + 1, 1 + |F_T|").equals(stated)
    claim.measured("pointers that differ", wrong, equation="(E1)").equals(0)
    claim.measured(ERROR, error, equation="5.4").at_most(theorem(e, ONE_BLOCK))


@pytest.mark.certified
def test_the_bound_at_points_worked_out_by_hand(claim):
    """K = 1, M = 3. lin, T = 100, H = 10, n = 1: sqrt(e^4 + (2e)^4) / 10 = e^2 sqrt(17) / 10.
    log, T = 2, 2, 4, H = 3, n = 2: sqrt(2^6.06 + (2^1.01 + 2^2.02)^6) / 9."""
    for rpe, T, H, n, value in (
        ("lin", [[100], [100, 100]], 10, 1, 3.046585876950545),
        ("log", [[2], [2, 4]], 3, 2, 24.863325395151217),
    ):
        found = float(budgets.extraction(rpe, T, H, n).mid())
        bound = claim.measured("E_Attn / C(n)", found, equation="5.4", rpe=rpe, T=T, H=H, n=n)
        bound.within(value, rounding_error(1e-14 * value, "16 digits by hand"))


@both
@pytest.mark.certified
def test_the_statement_for_every_H_with_its_constant(rpe, claim):
    """budgets.py: if a stage lacks heads, leave all blocks 0, and C(n) has sqrt(M)."""
    count, place = claim.at_scale(smoke=200, laptop=3000, paper=30000), "C(n) H⁻ⁿ √… ≥ √M"
    lacking, wrong = budgets.cases(rpe, True, count, claim.rng("every H"))
    claim.measured("bounds below √M", wrong, equation=place, cases=count, lacking=lacking).equals(0)


def on_the_cliff(heads):
    """Wrong t_2, and the largest error, over the windows of three tokens; in rationals, by hand."""
    pairs, delta = list(zip(heads.alphas, heads.exponents, strict=True)), exact.rational(DELTA)
    wrong, errors, far = 0, [], exact.rational(1)
    for x in itertools.product((-far, -delta, delta, far), repeat=3):  # x_t, x_{t-1}, x_{t-2}

        def block(B, x=x):
            return sum(a * p.of ** (B - s) * x[s] for a, p in pairs for s in range(3))

        first = 1 if abs(x[0]) == 1 else 2
        ramp = (block(first) + delta) / (2 * delta)
        second, stated = (1 if 2 * ramp > 1 else 2), (1 if x[first] > 0 else 2)
        wrong += second != stated
        errors.append(abs(block(second) - x[stated]))
    return wrong, max(errors)


@pytest.mark.exact
def test_better_heads_of_the_same_number_follow_a_steep_function(claim):
    """|g_2|_Lip = 500: with e <= 1/2000 all pointers are right, with e <= 1/100 some are not."""
    fine, coarse = (nested.exact_heads("lin", level) for level in (FINE, COARSE))
    for level, one, q in ((FINE, fine, 2048), (COARSE, coarse, 128)):  # e is q + q² + ..., q = 2⁻ᵏ
        bases = claim.measured("e^β", [p.of for p in one.exponents], equation="C.1", level=level)
        bases.equals([q, q**2, q**3])
    slope, wrong = exact.rational(1 / (2 * DELTA)), {}
    steep = claim.measured("e |g₂|_Lip", fine.error * slope, equation="C.1", level=FINE)
    steep.at_most(theorem(Fraction(1, 4), "C.1's condition, with l = 2"))
    for level, one in ((FINE, fine), (COARSE, coarse)):
        found, stated = nested.cliff(DELTA, one), on_the_cliff(one)
        wrong[level] = claim.measured("wrong pointers", found[0], equation="(E1)", level=level)
        wrong[level].equals(stated[0])
        claim.measured(ERROR, found[1], equation="5.4", level=level).equals(stated[1])
    wrong[FINE].equals(0)
    wrong[COARSE].at_least(exactly(1, "one wrong pointer shows that the condition is needed"))


def second_pointer(x, e, delta):
    """[g_2(x + e)], as block 1 may be off by e <= E_Attn; and g_2(x) = 1 if x > 0, else 2."""
    ramp = max((x + e + delta) / (2 * delta), 0) - max((x + e - delta) / (2 * delta), 0)
    return round(2 - ramp), 1 if x > 0 else 2


def test_printed_the_bound_needs_no_condition_on_the_heads(claim):
    """Few heads, K = M = 2: e |g_1|_Lip <= 1/4, but e |g_2|_Lip = e/(2 delta) is not: t_2 is wrong,
    and f = x_{t-t_2} is off by nearly 2, far more than |f|_Lip E_Attn."""
    e_1 = nested.exact_heads("lin").error / exact.rational(1 - DELTA)
    claim.measured("e |g₁|_Lip", e_1, equation="C.1").at_most(theorem(Fraction(1, 4), "as printed"))
    heads = nested.exact_heads("lin")
    pointers, wanted, errors, tokens = nested.cliff_pointers(DELTA, heads)
    at = int((pointers != wanted).argmax())
    claim.counterexample(
        "for every H the pointers of the proof are exact",
        input={"tokens": [*map(str, tokens[at, :, 0])], "delta": "1/1000", "heads": heads.H},
        measured=pointers[at], expected=wanted[at], equation="t₂ = g₂(x_t, x_(t−t₁))",
        program=second_pointer, x=-0.001, e=0.005, delta=0.001,
    )  # fmt: skip
    error = claim.measured(ERROR, errors[at], equation="f = x_(t−t₂)", M=2)
    error.at_least(theorem(10 * 2 * heads.error, "ten times 2e >= |f|_Lip E_Attn"))


def rounded_pointer(t, off):
    """log g_l is off: e^(log t + off), rounded; and t itself."""
    return round(t * 2.718281828**off), t


def test_printed_log_condition_lacks_T(claim):
    """log g_l off by 1/4: rounding e^{log 3 + 1/4} = 3.85 gives 4. The step before: 1/(8 T_l)."""
    claim.counterexample(
        "E_Attn ≤ 1/(4 max |log g_l|_Lip) is enough for log t_l to be exact",
        input={"t_l": 3, "off": "1/4"}, measured=nested.rounded_log(3, Fraction(1, 4)), expected=3,
        equation="[e^(log t_l + 1/4)] = t_l", program=rounded_pointer, t=3, off=0.25,
    )  # fmt: skip
    claim.measured("[exp(log T ± 1/4T)] ≠ T", nested.wrong_logs(200), equation="1/8T").equals(0)


def error_with(weights, tokens, y, level):
    """The nested parity at the end of a window, with weights as printed; and 2 E_Attn."""
    from repro.numerics.exact import rationals
    from repro.wang2024 import following, moving, printed_weights, targets

    heads = moving.interpolated("lin", 2, level)
    network = getattr(printed_weights, weights)(following.nested(targets.NESTED, heads))
    return abs(network(rationals(tokens)[:, None])[-1, 0] - y), 2 * heads.error


@pytest.mark.parametrize("form", ["next_pointer", "transposed"])
def test_printed_query_does_not_read_the_pointer(form, claim):
    """W_Q reads D-M+l, one too far; or is delta_(p,1), so that <W_Q x, W_K x> = 0."""
    tokens, y, error, right = nested.printed_errors(form, 5)
    allowed = theorem(2 * nested.exact_heads("lin").error, "slope 1 in each of two blocks")
    claim.measured("error, corrected", right, equation="C.1").at_most(allowed)
    claim.counterexample(
        "with W_Q as printed the layer fetches x_(t−t_l)", input={"tokens": tokens, "y_t": y},
        measured=error, expected=allowed.value, relation="<=", equation="|TF − y_t| ≤ 2e",
        program=error_with, weights=form, tokens=tokens, y=y, level=str(COARSE),
    )  # fmt: skip
    for rpe, H in (("lin", 6), ("log", 8)):
        heads = moving.optimal(rpe, 2, H)
        error = nested.printed_float_error(form, rpe, H, claim.device)
        least = theorem(2 - 2 * float(heads.error.upper()) - 3 * heads.rounding(8), WHOLE)
        claim.measured(ERROR, error, equation="C.1", rpe=rpe, H=H).at_least(least)


def centre_of_the_heads(t):
    """With x_D = log 2 the logit is beta log 2 log t - beta log s: centred at t^(log 2); and t."""
    return t**0.6931471805599453, t


def test_printed_log_key_lacks_a_factor(claim):
    claim.counterexample(
        "with W_K = √β δ_(D,1) log heads are centred at t_l", input={"t_l": 2, "x_D": "log 2"},
        measured=nested.log_centre(2), expected=2, program=centre_of_the_heads, t=2,
        equation="−β log s + β log 2 log t_l = −β log(s/t_l)",
    )  # fmt: skip
    for H in (3, 8):
        found, heads = nested.without_log_2(H, 8, claim.device), moving.optimal("log", 2, H)
        gap = heads.kernel(2 ** math.log(2), 8) - (np.arange(8) == 2)  # t₁ = 2, the past is free
        missed = claim.measured("|block 1 − x_(t−t₁)|", found, equation="C.1, W_K", H=H)
        missed.within(abs(gap).sum(), rounding_error(2 * heads.rounding(8), LOST))


def change_of_the_stream(l, e):
    """Blocks 1, ..., l were 0 and hold signs, within e: |change|^2 is at least this; and l e^2."""
    return l * (1 - e) ** 2, l * e**2


@pytest.mark.parametrize("name", ["K=2, M=2", "K=2, M=3"])
def test_printed_estimate_against_the_embedded_token(name, claim):
    l, e = 2, nested.exact_heads("lin").error
    squares, corrected = nested.estimate(name, 5, l)
    signs = theorem(l * (1 - e) ** 2, "each of the l blocks holds a sign within e")
    claim.measured("squared norm", squares, equation="(E3)").at_least(signs)
    off = theorem(l * e**2, "against (x_t, x_(t−t₁), …) it is at most l e²")
    claim.measured("squared norm, corrected", corrected, equation="(E3)").at_most(off)
    claim.counterexample(
        "(E3): Q^(l) (x^(l+1/2) − x^(0)) is at most the root of the sum of e_j², j ≤ l",
        input={"l": l, "targets": name, "e": e}, measured=squares, expected=l * e**2,
        relation="<=", equation="(E3), squared", program=change_of_the_stream, l=l, e=0.01,
    )  # fmt: skip


def norms_squared():
    """max_l |g_l|_B^2 and |g_K|_B^2: x + 2 = 3 relu((x + 2)/3) on {-1, 0, 1}, and 1 = relu(1)."""
    return max(3, 1) ** 2, 1**2


def test_printed_the_last_memory_function_is_the_hardest(claim):
    norms, attained = nested.norms_of_by_value_and_constant()
    claim.measured("path norms of g_l", norms, equation="sup g ≤ |g|_B").equals(attained)
    claim.counterexample(
        "max over l ≤ K of |g_l|_B² is |g_K|_B²",
        input={"g_1": "x + 2 on {−1, 0, 1}", "g_2": "1", "K": 2}, measured=max(norms) ** 2,
        expected=norms[-1] ** 2, equation="max_l |g_l|_B² = |g_K|_B²", program=norms_squared,
    )  # fmt: skip


@pytest.mark.construct
def test_figure_the_walk(claim):
    tokens = [1, -1, 1, 1, -1, 1, -1, -1]
    steps, shown, (*blocks, output) = nested.walk(tokens, 4, claim.device)
    e = theorem(float(moving.optimal("lin", 2, 4).error.upper()), "|block − x_(t−t_l)| ≤ e")
    for k, off in enumerate(blocks, start=1):
        claim.measured("error of a block", off, equation="(E3)", block=k).at_most(e)
    claim.measured("|output − y_t|", output, equation="5.4").at_most(e + e)
    caption = "A layer turns a sign into a pointer, the next one fetches what it points to."
    alt = f"Tokens {tokens}; t₁, t₂ = {steps}; output {shown:.4f}."
    claim.figure(pictures.walk(tokens, steps, shown), "walk", caption=caption, alt=alt)


@pytest.mark.construct
def test_figure_attention_of_each_layer(claim):
    tokens = [1, -1, -1, 1, 1, -1, 1, -1, -1, -1, 1, 1, -1, 1]
    maps, places, offs = nested.attention_maps(tokens, 6, claim.device)
    e = theorem(float(moving.optimal("lin", 2, 6).error.upper()) + 1e-7, "e; 1e-7 for rounding")
    for layer, off in enumerate(offs, start=1):
        claim.measured("|row − I{· = t_l}|₁", off, equation="E.2", layer=layer).at_most(e)
    caption = "Six heads, lin, summed. Rows attend, columns are attended to; "
    caption += "circles: t − t₁, t − t₂."
    alt = f"Idle; then a dark square in each row, its other weights adding up to {offs[-1]:.0e}."
    claim.figure(pictures.nested_maps(tokens, maps, places), "attention", caption=caption, alt=alt)


@both
def test_control_one_layer_less_errs_by_1(rpe, claim):
    for H, one in curve(claim, rpe).items():
        less = claim.measured(ERROR, one["less"], equation="L = 2", H=H)
        why = "the readout is 0 at s = ±2, 0, with slopes ±1, and y_t = ±1: 1, but for e"
        less.at_least(theorem(1 - one["bound"] / math.sqrt(6) - one["lost"], why))


def test_control_no_readout_saves_the_layer(claim):
    """After two layers of the construction x_t and x_{t-t_1} are known: y_t may still be +-1."""
    best = nested.readout_floor(nested.NESTED, fetched=1)
    claim.measured("error of any readout", best, equation="L = 2").at_least(exactly(1, "y_t = ±1"))


@both
def test_control_memories_that_depend_on_each_other_in_one_stage(rpe, claim):
    """g_2 reads block 1 before it is filled: 3/2 rounds to 2, and t_2 = 2 whatever was fetched."""
    heads, windows = moving.optimal(rpe, 2, HEADS[rpe][1][-1]), nested.NESTED.windows(8)
    error = adaptive.float_error(nested.in_one_stage(heads), nested.NESTED, windows, claim.device)
    least = theorem(2 - 2 * float(heads.error.upper()) - 3 * heads.rounding(8), WHOLE)
    claim.measured(ERROR, error, equation="L = 2, K = 1").at_least(least)
