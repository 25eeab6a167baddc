"""How fused.py divides its work: parts that meet, a failure that is heard, names of libraries."""

import os
import stat

import pytest
import torch

from repro.fang2022 import fused


def parts(monkeypatch, threads, length, times, failing=()):
    """The parts that were asked for, with so many threads at hand."""
    asked = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)

    def part(i, j):
        asked.append((i, j))
        return int((i, j) in failing)

    fused._in_threads(part, length, times)
    return sorted(asked)


CASES = {
    "three threads": ((3, 10, 10**9), [(0, 3), (3, 6), (6, 10)]),
    "more threads than rows": ((8, 2, 10**9), [(0, 1), (1, 2)]),
    "work for two": ((8, 1000, 2**11), [(0, 1000)]),
    "a little more": ((8, 1024, 2**11), [(0, 512), (512, 1024)]),
    "work for one": ((8, 100, 5), [(0, 100)]),
    "nothing": ((8, 0, 5), [(0, 0)]),
}


@pytest.mark.parametrize(("case", "expected"), CASES.values(), ids=CASES)
def test_parts_meet_and_are_worth_their_threads(monkeypatch, case, expected):
    """A thread for each 2^20 pairs, no more than there are rows, one at least."""
    assert parts(monkeypatch, *case) == expected


@pytest.mark.parametrize("failing", [[(0, 3)], [(6, 10)], [(0, 3), (3, 6), (6, 10)]], ids=str)
def test_one_part_that_finds_no_memory_is_enough(monkeypatch, failing):
    with pytest.raises(MemoryError, match=r"fused\.c found no memory"):
        parts(monkeypatch, 3, 10, 10**9, failing)


def test_a_chunk_has_a_row_at_least():
    assert fused._rows(torch.ones(7, 1)) == fused.CHUNK // 7
    assert fused._rows(torch.ones(1, 1).expand(2 * fused.CHUNK, 1)) == 1


def test_the_compiler_named_by_the_environment_comes_first(monkeypatch, tmp_path):
    """And an empty name is none."""
    for name in ("mine", "cc"):
        compiler = tmp_path / name
        compiler.write_text(f"#!/bin/sh\necho '{name} was asked' >&2\nexit 1\n")
        compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv(fused.FORBIDDEN, raising=False)
    for name, asked in (("mine", "mine"), ("", "cc")):
        monkeypatch.setenv("CC", name)
        fused._library.cache_clear()
        assert f"{asked} was asked" in fused.backend().why
    fused._library.cache_clear()


@pytest.mark.parametrize(("value", "set_"), [("", False), ("0", False), ("1", True), ("yes", True)])
def test_the_kernel_is_forbidden_by_anything_but_0(monkeypatch, value, set_):
    monkeypatch.setenv(fused.FORBIDDEN, value)
    assert (fused.backend().why == f"{fused.FORBIDDEN} is set") == set_
