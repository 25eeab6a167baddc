"""The sums that repro.fang2022.fused computes, done plainly: the reference of its tests."""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from repro.fang2022 import fused
from repro.fang2022.model import Layout, Transformer
from repro.fang2022.powers import power_blocks, repaired
from tools.costs import sampling

COMPILER = fused.FORBIDDEN not in os.environ and shutil.which(os.environ.get("CC") or "cc")
HAVE_KERNEL = pytest.mark.skipif(not COMPILER, reason="no C compiler, or forbidden")
BACKENDS = [pytest.param("c", marks=HAVE_KERNEL), "chunks"]


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def plain_polynomial(x, F, beta):
    """Horner on the whole N x n array of t = <xi_k, x_i>, for autograd."""
    t = x @ F.T
    h = beta[:, -1] * t
    for s in reversed(range(beta.shape[1] - 1)):
        h = (h + beta[:, s]) * t
    return h.sum(1)


def plain_relu(x, F, c, v):
    return (x @ F.T + c).relu() @ v


def literal_blocks(n, q, B, dtype):
    """Those of Theorem 3.5: the i-th puts (-1)^i t^i into slot i."""
    return tuple(block.to(dtype) for block in power_blocks(n, q, repaired(q, B)))


def literal_model(F, beta, B):
    """The model of Section 5, block by block; beta_s takes the sign of the stored (-1)^s t^s."""
    n, q = beta.shape
    rows = Layout(n, q)
    head = beta.new_zeros(n, rows.size)
    head[:, rows.slot(1) : rows.one] = beta * (-1.0) ** torch.arange(1, q + 1)
    return Transformer(F, literal_blocks(n, q, B, F.dtype), head.flatten(), 0.0)


def value_and_gradients(function, x, *parameters, w):
    """y, and what <w, y> gives in every parameter."""
    leaves = [parameter.detach().clone().requires_grad_() for parameter in parameters]
    y = function(x, *leaves)
    return [y.detach(), *torch.autograd.grad(y, leaves, w)]


def extra_memory(backend, N, n):
    """Bytes of a step at its peak beyond what it began with, in a process of its own.

    Of the fused sum, and of autograd.
    """
    code = f"import ridge_sums; ridge_sums.tell_extra_memory({backend!r}, {N}, {n})"
    here = Path(__file__).parent
    said = subprocess.check_output(
        [sys.executable, "-W", "error", "-c", code],
        cwd=here.parent, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(here)}, timeout=300,
    )  # fmt: skip
    return json.loads(said)


def tell_extra_memory(backend, N, n, d=10, q=5):
    x, F, beta, w = torch.randn(N, d), torch.randn(n, d), torch.randn(n, q), torch.randn(N)

    def extra(function):
        value_and_gradients(function, x[:64], F[:8], beta[:8], w=w[:64])  # loads what has to be
        sampling.forget_peak()
        before = sampling.memory("VmRSS")
        value_and_gradients(function, x, F, beta, w=w)
        return sampling.peak() - before

    fused_sum = functools.partial(fused.ridge_polynomial, backend=backend)
    print(json.dumps([extra(fused_sum), extra(plain_polynomial)]))
