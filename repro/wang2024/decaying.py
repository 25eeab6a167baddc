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
from repro.wang2024 import essential, heads
from repro.wang2024.essential import Construction
from repro.wang2024.fixed import scalar_readout
from repro.wang2024.model import Layer, Transformer

M = 2


norm = functools.partial(np.linalg.norm, axis=-1)


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


def kernels(heads: Construction, n: int, **changes: Any) -> np.ndarray:
    """phi_k(s) of the construction as unit impulses show it, for f(y) = y, in float64; (M, n)."""
    network = heads.transformer(essential.identity_readout(M), n, **changes).to(torch.float64)
    impulses = torch.eye(n, dtype=torch.float64)[:, :, None]
    return network(impulses)[:, -1, :].numpy()[::-1].T


def gaps(heads: Construction, n: int, **changes: Any) -> np.ndarray:
    """|rho_k(s) - phi_k(s)|; for f(y) = y sums over s are errors at the worst input; (M, n)."""
    return np.abs(kernels(heads, n, **changes) - heads.memories.values(n))


def without_present(heads: Construction, n: int, at_zero: Sequence[Any]) -> float:
    """Error at x = (1, 0, 0, ...), the present being read as if rho(0) were `at_zero`."""
    found = kernels(heads, n, at_zero=at_zero)[:, 0]
    return float(abs(norm(heads.memories.values(1)[:, 0]) - norm(found)))


def exactly(
    rpe: str,
    exponents: Sequence[Any],
    alphas: Any,
    at_zero: Sequence[Any],
    X: Sequence[Any],
    *,
    residual: bool = True,
) -> np.ndarray:
    """The memories at the last token of X, as f(y) = y reads them, or the attention alone."""
    readout, tokens = essential.identity_readout(len(at_zero)), rationals(X)[:, None]
    weights = exponents, rationals(alphas), rationals(at_zero).tolist()
    network = essential.network(rpe, *weights, readout, length=len(X))
    if residual:
        return network(tokens)[-1]
    return network.layers[0].attention(tokens * network.W_E[:, 0])[-1, 1:]


def with_token_in_block_1(X: Sequence[Any]) -> Any:
    """D = M d as printed, but with the residual: the output for rho(s) = 2^-s and f(y) = y."""
    values = heads.normalisers("lin", [Log(2)], len(X))  # alpha = 1
    attention = heads.summed("lin", [Log(2)], values)
    layer, one = Layer(attention, essential.identity_readout(1)), rationals([[1]])
    return Transformer(one, one[0] * 0, (layer,))(rationals(X)[:, None])[-1, 0]
