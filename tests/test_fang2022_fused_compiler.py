"""The kernel of fused.c: compiled once and kept, and chunks where there is no compiler."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from ridge_sums import (
    BACKENDS,
    COMPILER,
    HAVE_KERNEL,
    extra_memory,
    normal,
    value_and_gradients,
)

from repro.fang2022 import fused
from repro.fang2022.fused import ridge_polynomial


@pytest.fixture
def first_use(monkeypatch, tmp_path):
    """As in a new process of a user without a cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(fused.FORBIDDEN, raising=False)
    monkeypatch.delenv("CC", raising=False)
    fused._library.cache_clear()
    yield tmp_path / "attention-claims"
    fused._library.cache_clear()


def compiler(folder: Path, name: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho '{name}: unknown option' >&2\nexit 1\n")
    (folder / name).chmod(0o755)


MISSING = {
    "forbidden": {"REPRO_NO_COMPILER": "1"},
    "the user's own": {"PATH": "{tmp_path}", "CC": "mine"},
    "no compiler": {"PATH": ""},
    "broken compiler": {"PATH": "{tmp_path}"},
    "no place to keep it": {"XDG_CACHE_HOME": os.devnull},
}


@pytest.mark.parametrize("environment", MISSING.values(), ids=MISSING)
def test_without_the_kernel_chunks_take_over(first_use, monkeypatch, tmp_path, environment):
    if not COMPILER and "XDG_CACHE_HOME" in environment:
        pytest.skip("without a C compiler there is nothing to keep")
    fused._library.cache_clear()
    compiler(tmp_path, "cc")
    compiler(tmp_path, "mine")
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp_path=tmp_path))
    assert fused.backend() == "chunks"
    a, b, w = normal(40, 3), normal(6, 3, seed=1), normal(40, seed=2)
    beta = normal(6, 4, seed=3)
    for one, other in zip(
        value_and_gradients(ridge_polynomial, a, b, beta, w=w),
        value_and_gradients(functools.partial(ridge_polynomial, backend="chunks"), a, b, beta, w=w),
        strict=True,
    ):
        assert torch.equal(one, other)


@HAVE_KERNEL
@pytest.mark.parametrize("change", ["FLAGS", "SOURCE"])
def test_other_flags_or_another_source_make_another_library(
    first_use, monkeypatch, tmp_path, change
):
    source, given = tmp_path / "source.c", (normal(20, 10), normal(300, 10), normal(300, 5))
    source.write_text(fused.SOURCE.read_text().replace("GROUP = 64", "GROUP = 32"))
    changed = {"FLAGS": (*fused.FLAGS, "-funroll-loops"), "SOURCE": source}[change]
    with monkeypatch.context() as patch:
        patch.setattr(fused, change, changed)
        value = ridge_polynomial(*given, backend="c")
    fused._library.cache_clear()
    again = ridge_polynomial(*given, backend="c")
    assert len(list(first_use.iterdir())) == 2
    torch.testing.assert_close(value, again)


def in_process(program, **environment):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


COMPILES = """
import torch
from repro.fang2022 import fused
x = torch.linspace(-1, 1, 600).reshape(200, 3)
y = fused.ridge_polynomial(x, x[:7], x[:7])
print(fused.backend(), y.double().sum().item().hex())
"""


@HAVE_KERNEL
def test_processes_may_compile_at_the_same_time(tmp_path):
    started = [in_process(COMPILES, XDG_CACHE_HOME=str(tmp_path)) for _ in range(2)]
    said = [process.communicate(timeout=300)[0] for process in started]
    assert all(process.returncode == 0 for process in started)
    assert len(set(said)) == 1
    assert said[0].startswith("c ")
    (library,) = (tmp_path / "attention-claims").iterdir()  # and nothing half done beside it
    assert library.suffix == ".so"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_no_array_of_n_times_N_is_made(backend):
    N, n = 8000, 1000
    here, in_autograd = extra_memory(backend, N, n)
    assert here < 0.25 * 4 * N * n
    assert in_autograd > 5 * 4 * N * n
