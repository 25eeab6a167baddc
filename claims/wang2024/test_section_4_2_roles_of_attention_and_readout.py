"""Section 4.2, roles of the layers (wang2024, p. 6): attention fetches, the readout computes.

"The FFN layer efficiently approximates the nonlinear readout function f, while the Attn layer is
responsible for extracting the token x_{t-T_i} by approximating the memory kernel I{. = T_i}."

Checked, for f = |(x_t, x_{t-2})|_2 and both types of RPE: the error of the layer of Theorem 4.1 in
float64 over a table of H and m, at points (x_t, x_{t-2}) all along the square, with pasts chosen by
the signs of the kernel. Two ablations split it: f itself in place of the readout leaves an error
that depends on H alone, exact memories in place of the attention one that depends on m alone. The
error falls with H until the second stops it, and with m until the first does.
Controls: no attention, no bends in the readout: each costs at least 1/2, whatever the other does.

Not checked: that layers found by training divide the work like this. A readout can also choose
among memories (finding one-layer-nested); the sentence is about the network of the proof.
"""

import functools
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from repro.bounds import exactly, rounding_error, theorem
from repro.numerics import barron
from repro.wang2024 import fixed, fixed_heads, targets, width
from repro.wang2024 import heads as head_sums
from repro.wang2024.pictures import networks as pictures

T, N = 2, 12  # the distance, and tokens in a window
HEADS, WIDTHS = {"lin": (3, 4, 5, 6), "log": (3, 5, 7, 9)}, (8, 32, 128, 512)
rpes = pytest.mark.parametrize("rpe", ["lin", "log"])
ERROR = "largest error found"
ROUNDING = "of heads and readout, derived at FixedHeads.rounding (fixed_heads.py)"


def windows(kernel, points=32):
    """(x_t, x_{t-2}) along the square, the rest of the past by the signs of the kernel, or -1."""
    square = width.square(points)
    signs = np.where(kernel < 0, -1.0, 1.0)[::-1, None]  # (N, 1)
    both = np.repeat(np.stack([signs, -signs]), len(square), axis=0)
    both[:, -1, 0], both[:, -1 - T, 0] = np.concatenate([square, square]).T
    return both


@pytest.mark.exact
def test_points_along_the_square_by_hand(claim):
    """Two on each side, the corner first: from (-1, 1) on, clockwise."""
    found = width.square(2).astype(int).tolist()
    stated = [[-1, 1], [0, 1], [1, 1], [1, 0], [1, -1], [0, -1], [-1, -1], [-1, 0]]
    claim.measured("points", found, equation="Section 4.2").equals(stated)


@pytest.mark.construct
def test_the_error_of_the_heads_and_its_rounding_by_hand(claim):
    """lin: the proved l1 error over all s is that up to 60, where e^{-1.5 s} is below 1e-39. Six
    heads and 12 tokens: (3 * 12 + 6 + 30) u = 72 u for every unit of weight."""
    heads = fixed_heads.shared("lin", (T,), 4)
    kernel = fixed.kernel("lin", heads.exponents, heads.alphas, 60)[0]
    error = claim.measured("E_Attn", heads.attention_error, equation="Theorem 4.1", H=4)
    lost = rounding_error(60 * 2.0**-53, "of a sum of 60 terms")
    error.within(math.fsum(abs(kernel - (np.arange(60) == T))), lost)
    units = Fraction(head_sums.roundoff(1.0, 12, 6)) * 2**53
    claim.measured("rounding in units of u", units, equation="Theorem 4.1").equals(72)


def readout_error(m):
    """E_FFN of m equal angles on the unit square, 8 | m: sum relu(cos) = cot(pi/m) at a corner."""
    return math.sqrt(2) * (1 - math.pi / m / math.tan(math.pi / m))


@functools.cache
def measured(rpe, H, m, device):
    """Errors of the layer, of f after its attention, of its readout after exact memories; the gap
    to the indicator of T at s = 0, ..., N - 1; E_Attn; and rounding."""
    import torch

    target, heads = targets.NEAR_AND_FAR, fixed_heads.shared(rpe, (T,), H)
    neurons = barron.norm_network(2, m)
    network = heads.transformer(target, N, neurons).to(torch.float64, device)
    kernel = fixed.kernel(rpe, heads.exponents, heads.alphas, N)[0]
    x = windows(kernel)
    _, stream, output = network.states(torch.tensor(x, device=device))
    exact = x[:, [-1, -1 - T], 0]  # (windows, 2)
    stated = np.linalg.norm(exact, axis=1)
    read = network.layers[0].feed_forward(torch.tensor(exact, device=device))[:, 0].cpu().numpy()
    fetched = np.linalg.norm(stream[:, -1].cpu().numpy(), axis=1)
    errors = [np.abs(y - stated) for y in (output[:, -1, 0].cpu().numpy(), fetched, read)]
    assert np.isfinite(errors).all()
    gap = np.abs(kernel - (np.arange(N) == T))
    lost = heads.rounding(target, N, neurons)
    return [float(error.max()) for error in errors], gap, heads.attention_error, lost


@rpes
@pytest.mark.construct
def test_error_falls_with_heads_and_with_width_until_the_other_stops_it(rpe, claim):
    """E_FFN is attained at the corners. At x_t = 0, x_{t-2} = 1 or -1 the past adds up all of the
    gap, but that at s = 0. The readout has slopes of at most sum |a_k| |b_k|_2 = pi."""
    Hs, table = HEADS[rpe], {}
    for H, m in itertools.product(Hs, WIDTHS):
        errors, gap, E_Attn, lost = measured(rpe, H, m, claim.device)
        whole, fetched, read = table[H, m] = errors
        at, rounding = {"H": H, "m": m}, rounding_error(lost, ROUNDING)
        E_FFN = readout_error(m)
        found = claim.measured("error of f after the attention", fetched, equation="4.1", **at)
        found.at_most(theorem(gap.sum(), "ℓ₁ on the window, |f|_Lip = 1") + rounding)
        found.at_least(theorem(gap[1:].sum() - lost, "x_t = 0: all of the gap but that at s = 0"))
        corner = theorem(0, "1 − π/m cot(π/m), times √2")
        found = claim.measured("error of the readout alone", read, equation="4.1", **at)
        found.within(E_FFN, corner + rounding)
        error, E_FFN = (
            claim.measured(ERROR, whole, equation="Theorem 4.1", **at),
            E_FFN * (1 + E_Attn),
        )
        why = "E_FFN + f's error after the attention; or π E_Attn + the readout's alone"
        error.at_most(theorem(min(fetched + E_FFN, read + math.pi * E_Attn), why) + rounding)
        least = max(fetched - E_FFN, read - math.pi * E_Attn) - lost
        error.at_least(theorem(least, "each part less what the other can undo; rounding"))
    whole, fetched, read = np.array(list(table.values())).reshape(len(Hs), len(WIDTHS), 3).T
    whole, fetched, read = whole.T, fetched.T, read.T  # (H, m) each
    same = exactly(0.0, "the same operations on the same numbers")
    claim.measured(
        "change with m, f after the attention", np.ptp(fetched, axis=1).max(), equation="4.2"
    ).at_most(same)
    claim.measured(
        "change with H, readout of exact memories", np.ptp(read, axis=0).max(), equation="4.2"
    ).at_most(same)
    fall = claim.measured("fall with H", whole[-1, -1] / whole[0, -1], equation="H^-n", m=512)
    fall.at_most(theorem((Hs[0] / Hs[-1]) ** 3, "as H^-3, n = 3 in Theorem 4.1"))
    if rpe == "lin":
        figure = pictures.remedies(Hs, WIDTHS, whole, fetched[:, 0], read[0])
        told = "|(x_t, x_{t−2})|₂ by one layer with lin-RPE: each error has its own remedy."
        claim.figure(figure, "roles", caption=told)


@rpes
def test_control_width_does_not_help_few_heads(rpe, claim):
    """64 times the width, H = 3: what the attention left stays."""
    few, m = HEADS[rpe][0], WIDTHS[-1]
    (_, fetched, _), *_ = measured(rpe, few, WIDTHS[0], claim.device)
    (error, *_), _, E_Attn, lost = measured(rpe, few, m, claim.device)
    left = fetched - (1 + E_Attn) * readout_error(m) - lost
    least = theorem(left, "f itself in place of the readout leaves as much; less E_FFN, rounding")
    claim.measured(ERROR, error, equation="Theorem 4.1", m=m).at_least(least)


def test_control_without_attention_nothing_is_fetched(claim):
    """W_O = 0: x_t = 0, and x_{t-2} = 0 or 1, give one output, but f is 0 and 1."""
    import torch

    target, heads = targets.NEAR_AND_FAR, fixed_heads.shared("lin", (T,), 6)
    whole = heads.transformer(target, 3, barron.norm_network(2, WIDTHS[-1]))
    (layer,) = whole.layers
    silent = replace(layer.attention, W_O=0 * layer.attention.W_O)
    network = replace(whole, layers=(replace(layer, attention=silent),)).to(torch.float64)
    x = torch.tensor([[0.0, 0, 0], [1, 0, 0]], dtype=torch.float64)[..., None]
    low, high = network(x)[:, -1, 0].tolist()
    claim.measured("one output for both", low == high, equation="W_O = 0").equals(True)
    error = max(abs(low - 0), abs(high - 1))
    least = theorem(0.5, "one output for the values 0 and 1")
    claim.measured(ERROR, error, equation="W_O = 0").at_least(least)


def test_control_without_bends_the_readout_is_affine(claim):
    """L(1, 1) + L(-1, -1) = 2 L(0, 0), but f has 2 sqrt(2) and 0: one is missed by sqrt(2)/2."""
    rng, points = claim.rng("affine"), np.array([[1.0, 1], [-1, -1], [0, 0]])
    stated = np.linalg.norm(points, axis=1)
    affine = rng.standard_normal((1000, 3)) * [1, 1, 2]
    affine[0] = [0, 0, math.sqrt(0.5)]  # the best one
    errors = np.abs(points @ affine[:, :2].T + affine[:, 2] - stated[:, None]).max(0)
    least = math.sqrt(0.5) - 1e-12
    limit = theorem(least, "4 errors of at most e add up to 2√2; 1e-12 for rounding")
    claim.measured(ERROR, errors.min(), equation="Theorem 4.1").at_least(limit)
