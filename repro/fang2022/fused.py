"""Section 5 at its printed size: sums of n ridge functions, with gradients, in O(N + n) memory.

The blocks of Theorem 3.5 are fixed and only compute powers, so what is trained is, up to b,

    y_i = sum_k g_k(t_ik),   t_ik = <xi_k, x_i>,   g_k(t) = sum_s beta_{k,s} t^s,   s = 1, ..., q,

for N samples x_i in R^d and n directions xi_k, the rows of F. NN_width of Table 3 is the same sum
with g_k(t) = v_k relu(t + c_k), relu'(0) = 0. Let w_i = dL/dy_i and u_ik = w_i g_k'(t_ik). Then

    dL/dxi_k = sum_i u_ik x_i,   dL/dbeta_{k,s} = sum_i w_i t_ik^s,
    dL/dc_k = sum_i u_ik,        dL/dv_k = sum_i w_i relu(t_ik + c_k).

A literal block costs about n^2 (n+q+2) per sample. Autograd on the sum costs n (d+q), but keeps
arrays of N x n numbers, 200 MB each in Table 1. Here t is computed in the forward pass and again in
the backward pass, for a few samples at a time, and forgotten: by the kernel fused.c (float32 and
float64 on a CPU with a C compiler), or in chunks by torch (elsewhere). Both give the same numbers
up to round-off; `backend` says which is used.

The kernel is compiled at its first use, into the user's cache folder, under a hash of the source,
the flags and what the compiler says of itself and the processor.
"""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from repro import files

CHUNK = 2**17  # with it the arrays of a chunk, half a megabyte each, stay in the caches
PER_THREAD = 2**20  # pairs of a sample and a direction that are worth a thread
REAL = {torch.float32: "float", torch.float64: "double"}
SOURCE = Path(__file__).with_suffix(".c")
# setting: which instructions a compiler may use
NATIVE = "-mcpu=native" if platform.machine() in ("arm64", "aarch64") else "-march=native"
FLAGS = ("-O3", NATIVE, "-fPIC", "-shared")  # -ffast-math of older gcc would flush denormals
FORBIDDEN = "REPRO_NO_COMPILER"  # set to 1 in the environment: only chunks


def ridge_polynomial(x: Tensor, F: Tensor, beta: Tensor, *, backend: str | None = None) -> Tensor:
    """sum_k sum_s beta[k, s-1] <xi_k, x>^s; x (N, d), F (n, d), beta (n, q) -> (N,)."""
    return _ridge(x, F, beta, False, backend)


def ridge_relu(x: Tensor, F: Tensor, c: Tensor, v: Tensor, *, backend: str | None = None) -> Tensor:
    """sum_k v_k relu(<xi_k, x> + c_k); x (N, d), F (n, d), c and v (n,) -> (N,)."""
    return _ridge(x, F, torch.stack([c, v], 1), True, backend)


def backend(dtype: torch.dtype = torch.float32, device: Any = "cpu") -> str:
    """What computes for tensors of this kind, "c" or "chunks"; the first call compiles."""
    if torch.device(device).type != "cpu" or dtype not in REAL:
        return "chunks"
    forbidden = os.environ.get(FORBIDDEN, "0") not in ("", "0")
    return "chunks" if forbidden or _library(dtype) is None else "c"


def _ridge(x: Tensor, F: Tensor, p: Tensor, relu: bool, asked: str | None) -> Tensor:
    """The sum of g_k with parameters in row k of p: beta_k, or (c_k, v_k)."""
    fit = x.ndim == F.ndim == 2 and x.shape[1] == F.shape[1] and len(F) == len(p)
    if not fit or len({(a.dtype, a.device) for a in (x, F, p)}) > 1:
        found = ", ".join(f"{tuple(a.shape)} {a.dtype} on {a.device}" for a in (x, F, p))
        needed = "x (N, d), F (n, d) and parameters (n, ...) of one type and device"
        raise ValueError(f"the fused sum needs {needed}, got {found}")
    if x.requires_grad:
        raise ValueError("x are the samples, there is no gradient in them: pass x.detach()")
    name = asked or backend(x.dtype, x.device)
    return _Ridge.apply(x, F, p, relu, name)  # pyright: ignore[reportReturnType]


class _Ridge(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, F: Tensor, p: Tensor, relu: bool, name: str) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.save_for_backward(x, F, p)
        value, gradient = BACKENDS[name]
        ctx.gradient = functools.partial(gradient, relu)
        return value(relu, x, F, p)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        _, F, p = ctx.saved_tensors
        grad_F, grad_p = ctx.gradient(*ctx.saved_tensors, w)
        return None, grad_F.to(F), grad_p.to(p), None, None


def _chunks_value(relu: bool, x: Tensor, F: Tensor, p: Tensor) -> Tensor:
    p, rows = p.T.contiguous(), _rows(F)
    y = x.new_empty(len(x))
    for part, target in zip(x.split(rows), y.split(rows), strict=True):
        if relu:
            target.copy_(torch.addmm(p[0], part, F.T).relu_() @ p[1])
        else:
            t, h = part @ F.T, p[-1].repeat(len(part), 1)
            for row in reversed(p[:-1]):
                torch.addcmul(row, h, t, out=h)
            target.copy_(h.mul_(t).sum(1))
    return y


def _chunks_gradient(relu: bool, x: Tensor, F: Tensor, p: Tensor, w: Tensor) -> list[Tensor]:
    p, rows = p.T.contiguous(), _rows(F)
    wide = torch.float32 if x.device.type == "mps" else torch.float64  # which mps does not have
    grad_F, grad_p = (torch.zeros_like(a, dtype=wide) for a in (F, p))
    for part, weights in zip(x.split(rows), w.split(rows), strict=True):
        if relu:
            a = torch.addmm(p[0], part, F.T).relu_()
            u = torch.where(a > 0, weights[:, None], 0).mul_(p[1])
            sums = [u.sum(0), weights @ a]
        else:
            t, sums = part @ F.T, []
            power, u = torch.ones_like(t), torch.zeros_like(t)
            for s, row in enumerate(p, 1):
                u.addcmul_(power, s * row)
                sums.append(weights @ power.mul_(t))
            u.mul_(weights[:, None])
        grad_F += u.T @ part
        grad_p += torch.stack(sums)
    return [grad_F, grad_p.T]


def _rows(F: Tensor) -> int:
    return max(1, CHUNK // len(F))


def _c_value(relu: bool, x: Tensor, F: Tensor, p: Tensor) -> Tensor:
    x, F, p = (a.contiguous() for a in (x, F, p))
    y, forward = x.new_empty(len(x)), _library(x.dtype).forward

    def part(i: int, j: int) -> int:
        places = (a.data_ptr() for a in (x[i:j], F, p, y[i:j]))
        return forward(relu, j - i, *F.shape, p.shape[1], *places)

    _in_threads(part, len(x), len(F))
    return y


def _c_gradient(relu: bool, x: Tensor, F: Tensor, p: Tensor, w: Tensor) -> list[Tensor]:
    x, F, p, w = (a.contiguous() for a in (x, F, p, w))
    grads = [torch.zeros_like(a, dtype=torch.float64) for a in (F, p)]
    backward = _library(x.dtype).backward

    def part(k: int, l: int) -> int:
        places = (a.data_ptr() for a in (x, F[k:l], p[k:l], w, *(grad[k:l] for grad in grads)))
        return backward(relu, len(x), l - k, F.shape[1], p.shape[1], *places)

    _in_threads(part, len(F), len(x))
    return grads


def _in_threads(part: Callable[[int, int], int], length: int, times: int) -> None:
    """part(i, j) on parts of range(length), in torch's number of threads: ctypes lets them run."""
    threads = max(1, min(torch.get_num_threads(), length, length * times // PER_THREAD))
    cuts = [length * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        failed = list(pool.map(part, cuts[:-1], cuts[1:]))
    if any(failed):
        raise MemoryError("fused.c found no memory for a block of samples")


@functools.cache
def _library(dtype: torch.dtype) -> Any:
    """The compiled kernel, or None where it cannot be had."""
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None:
        return None
    try:
        library = ctypes.CDLL(os.fspath(_compiled(compiler, (*FLAGS, f"-DREAL={REAL[dtype]}"))))
    except (OSError, RuntimeError, subprocess.SubprocessError):  # no folder, no home, no such flag
        return None
    sizes = [ctypes.c_int, *[ctypes.c_long] * 4]
    library.forward.argtypes = [*sizes, *[ctypes.c_void_p] * 4]
    library.backward.argtypes = [*sizes, *[ctypes.c_void_p] * 6]
    return library


def _compiled(compiler: str, flags: tuple[str, ...]) -> Path:
    """The shared library, found or made; several processes may make it at the same time."""
    run = functools.partial(subprocess.run, check=True, capture_output=True, timeout=120)
    macros = run([compiler, *flags, "-dM", "-E", "-x", "c", os.devnull]).stdout
    known = b"\0".join([SOURCE.read_bytes(), " ".join(flags).encode(), macros])
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = cache / "attention-claims" / f"fused-{hashlib.sha256(known).hexdigest()[:16]}.so"
    if not path.exists():
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, path.name)
            run([compiler, *flags, SOURCE, "-o", made])
            files.write_atomically(path, made.read_bytes())
    return path


BACKENDS = {"c": (_c_value, _c_gradient), "chunks": (_chunks_value, _chunks_gradient)}
