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
import math
from dataclasses import replace

import numpy as np
import pytest

from repro.bounds import chosen, exactly, theorem
from repro.numerics import barron
from repro.wang2024 import fixed, fixed_heads, targets, width
from repro.wang2024.pictures import networks as pictures

T, N = 2, 12  # the distance, and tokens in a window
HEADS, WIDTHS = {"lin": (3, 4, 5, 6), "log": (3, 5, 7, 9)}, (8, 32, 128, 512)
rpes = pytest.mark.parametrize("rpe", ["lin", "log"])
ERROR = "largest error found"


def windows(kernel, points=32):
    """(x_t, x_{t-2}) along the square, the rest of the past by the signs of the kernel, or -1."""
    square = width.square(points)
    signs = np.where(kernel < 0, -1.0, 1.0)[::-1, None]  # (N, 1)
    both = np.repeat(np.stack([signs, -signs]), len(square), axis=0)
    both[:, -1, 0], both[:, -1 - T, 0] = np.concatenate([square, square]).T
    return both


@functools.cache
def measured(rpe, H, m, device):
    """Of the layer, of f after its attention, of its readout after exact memories; and a bound."""
    import torch

    target, heads = targets.NEAR_AND_FAR, fixed_heads.shared(rpe, (T,), H)
    neurons = barron.norm_network(2, m)
    network = heads.transformer(target, N, neurons).to(torch.float64, device)
    x = windows(fixed.kernel(rpe, heads.exponents, heads.alphas, N)[0])
    _, stream, output = network.states(torch.tensor(x, device=device))
    exact = target.fetched(x)[1][:, -1]  # (windows, 2)
    stated, f = target(x)[:, -1], target.readout.function
    read = network.layers[0].feed_forward(torch.tensor(exact, device=device))[:, 0].cpu().numpy()
    fetched = f(stream[:, -1].cpu().numpy())
    errors = [np.abs(y - stated) for y in (output[:, -1, 0].cpu().numpy(), fetched, read)]
    assert np.isfinite(errors).all()
    E_FFN = barron.sup_error(neurons, 1 + heads.attention_error).upper
    bound = E_FFN + heads.attention_error + heads.rounding(target, N, neurons)
    return (*(float(error.max()) for error in errors), bound)


@rpes
@pytest.mark.construct
def test_error_falls_with_heads_and_with_width_until_the_other_stops_it(rpe, claim):
    Hs = HEADS[rpe]
    table = [[measured(rpe, H, m, claim.device) for m in WIDTHS] for H in Hs]
    whole, fetched, read, bound = np.moveaxis(np.array(table), -1, 0)  # (H, m) each
    for (i, j), error in np.ndenumerate(whole):
        most = theorem(bound[i, j], "E_FFN + |f|_Lip E_Attn, both proved, and rounding")
        claim.measured(ERROR, error, equation="Theorem 4.1", H=Hs[i], m=WIDTHS[j]).at_most(most)
    spread = (np.ptp(fetched, axis=1).max(), np.ptp(read, axis=0).max())
    claim.measured(
        "change with m, f after the attention", spread[0], equation="Section 4.2"
    ).at_most(exactly(0.0, "the same operations on the same numbers"))
    claim.measured(
        "change with H, readout of exact memories", spread[1], equation="Section 4.2"
    ).at_most(exactly(0.0, "the same operations on the same numbers"))
    ratio = whole / np.maximum(fetched, read)
    number = claim.measured("least error over the worse part", ratio.min(), equation="Theorem 4.1")
    number.at_least(chosen(0.9, "1 if the two errors do not cancel where the worse one is largest"))
    found = claim.measured("largest error over the worse part", ratio.max(), equation="Theorem 4.1")
    found.at_most(chosen(2.0, "two errors add up to at most twice the larger one"))
    falls = whole[0, -1] / whole[-1, -1]
    found = claim.measured("fall with H, from first to last", falls, equation="Theorem 4.1", m=512)
    found.at_least(chosen(1e3, "three orders of magnitude; 1 if the readout were in the way"))
    falls = whole[-1, 0] / whole[-1, -1]
    claim.measured("fall with m, from 8 to 512", falls, equation="Theorem 4.1", H=Hs[-1]).at_least(
        chosen(64**2 / 2, "m^-2, the rate of spread neurons, gives 64²; m^-1 would give 64")
    )
    if rpe == "lin":
        figure = pictures.remedies(Hs, WIDTHS, whole, fetched[:, 0], read[0])
        told = "|(x_t, x_{t−2})|₂ by one layer with lin-RPE: each error has its own remedy."
        claim.figure(figure, "roles", caption=told)


@rpes
def test_control_width_does_not_help_few_heads(rpe, claim):
    """64 times the width, H = 3: what the attention left stays."""
    few = HEADS[rpe][0]
    _, fetched, *_ = measured(rpe, few, WIDTHS[0], claim.device)
    error, *_ = measured(rpe, few, WIDTHS[-1], claim.device)
    least = chosen(0.9 * fetched, "f itself in place of the readout leaves as much")
    claim.measured(ERROR, error, equation="Theorem 4.1", m=512).at_least(least)


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
