"""Theorem 4.1 (proof: A.1): one dot-product-free layer remembers fixed distances.

phi_k(s) = sum_h alphas[h, k] e^{p_h phi_type(s)}, p_h = exponents[h]; the memories are at T_1 < ...
< T_M (Target.distances), x_t in block 0 and memory k in block k of D = (M + 1) d numbers.

Proof, for both types of RPE.
I.  W_E puts x_t into block 0. Head h has p = p_h and v_hk I_d from block 0 to block k, with
    v_hk = alphas[h, k] sum_j e^{p_h phi_type(j)}. The residual keeps x_t, and W_O = I, so block k
    holds sum_s phi_k(s) x_{t-s}, within |phi_k - I{. = T_k}|_1 of x_{t-T_k}, as |x_t|_2 <= 1.
II. The readout is within E_FFN of f on |x|_inf <= 2, where E_Attn <= 1 leaves the blocks, and
    |f|_Lip is meant on that box (it is at most |f|_B). So the error is at most E_FFN + |f|_Lip
    E_Attn, with E_Attn^2 = sum_k |phi_k - I{. = T_k}|_1^2 (A.1 has the sum).

Heads can be shared: nothing in (3) makes a head write to one block only. With H exponents that do
not depend on k, all memories with T_k < H (lin) or T_k <= H (log) are fetched to any accuracy
(finding heads-equal-T, powers.py).

The theorem for every H, with its constant. If H heads do not reach memory k, leave its block 0:
that costs at most |x_{t-T_k}| <= 1. With p such memories the error is at most E_FFN + |f|_Lip
sqrt(p) and as little more as one likes. For each of them T_k >= H (lin), so that with
C(n) = max_T T^n e^{-0.01 (n+1) T} (exponentials.smallest_constant)
    C(n) (sum_i e^{0.01 T_i})^{n+1} / H^n >= sum over the p of C(n) e^{0.01 (n+1) T_k} / H^n >= p,
and for log, T_k > H gives (sum_i T_i^1.01)^{n+1} / H^n >= p with C(n) = 1. So
E_Attn <= C(n) (...)^{n+1} / H^n holds for all n, H, M and T_1, ..., T_M, and C depends on n alone.
E_FFN is Lemma F.6 on a box of half-width 2, with its factor sqrt(D + 1).

Departures from A.1: H_k integers (budgets.allocate), or heads shared; E_Attn <= 1 is not assumed
but chosen; the normaliser is that of the window: the network is meant for its last position.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import flint
import numpy as np
import torch

from repro.numerics import l1
from repro.numerics.barron import Network, blind_vertex
from repro.numerics.exact import rational_zeros, rationals, vector
from repro.numerics.logarithms import Log
from repro.wang2024 import exponentials, heads, powers
from repro.wang2024.heads import family, fit
from repro.wang2024.model import SMALLEST, Attention, FeedForward, Head, Layer, Transformer
from repro.wang2024.rounding import each
from repro.wang2024.targets import Target, coordinate, neurons, parity

BITS = 256  # of the weights, before they are rounded


def apart(alphas: Sequence[Sequence[Any]]) -> np.ndarray:
    """Heads of their own for each memory, one memory after the other, as A.1 has it: (H, M)."""
    rows = [
        [alpha if k == own else 0 for k in range(len(alphas))]
        for own, of_memory in enumerate(alphas)
        for alpha in of_memory
    ]
    return np.array(rows, dtype=object)


def extraction(
    rpe: str, exponents: Sequence[Any], alphas: np.ndarray, *, length: int, d: int = 1
) -> Attention:
    """The attention of step I for windows of `length` tokens; alphas (H, M), D = (M + 1) d."""
    M = alphas.shape[1]
    with flint.ctx.workprec(BITS):
        sums = normalisers(rpe, tuple(exponents), length)
        values = each(heads.exact, alphas) * sums[:, None]  # v_hk
    W_V = np.stack([0 * identity(M + 1)] * len(values))
    W_V[:, 1:, 0] = values  # from block 0 to block k
    pairs = zip(W_V, exponents, strict=True)
    return Attention([Head(blocks(W, d), p) for W, p in pairs], blocks(identity(M + 1), d), rpe)


@functools.cache
def normalisers(rpe: str, exponents: tuple[Any, ...], length: int) -> np.ndarray:
    """sum_j e^{p_h phi_type(j)} over the window."""
    with flint.ctx.workprec(BITS):
        return heads.normalisers(rpe, exponents, length)


def kernel(rpe: str, exponents: Sequence[Any], alphas: np.ndarray, length: int) -> np.ndarray:
    """phi_k(s) in float64, 0 at s = 0 for log; (M, length)."""
    times, phi = range(SMALLEST[rpe], length), np.zeros((alphas.shape[1], length))
    with flint.ctx.workprec(BITS):
        rows = [family(rpe, [p]).balls(times) for p in exponents]  # (H, times, 1)
        phi[:, SMALLEST[rpe] :] = (np.array(rows, dtype=object)[..., 0].T @ alphas).T
    return phi


def blocks(pattern: np.ndarray, d: int) -> np.ndarray:
    """Each entry times I_d."""
    return np.kron(pattern, identity(d))


def identity(size: int) -> np.ndarray:
    return rationals(np.eye(size, dtype=int))


def transformer(
    target: Target,
    rpe: str,
    exponents: Sequence[Any],
    alphas: np.ndarray,
    *,
    length: int,
    readout: Network | None = None,
) -> Transformer:
    """The network of the proof; `readout` takes the place of a network that equals f."""
    neurons = readout or target.readout.network
    assert neurons is not None, f"{target.readout.name} is no finite network: give one as readout"
    return network(rpe, exponents, alphas, scalar_readout(neurons), length=length, d=target.d)


def network(
    rpe: str,
    exponents: Sequence[Any],
    alphas: np.ndarray,
    reads: FeedForward,
    *,
    length: int,
    d: int = 1,
) -> Transformer:
    """x_t in block 0, the attention of step I, and any feed-forward layer that reads the blocks."""
    attention = extraction(rpe, exponents, alphas, length=length, d=d)
    W_E = blocks(identity(alphas.shape[1] + 1)[:, :1], d)
    return Transformer(W_E, W_E[:, 0] * 0, (Layer(attention, reads),))


def scalar_readout(neurons: Network) -> FeedForward:
    """The m neurons of Lemma F.6 as a feed-forward network with one output."""
    a, b, c = (each(heads.exact, np.asarray(weight, dtype=object)) for weight in neurons)
    return FeedForward(a[None, :], b, c)


def interpolated(
    rpe: str, distances: Sequence[int], H: int, level: Any
) -> tuple[Sequence[Any], np.ndarray, list[Any]]:
    """Exponents, coefficients (H, M) and l1 errors of shared heads, each at most `level`; exact.

    T < H for lin and T <= H for log are enough: the errors tend to 0 as the exponents grow.
    """
    for k in itertools.count(1):
        exponents, columns, errors = zip(*(_single(rpe, T, H, k) for T in distances), strict=True)
        if all(error <= level for error in errors):
            return exponents[0], np.stack([*map(vector, columns)], axis=1), list(errors)
    raise AssertionError  # the loop does not end otherwise


def _single(rpe: str, T: int, H: int, k: int) -> tuple[Sequence[Any], Sequence[Any], Any]:
    if rpe == "lin":
        one = exponentials.Interpolant(T, H, flint.fmpq(1, 2**k))
        return one.exponents, one.alphas, one.error
    one = powers.fixed(T, H, first=k + 1, step=k + 1)
    return one.exponents, one.coefficients, one.error()


def optimal(rpe: str, T: int, exponents: Sequence[Any]) -> l1.Best:
    """The best coefficients for one memory, with a proof (numerics/l1.py)."""
    return l1.best(l1.indicator(T), family(rpe, exponents), window=60)


def fitted(rpe: str, T: int, exponents: Sequence[Any], *, length: int) -> tuple[np.ndarray, float]:
    """Float64 coefficients for windows of `length` tokens, and their l1 error."""
    found = fit(rpe, l1.indicator(T), exponents, length)
    sums = np.array([float(s) for s in normalisers(rpe, tuple(exponents), length)])
    return found.values / sums, found.error


def errors(network: Transformer, target: Target, tokens: np.ndarray) -> np.ndarray:
    """|output - target| wherever the window determines it, in the arithmetic of the network."""
    if isinstance(network.W_E, torch.Tensor):
        x = torch.as_tensor(tokens, dtype=torch.float64, device=network.W_E.device)
        outputs, wanted = network(x).cpu().numpy(), target(tokens)
    else:
        outputs, wanted = network(rationals(tokens)), rationals(target(tokens))
    return abs(outputs[..., -wanted.shape[-1] :, 0] - wanted)


def largest_error(network: Transformer, target: Target, n: int) -> float:
    """In float64, at the last position of all windows of n tokens."""
    return float(errors(network.to(torch.float64), target, target.windows(n))[..., -1].max())


def exactly(
    target: Target, rpe: str, H: int, level: Any, n: int, left_out: int = 0
) -> tuple[list[Any], Any, list[Any]]:
    """The layer with exact heads, shared, on all windows of n tokens; d = 1, in rationals.

    The largest |block k - x_{t-T_k}| for k = 0, ..., M, T_0 = 0; that of the output; and the l1
    errors of the heads. The last `left_out` memories have none: their blocks stay 0.
    """
    served = target.distances[: target.M - left_out]
    exponents, alphas, errors = interpolated(rpe, served, H, level)
    alphas = np.concatenate([alphas, rational_zeros(H, left_out)], axis=1)
    windows = target.windows(n)
    tokens = rationals(windows)
    network = transformer(target, rpe, exponents, alphas, length=n)
    _, stream, outputs = network.states(tokens)
    places = enumerate([0, *target.distances])
    blocks = [abs(stream[:, -1, k] - tokens[:, -1 - T, 0]).max() for k, T in places]
    off = abs(outputs[:, -1, 0] - rationals(target(windows)[:, -1]))
    return blocks, off.max(), errors


def look_alike(m: int, D: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """A random layer with T_i = i and m < D = M + 1 neurons: two pasts that look alike to it.

    Its neurons see m sums over the past, whatever the heads are. One past is the centre of [0, 1]^D
    and D - m tokens of the other are 0 or 1. Returned are how far the outputs are apart, which is
    0, and f = 1/D sum_j |2 x_j - 1|.
    """
    weights = [rng.integers(-5, 6, shape).tolist() for shape in (m, (m, D), m)]
    readout = neurons(*zip(*weights, strict=True))
    target = Target.fixed("the last tokens", range(1, D), parity(D))
    alphas = rationals(rng.integers(-5, 6, (2, D - 1)).tolist())
    network = transformer(target, "lin", [Log(2), Log(3)], alphas, length=D, readout=readout)
    impulses = rationals(np.eye(D, dtype=int))[:, :, None]
    stream = np.stack([list(network.states(x))[1][-1] for x in impulses])  # (past, D)
    pasts = blind_vertex(readout.b @ stream.T), rationals([1] * D) / 2
    outputs = [network(x[:, None])[-1, 0] for x in pasts]
    f = [sum(abs(2 * x - 1)) / D for x in pasts]
    return outputs[0] - outputs[1], f[0] - f[1]


def attended(rpe: str, exponents: Sequence[Any], alphas: np.ndarray, x: np.ndarray) -> np.ndarray:
    """What the attention adds to the blocks at the last of the tokens x (..., n); (..., M + 1)."""
    tokens = rational_zeros(*x.shape, alphas.shape[1] + 1)
    tokens[..., 0] = rationals(x)
    layer = extraction(rpe, exponents, alphas, length=x.shape[-1])
    return layer(tokens, queries=1)[..., 0, :]


def of_two_pasts(
    rpe: str, exponents: Sequence[Any], alphas: np.ndarray, z: Mapping[int, Any], T: int
) -> list[Any]:
    """Outputs of a layer for f = x_{t-T} at the pasts z and -z, which are given by distance."""
    n, target = max(z) + 1, Target.fixed("one token", (T,), coordinate(2, 1))
    past = rationals([z.get(s, 0) for s in range(n)][::-1])[:, None]
    network = transformer(target, rpe, exponents, alphas, length=n)
    return [network(side * past)[-1, 0] for side in (1, -1)]
