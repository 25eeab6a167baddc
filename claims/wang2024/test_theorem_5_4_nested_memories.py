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

import math
from fractions import Fraction

import pytest

from repro.bounds import chosen, exactly, rounding_error, theorem
from repro.numerics import exact
from repro.wang2024 import adaptive, budgets, following, moving, nested, powers
from repro.wang2024.pictures import networks as pictures

ERROR = "largest error"
LOST = "of the heads, derived at Moving.rounding (moving.py)"
SIZE = "the worst windows see most of the l1 errors, added up over the blocks"
SIGNS = "signs are 2 apart: this is not the sign of y_t, whatever the heads leave"
ONE_BLOCK = "|f|_Lip = 1, and only block 2 is read"
DELTA, FINE, COARSE = Fraction(1, 1000), Fraction(1, 2000), Fraction(1, 100)
HEADS = {"lin": ((3, 4, 6), (3, 4, 5, 6)), "log": ((3, 5, 8), (3, 4, 5, 6, 7, 8))}  # smoke, above
both = pytest.mark.parametrize("rpe", ["lin", "log"])
names = pytest.mark.parametrize("name", ["K=1, M=2", "K=2, M=2", "K=1, M=3", "K=2, M=3"])


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
    error.at_least(chosen(M * e * 9 / 10, SIZE))


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
    M, at = target.M, {"heads": heads.H, "error": float(found)}
    claim.measured("t_l not within 1e-30", wrong, equation="(E1)", **at).equals(0)
    error = claim.measured(ERROR, found, equation="5.4").at_most(theorem(bound, "|f|_Lip E_Attn"))
    error.at_least(chosen(heads.error * M / 4, "a quarter of the errors: short windows see less"))


@both
@pytest.mark.construct
def test_error_falls_with_the_heads(rpe, claim):
    found, errors = curve(claim, rpe), {}
    for H, one in found.items():
        error = errors[H] = claim.measured(ERROR, one["network"], equation="5.4", H=H)
        error.at_most(theorem(one["bound"], "|f|_Lip E_Attn") + rounding_error(one["lost"], LOST))
        error.at_least(chosen(0.85 * 2 / math.sqrt(6) * one["bound"], SIZE))
    errors[min(found)].at_least(chosen(0.5, "three heads leave an error of the size of y_t"))
    errors[max(found)].at_most(chosen(1e-5, "five decades below y_t: more heads remove the error"))


@both
@pytest.mark.best_in_class
def test_no_coefficients_fetch_a_token_better(rpe, claim):
    for H in curve(claim, rpe):
        heads = moving.optimal(rpe, 2, H)
        off = nested.block_error(heads, claim.rng("x"), claim.device)
        block = claim.measured("|block − x_(t−t_l)|", off, equation="(E3)", H=H)
        best = theorem(float(heads.error.upper()), "the l1 error")
        block.at_most(best + rounding_error(heads.rounding(40), LOST))
        block.at_least(chosen(0.85 * float(heads.error.lower()), SIZE))


@pytest.mark.construct
def test_figure_error_against_heads(claim):
    panels = {}
    for rpe in HEADS:
        of_H, names = curve(claim, rpe), ("network", "bound", "less")
        ratio = of_H[min(of_H)]["network"] / of_H[max(of_H)]["network"]
        fall = claim.measured("fall of the error", ratio, equation="5.4", rpe=rpe)
        fall.at_least(chosen(1e4, "far more than H^-n with n = 1, 2, 3 would give"))
        panels[f"{rpe}-RPE"] = {name: [(H, of_H[H][name]) for H in of_H] for name in names}
    caption = "The nested parity in float64, beside the proved bound and one layer less."
    claim.figure(pictures.heads(panels), "heads", caption=caption)


@pytest.mark.certified
def test_the_constants_of_the_proof_ask_for_thousands_of_heads(claim):
    for rpe in ("lin", "log"):
        H = moving.heads_of_proof(rpe, 2, Fraction(40, 100))  # below 1 / sqrt 6 = 0.408...
        needed = claim.measured("heads until √6 bound < 1", H, equation="C.1", rpe=rpe)
        needed.at_least(chosen(3000, "a thousand times the T + 1 heads that are needed"))


@pytest.mark.parametrize("T", [2, 3, 4, 5, 6], ids="T={}".format)
@pytest.mark.exact
def test_T_plus_1_heads_relay_over_every_distance(T, claim):
    """t_1 = T x_t, t_2 = T x_{t-t_1}, y_t = x_{t-t_2}; lin, level 1/(8T), |g|_Lip = T."""
    count = claim.at_scale(smoke=4, laptop=12, paper=100)
    H, wrong, error, e = nested.relay("lin", T, count, claim.rng(f"relay {T}"))
    claim.measured("heads for each memory", H, equation="H = T + 1").equals(T + 1)
    claim.measured("pointers that differ", wrong, equation="(E1)").equals(0)
    claim.measured(ERROR, error, equation="5.4").at_most(theorem(e, ONE_BLOCK))


@pytest.mark.parametrize("T", [2, 3, 4], ids="T={}".format)
@pytest.mark.certified
def test_log_heads_relay_over_every_distance(T, claim):
    """1 + |F_T| powers, F_T being the fractions t/B < 1 with B <= T; level 1/(16 T^2)."""
    H, _, error, e = nested.relay("log", T, 4, claim.rng(f"relay {T}"))
    claim.measured("heads", H, equation="H = 1 + |F_T|").equals(1 + len(powers.farey(T)))
    claim.measured(ERROR, error, equation="5.4").at_most(theorem(e, ONE_BLOCK))


@both
@pytest.mark.construct
def test_the_relay_over_three_steps_in_float64(rpe, claim):
    """T = 3: below T + 1 heads nothing is fetched; where e |g|_Lip > 1/2 pointers go astray."""
    n, errors = claim.at_scale(smoke=6, laptop=7, paper=9), []
    for H in {"lin": (3, 4, 5, 6, 7), "log": (5, 6, 7, 8, 9)}[rpe]:
        found, heads, steep = nested.relay_in_floats(rpe, H, n, claim.device)
        claim.record("error", found, H=H, l1_error=heads.error)
        errors.append(claim.measured(ERROR, found, equation="5.4", H=H))
        if steep < 0.5:  # the pointers are right
            errors[-1].at_most(theorem(heads.error, "e") + rounding_error(heads.rounding(n), LOST))
    errors[0].at_least(chosen(0.9, "an error of the size of a token: nothing is fetched"))
    small = {"lin": 1e-5, "log": 2e-3}[rpe]
    errors[-1].at_most(chosen(small, "far below 1/3, the distance of two tokens"))


@pytest.mark.certified
def test_the_bound_at_points_worked_out_by_hand(claim):
    """K = 1, M = 3, T = 100, H = 10, n = 1, lin: E_Attn = C(1) sqrt(e^4 + (2e)^4) / 10."""
    found = float(budgets.extraction("lin", [[100], [100, 100]], 10, 1).mid())
    bound = claim.measured("E_Attn / C(1)", found, equation="5.4", T=100, K=1, M=3)
    bound.within(3.0465858769505445, rounding_error(1e-13, "16 digits by hand"))


@both
@pytest.mark.certified
def test_the_statement_for_every_H_with_its_constant(rpe, claim):
    """budgets.py: if a stage lacks heads, leave all blocks 0, and C(n) has sqrt(M)."""
    count, place = claim.at_scale(smoke=200, laptop=3000, paper=30000), "C(n) H⁻ⁿ √… ≥ √M"
    lacking, wrong = budgets.cases(rpe, True, count, claim.rng("every H"))
    claim.measured("bounds below √M", wrong, equation=place, cases=count, lacking=lacking).equals(0)
    if rpe == "log":
        above = budgets.above_most(claim.at_scale(smoke=40, laptop=120, paper=400))
        claim.measured("T that need more", above, equation="|F_T| ≤ T(T − 1)/2").equals(0)


@pytest.mark.exact
def test_better_heads_of_the_same_number_follow_a_steep_function(claim):
    """|g_2|_Lip = 500: with e <= 1/2000 all pointers are right, with e <= 1/100 some are not."""
    fine, coarse = (nested.exact_heads("lin", level) for level in (FINE, COARSE))
    counts = claim.measured("heads", [coarse.H, fine.H], equation="H_k = T + 1")
    counts.equals([3, 3])
    slope, wrong, error = exact.rational(1 / (2 * DELTA)), {}, {}
    steep = claim.measured("e |g₂|_Lip", fine.error * slope, equation="C.1", level=FINE)
    steep.at_most(theorem(Fraction(1, 4), "C.1's condition, with l = 2"))
    for level, one in ((FINE, fine), (COARSE, coarse)):
        pointers, off = nested.cliff(DELTA, one)
        wrong[level] = claim.measured("wrong pointers", pointers, equation="(E1)", level=level)
        error[level] = claim.measured(ERROR, off, equation="5.4", level=level)
    wrong[FINE].equals(0)
    error[FINE].at_most(theorem(fine.error, ONE_BLOCK))
    wrong[COARSE].at_least(chosen(1, "one wrong pointer shows that the condition on e is needed"))
    another = chosen(Fraction(9, 10), "a wrong pointer fetches another token, about 1 away")
    error[COARSE].at_least(another)


@pytest.mark.construct
def test_steeper_functions_need_better_heads(claim):
    slopes, count = [1, 5, 50, 500, 5000, 50000], claim.at_scale(smoke=96, laptop=256, paper=256)
    e = {H: float(moving.optimal("lin", 2, H).error.upper()) for H in (4, 5, 6)}
    for H in e:
        lost = rounding_error(moving.optimal("lin", 2, H).rounding(14), LOST)
        for slope in slopes:
            found, wrong = nested.steep(H, slope, count, claim.rng("cliff"), claim.device)
            claim.record("share of wrong t₂", wrong, H=H, slope=slope)
            error = claim.measured(ERROR, found, equation="5.4", H=H, slope=slope)
            if slope * e[H] <= 0.25:
                error.at_most(theorem(e[H], "e |g₂|_Lip ≤ 1/4") + lost)
            elif slope * e[H] >= 0.6:
                error.at_least(chosen(0.9, "a wrong t₂ fetches another token, about 1 away"))


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
        error = nested.printed_float_error(form, rpe, H, claim.device)
        claim.measured(ERROR, error, equation="C.1", rpe=rpe, H=H).at_least(chosen(1.9, SIGNS))


def centre_of_the_heads(t):
    """With x_D = log 2 the logit is beta log 2 log t - beta log s: centred at t^(log 2); and t."""
    return t**0.6931471805599453, t


def test_printed_log_key_lacks_a_factor(claim):
    claim.counterexample(
        "with W_K = √β δ_(D,1) log heads are centred at t_l", input={"t_l": 2, "x_D": "log 2"},
        measured=nested.log_centre(2), expected=2, program=centre_of_the_heads, t=2,
        equation="−β log s + β log 2 log t_l = −β log(s/t_l)",
    )  # fmt: skip
    for H, least in ((3, 4), (8, 800)):
        found = nested.without_log_2(H, 8, claim.device)
        off = claim.measured("|block 1 − x_(t−t₁)|", found, equation="C.1, W_K", H=H)
        off.at_least(chosen(least, "tokens are signs; more heads only make it worse"))


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
        less.at_least(chosen(0.9, "the readout is 0 at s = ±2, 0, and y_t = ±1: 1, but for e"))


def test_control_no_readout_saves_the_layer(claim):
    """After two layers of the construction x_t and x_{t-t_1} are known: y_t may still be +-1."""
    best = nested.readout_floor(nested.NESTED, fetched=1)
    claim.measured("error of any readout", best, equation="L = 2").at_least(exactly(1, "y_t = ±1"))


@both
def test_control_memories_that_depend_on_each_other_in_one_stage(rpe, claim):
    """g_2 reads block 1 before it is filled: 3/2 rounds to 2, and t_2 = 2 whatever was fetched."""
    heads, windows = moving.optimal(rpe, 2, HEADS[rpe][1][-1]), nested.NESTED.windows(8)
    error = adaptive.float_error(nested.in_one_stage(heads), nested.NESTED, windows, claim.device)
    claim.measured(ERROR, error, equation="L = 2, K = 1").at_least(chosen(1.9, SIGNS))


@both
def test_control_rounding_left_out(rpe, claim):
    """Memory networks that are off by 1/50: harmless with rounding, and ruinous without it."""
    target, heads = nested.NESTED, moving.optimal(rpe, 2, 4)
    network, windows = nested.with_memories_off(heads, "1/50"), target.windows(8)
    rounded = adaptive.float_error(network, target, windows, claim.device)
    plain = adaptive.float_error(adaptive.unrounded(network), target, windows, claim.device)
    bound = math.sqrt(3) * adaptive.attention_error([heads] * 2) + 1e-9  # for rounding
    kept = theorem(bound, "off by less than 1/2, log 1/(4T): t_l is exact")
    claim.measured("error with rounding", rounded, equation="(15)").at_most(kept)
    lost = claim.measured("error without over with rounding", plain / rounded, equation="(15)")
    lost.at_least(chosen(2, "well above 1: it is (15) that keeps the error small"))


def test_control_coefficients_that_are_not_moved(claim):
    """psi without e^{-beta T}: heads for the indicator of T in a layer that follows a pointer."""
    off = nested.fetched_size(nested.not_moved(moving.optimal("lin", 2, 6)), 6, claim.device)
    claim.measured("| |block 1| − 1 |", off, equation="C.1").at_least(chosen(1, "tokens are signs"))
