"""What the networks of Theorem 6.1 (essential.py) do: measured, not judged.

M = 2 kernels and the readout |y|_2, or f(y) = y, which shows what the attention has stored.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from repro.numerics import barron
from repro.numerics.exact import rationals
from repro.numerics.logarithms import Log
from repro.numerics.roundoff import unit
from repro.wang2024 import essential
from repro.wang2024.essential import Construction
from repro.wang2024.fixed import normalisers, scalar_readout
from repro.wang2024.model import Attention, Head, Layer, Transformer

M = 2


@functools.cache
def construction(example: str, H: int, shared: bool) -> Construction:
    return Construction.of(essential.EXAMPLES[example], H, shared=shared)


def norm(y: np.ndarray) -> np.ndarray:
    return np.linalg.norm(y, axis=-1)


def largest_errors(
    heads: Construction,
    n: int,
    neurons: barron.Network,
    read: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
    device: torch.device | str,
) -> tuple[float, float]:
    """|TF - |X * rho|_2| at the last token in float64: for random signs, and the worst found.

    The adversary takes `read` for the readout of the m neurons.
    """
    rho = heads.memories.values(n)
    random = rng.choice([-1.0, 1.0], (8, n, 1))
    X = np.concatenate([random, [essential.adversary(rho, heads.values(n), read)]])
    network = heads.transformer(scalar_readout(neurons), n).to(torch.float64, device)
    outputs = network(torch.tensor(X, device=device))[:, -1, 0].cpu().numpy()
    errors = np.abs(outputs - norm(essential.convolutions(rho, X)[..., 0]))
    return float(errors[:-1].max()), float(errors[-1])


def readout_error(heads: Construction, neurons: barron.Network) -> float:
    """E_FFN, proved, on the box that the memories stay in; and rounding in a sum of m neurons."""
    box = essential.box(heads.memories.norms(), heads.attention_error)
    rounding = (len(neurons.a) + 20) * unit("float64") * box * float(barron.path_norm(neurons))
    return barron.sup_error(neurons, box).upper + rounding


def trained_error(phi: np.ndarray, example: str) -> float:
    """The worst error that is found for kernels phi (M, n) with the exact readout."""
    rho = essential.EXAMPLES[example].values(phi.shape[1])
    X = essential.adversary(rho, phi, norm)
    by_phi, by_rho = (essential.convolutions(kernels, X)[:, 0] for kernels in (phi, rho))
    return float(abs(norm(by_phi) - norm(by_rho)))


def stored(network: Transformer, n: int) -> np.ndarray:
    """phi_k(s) of a network with f(y) = y, as it has it in float64, from unit impulses; (M, n)."""
    impulses = torch.eye(n, dtype=torch.float64)[:, :, None]
    return network.to(torch.float64)(impulses)[:, -1, :].numpy()[::-1].T


def kernels(heads: Construction, n: int, **changes: Any) -> np.ndarray:
    """phi_k(s) of the construction, or with other exponents, alphas or at_zero; (M, n)."""
    memories, given = heads.memories, {"exponents": heads.exponents, "alphas": heads.alphas}
    given["at_zero"] = [kernel.ball(0) for kernel in memories.kernels]
    readout = essential.identity_readout(M)
    network = essential.network(memories.rpe, **{**given, **changes}, readout=readout, length=n)
    return stored(network, n)


def gaps(heads: Construction, n: int, **changes: Any) -> np.ndarray:
    """|rho_k(s) - phi_k(s)|; for f(y) = y sums over s are errors at the worst input; (M, n)."""
    return np.abs(kernels(heads, n, **changes) - heads.memories.values(n))


def without_present(heads: Construction, n: int, at_zero: Sequence[Any]) -> float:
    """Error at x = (1, 0, 0, ...), the present being read as if rho(0) were `at_zero`."""
    found = kernels(heads, n, at_zero=at_zero)[:, 0]
    return float(abs(norm(heads.memories.values(1)[:, 0]) - norm(found)))


def exact_network(
    rpe: str, exponents: Sequence[Any], alphas: Any, at_zero: Sequence[Any], n: int
) -> Transformer:
    """With f(y) = y, for windows of n tokens."""
    readout = essential.identity_readout(len(at_zero))
    alphas, at_zero = rationals(alphas), rationals(at_zero).tolist()
    return essential.network(rpe, exponents, alphas, at_zero, readout, length=n)


def exactly(
    rpe: str, exponents: Sequence[Any], alphas: Any, at_zero: Sequence[Any], X: Sequence[Any]
) -> np.ndarray:
    """The memories at the last token of X, as f(y) = y reads them."""
    network = exact_network(rpe, exponents, alphas, at_zero, len(X))
    return network(rationals(X)[:, None])[-1]


def without_residual(
    exponents: Sequence[Any], alphas: Any, at_zero: Sequence[Any], X: Sequence[Any]
) -> Any:
    """What the attention alone, with log-RPE, puts into block 1 at the last token of X."""
    network = exact_network("log", exponents, alphas, at_zero, len(X))
    embedded = rationals(X)[:, None] * network.W_E[:, 0]
    return network.layers[0].attention(embedded)[-1, 1]


def with_token_in_block_1(X: Sequence[Any]) -> Any:
    """D = M d as printed, but with the residual: the output for rho(s) = 2^-s and f(y) = y."""
    one, slope = rationals([[1]]), Log(2)
    value = normalisers("lin", (slope,), len(X))[0]
    attention = Attention((Head(one * value, slope),), one, "lin")
    layer = Layer(attention, essential.identity_readout(1))
    return Transformer(one, one[0] * 0, (layer,))(rationals(X)[:, None])[-1, 0]
