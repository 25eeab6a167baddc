"""The coupling of a trained head as a function: its POD, and a smaller head of its first terms.

Section 5.2 takes singular values of the matrix [rho^(x_t, x_s)] of an input, the theory (9) those
of the function rho^ in L2. For a head of a layer both are at hand. With u~ = (u, 1),

    rho^(u, v) = (W_Q u + b_Q) . (W_K v + b_K) / sqrt m_h = u~^T A v + a term in u alone,
    A = [W_Q b_Q]^T W_K / sqrt m_h.

Softmax does not see what depends on u alone, so v may be centred. Let u and v be drawn from the
tokens that the layer sees, independently, G = E u~ u~^T and C = Cov v. The norm of u~^T A (v - Ev)
is |G^(1/2) A C^(1/2)|_F: the map of A to this matrix keeps norms, and rank. So

    G^(1/2) A C^(1/2) = sum_i sigma_i p_i q_i^T,    phi_i(u) = p_i^T G^(-1/2) u~,
                                                    psi_i(v) = q_i^T C^(-1/2) (v - Ev)

has the sigma_i, phi_i, psi_i of the POD of what softmax sees; G and C may be singular, tokens lie
in the range of both. By Eckart and Young, the first m terms are the best coupling of rank m in this
norm: the truncation of Theorem 4.1's proof, for weights that were not constructed but trained. They
are a head of size m, with queries sqrt(m) sigma_i phi_i and keys psi_i.

All tokens of a set of images stand for the distribution; places and images are not told apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from repro.jiang2024.vit import Attention, VisionTransformer


@dataclass(frozen=True)
class Terms:
    """Of every head of a layer; k = min(m_h, width) terms."""

    sigma: Tensor  # (heads, k)
    queries: Tensor  # (heads, k, width + 1): phi_i = queries @ u~
    keys: Tensor  # (heads, k, width): psi_i = keys @ v, up to a constant


@torch.no_grad()
def pod(model: VisionTransformer, images: Tensor) -> list[Terms]:
    """Of every layer, on the tokens of these images; in double precision."""
    x, found = model.tokens(images), []
    for layer in model.layers:
        found.append(_pod(layer.attention, layer.norm_1(x).flatten(0, 1).double(), model.shape.m_h))
        x = layer(x)
    return found


def _pod(attention: Attention, tokens: Tensor, m_h: int) -> Terms:
    """`tokens` (count, width)."""
    with_bias = torch.cat([attention.W_Q.weight, attention.W_Q.bias[:, None]], dim=1)
    both = (with_bias, attention.W_K.weight)
    W_Q, W_K = (W.double().unflatten(0, (attention.heads, m_h)) for W in both)
    A = W_Q.mT @ W_K / m_h**0.5  # (heads, width + 1, width)
    with_one = torch.cat([tokens, torch.ones_like(tokens[:, :1])], dim=1)
    centred = tokens - tokens.mean(0)
    (G, G_inverse), (C, C_inverse) = _roots(with_one), _roots(centred)
    p, sigma, q = torch.linalg.svd(G @ A @ C, full_matrices=False)
    k = min(m_h, tokens.shape[1])
    return Terms(sigma[:, :k], p.mT[:, :k] @ G_inverse, q[:, :k] @ C_inverse)


def _roots(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """M^(1/2) and M^(-1/2), 0 where M is, of the mean M of all v v^T; vectors (count, d)."""
    values, directions = torch.linalg.eigh(vectors.mT @ vectors / len(vectors))
    least = len(values) * torch.finfo(values.dtype).eps * values[-1]
    values = torch.where(values > least, values, 0.0)
    root = values.sqrt()
    inverse = torch.where(root > 0, 1 / root, 0.0)
    return (directions * root) @ directions.mT, (directions * inverse) @ directions.mT


def kept(model: VisionTransformer, terms: Sequence[Terms], which: slice) -> VisionTransformer:
    """The model with these terms of every head, and no others; values are left as they are."""
    m = len(range(*which.indices(terms[0].sigma.shape[1])))
    small = replace(model.shape, m_h=m, d_v=model.shape.values).build()
    state = dict(model.state_dict())
    for number, layer in enumerate(terms):
        place = f"layers.{number}.attention"
        phi = m**0.5 * (layer.sigma[..., None] * layer.queries)[:, which].flatten(0, 1)
        psi = layer.keys[:, which].flatten(0, 1)
        state[f"{place}.W_Q.weight"], state[f"{place}.W_Q.bias"] = phi[:, :-1], phi[:, -1]
        state[f"{place}.W_K.weight"], state[f"{place}.W_K.bias"] = psi, torch.zeros(len(psi))
    small.load_state_dict(state)
    return small.eval().requires_grad_(False)
