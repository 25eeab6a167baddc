"""Cores, memory, threads, devices: shared fairly, and given back."""

import gc
import os
import platform
import signal
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from demo import CONFTEST

from repro.harness import resources
from repro.harness.resources import (
    Lease,
    NoSuchDevice,
    automatic_workers,
    check_device,
    thread_count,
)

GB = 2**30


@pytest.fixture
def machine(monkeypatch):
    """A machine with so many cores, so much memory, such a quota and so many GPUs."""

    def make(cores=8, memory=64 * GB, quota=None, gpus=0, mps=False):
        def read_text(path):
            if str(path) != "/sys/fs/cgroup/cpu.max" or quota is None:
                raise FileNotFoundError(path)
            return quota

        pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": memory // 4096}
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
        monkeypatch.setattr(os, "sysconf", pages.__getitem__)
        monkeypatch.setattr(Path, "read_text", read_text)
        cards = [Path(f"/dev/nvidia{number}") for number in range(gpus)]
        monkeypatch.setattr(Path, "glob", lambda path, pattern: iter(cards))
        monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return make


# --- cores, memory, threads ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        (None, 8),
        ("max 100000\n", 8),
        ("250000 100000\n", 2),
        ("50000 100000\n", 1),
        ("1600000 100000\n", 8),
        ("nonsense\n", 8),
    ],
)
def test_cores_are_those_allowed_by_affinity_and_quota(machine, quota, cores):
    machine(cores=8, quota=quota)
    assert resources.cores() == cores


@pytest.mark.parametrize(
    ("made", "device", "workers"),
    [
        ({"cores": 8}, "cpu", 8),
        ({"cores": 8, "memory": 3 * GB}, "cpu", 3),
        ({"cores": 8, "memory": GB // 2}, "cpu", 1),
        ({"cores": 8, "quota": "200000 100000"}, "cpu", 2),
        ({"cores": 8, "gpus": 2}, "auto", 2),
        ({"cores": 8, "gpus": 2}, "cuda", 2),
        ({"cores": 8, "gpus": 2}, "cuda:1", 1),
        ({"cores": 8, "gpus": 2}, "cpu", 8),
        ({"cores": 8, "gpus": 4, "memory": 2 * GB}, "auto", 2),
        ({"cores": 8, "gpus": 0}, "auto", 8),
    ],
)
def test_workers_are_as_many_as_cores_or_gpus_and_memory_allow(machine, made, device, workers):
    machine(**made)
    assert automatic_workers(device) == workers


@pytest.mark.parametrize(
    ("option", "workers", "threads"),
    [("3", 4, 3), ("16", 0, 16), ("auto", 3, 2), ("auto", 100, 1), ("auto", 0, 8)],
)
def test_threads_are_a_number_or_a_share_of_the_cores(machine, option, workers, threads):
    machine(cores=8)
    assert thread_count(option, workers) == threads


@pytest.mark.parametrize("option", ["0", "-1", "1.5", "many", "", " 2", "²"], ids=repr)
def test_threads_that_are_no_positive_number_are_refused(option):
    with pytest.raises(ValueError, match="--threads takes a positive number or 'auto', got "):
        thread_count(option, 1)


def test_the_limit_on_threads_reaches_libraries_children_and_torch(monkeypatch):
    set_to = []
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "64", "PATH": "x"})
    monkeypatch.setattr(torch, "set_num_threads", set_to.append)
    resources.limit_threads(3)
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    assert os.environ == {"PATH": "x", **dict.fromkeys(names, "3")}
    assert set_to == [3]


# --- devices -------------------------------------------------------------------------------------


CUDA = ["cuda", "cuda:0", "cuda:1"]


@pytest.mark.parametrize(
    ("made", "there", "absent"),
    [
        ({}, ["cpu"], [*CUDA, "mps"]),
        ({"gpus": 2}, ["cpu", "cuda:0", "cuda:1"], ["cuda:2", "mps"]),
        ({"mps": True}, ["cpu", "mps"], CUDA),
    ],
)
def test_a_device_that_is_not_there_is_refused_with_those_that_are(
    machine, tmp_path, made, there, absent
):
    machine(**made)
    for device in ["auto", *there]:
        check_device(device)
    for device in absent:
        says = rf"--device {device}: not on this machine; there is {', '.join(there)} \(or auto\)"
        with pytest.raises(NoSuchDevice, match=says):
            check_device(device)
        with pytest.raises(NoSuchDevice, match=says):
            Lease(device, tmp_path).device()


@pytest.mark.parametrize(
    ("made", "option", "device"),
    [
        ({}, "auto", "cpu"),
        ({}, "cpu", "cpu"),
        ({"mps": True}, "mps", "mps"),
        ({"mps": True}, "auto", "cpu"),  # mps is never chosen by itself
        ({"gpus": 1}, "auto", "cuda:0"),
        ({"gpus": 3}, "cuda:2", "cuda:2"),
    ],
)
def test_a_lease_is_on_what_was_asked_for(machine, tmp_path, made, option, device):
    machine(**made)
    lease = Lease(option, tmp_path / "locks")
    assert lease.device() == torch.device(device)
    assert lease.device() is lease.device(), "taken once"
    assert (tmp_path / "locks").is_dir() == device.startswith("cuda")


def test_two_leases_get_two_devices_and_the_third_waits_in_vain(tmp_path, monkeypatch):
    first, second, third = (Lease("cuda", tmp_path) for _ in range(3))
    assert first.take(["cuda:0", "cuda:1"]) == "cuda:0"
    assert second.take(["cuda:0", "cuda:1"]) == "cuda:1"
    slept = []
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr(resources, "time", clock)
    with pytest.raises(TimeoutError, match=r"no device of cuda:0, cuda:1 became free in 0\.3 s"):
        third.take(["cuda:0", "cuda:1"], patience=0.3)
    assert slept == [0.2, 0.2]


def test_the_device_of_a_killed_process_is_given_again(tmp_path):
    program = """
        import sys, time
        from pathlib import Path
        from repro.harness.resources import Lease
        lease = Lease("cuda", Path(sys.argv[1]))
        print(lease.take(["cuda:0", "cuda:1"]), flush=True)
        time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "cuda:0\n"
        beside = Lease("cuda", tmp_path)
        assert beside.take(["cuda:0", "cuda:1"]) == "cuda:1", "another process holds cuda:0"
        holder.send_signal(signal.SIGKILL)
    assert Lease("cuda", tmp_path).take(["cuda:0", "cuda:1"], patience=5) == "cuda:0"


@pytest.mark.parametrize(
    ("visible", "name", "file"),
    [
        (None, "cuda:1", "cuda-1"),
        ("", "cuda:1", "cuda-1"),
        ("3", "cuda:0", "cuda-3"),
        ("2, 5", "cuda:1", "cuda-5"),
        ("GPU-8f3a", "cuda:0", "cuda-GPU-8f3a"),
        ("../../x", "cuda:0", "cuda-------x"),
        ("3", "cuda:1", "cuda-1"),
    ],
)
def test_a_device_is_locked_by_what_it_is_and_not_by_its_number_here(
    monkeypatch, visible, name, file
):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert resources.physical(name) == file


def test_runs_that_see_the_same_devices_in_another_order_share_them(tmp_path, monkeypatch):
    names = ["cuda:0", "cuda:1"]
    first, second, third = (Lease("cuda", tmp_path) for _ in range(3))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "6,7")
    assert first.take(names) == "cuda:0"  # the machine's sixth
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7,6")
    assert second.take(names) == "cuda:0"  # its seventh
    with pytest.raises(TimeoutError, match="no device of cuda:0, cuda:1"):
        third.take(names, patience=0)


FAKE_GPUS = """
import os, torch

def note(*_):
    with open("freed", "a") as log:
        log.write(f"{os.getpid()}\\n")

torch.cuda.is_available = torch.cuda.is_initialized = lambda: True
torch.cuda.device_count = lambda: 2
torch.cuda.manual_seed_all = lambda seed: None
torch.cuda.empty_cache = note
"""
LEASES = """
import os, time
from pathlib import Path
from types import SimpleNamespace
import pytest
import torch

def lease(claim):
    Path(f"leased-{claim.device}").write_text(str(os.getpid()))
    give_up = time.monotonic() + 60
    while len(list(Path().glob("leased-*"))) < 2:  # the other worker is at another test
        assert time.monotonic() < give_up
        time.sleep(0.05)
    claim.measured("device", claim.device.type, equation="(1)").equals("cuda")

@pytest.mark.construct
def test_holds(claim):
    lease(claim)

def test_control_of_it(claim):
    lease(claim)
"""


def test_two_workers_have_a_device_each_and_free_its_memory_after_every_claim(demo, monkeypatch):
    """The lease, from the command line to the record, where torch believes in two devices."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", f"{demo.root.name}-a,{demo.root.name}-b")
    (demo.root / "conftest.py").write_text(CONFTEST + FAKE_GPUS)
    for id in ("lemma-1", "lemma-2"):
        demo.claim(id, LEASES, control="")
    done = demo.run("-n", "auto", "--device", "cuda")
    assert done.returncode == 0, done.stdout
    tests = [test for id in ("lemma-1", "lemma-2") for test in demo.result(id)["tests"]]
    assert len(tests) == 4
    leased = {path.name: path.read_text() for path in demo.root.glob("leased-*")}
    assert set(leased) == {"leased-cuda:0", "leased-cuda:1"}
    assert len(set(leased.values())) == 2
    assert {test["device"] for test in tests} == {"cuda:0", "cuda:1"}
    freed = (demo.root / "freed").read_text().split()
    assert len(freed) == len(tests)
    assert set(freed) == set(leased.values())


# --- the same bits, and memory that is given back ------------------------------------------------


@pytest.fixture
def switches(monkeypatch):
    """torch's switches, all of them wrong; put back afterwards."""
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = matmul.allow_tf32
    threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    monkeypatch.setattr(cudnn, "allow_tf32", True)
    matmul.allow_tf32 = True
    torch.set_deterministic_debug_mode("default")
    yield
    matmul.allow_tf32 = before
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode(mode)


def test_all_switches_are_set_for_the_same_bits(switches):
    resources.make_deterministic(1)
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    assert not torch.backends.cudnn.benchmark
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.matmul.allow_tf32
    assert torch.get_num_threads() == 1
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


class Cycle:
    """What only the collector of cycles finds, as a model and its optimiser may be."""

    def __init__(self):
        self.itself = self


@pytest.mark.parametrize("gpu", [True, False])
def test_what_a_claim_held_on_a_gpu_is_given_back_after_it(monkeypatch, gpu):
    left = weakref.ref(Cycle())
    still_there = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: gpu)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: still_there.append(left() is not None))
    gc.disable()
    try:
        resources.free_memory()
    finally:
        gc.enable()
    assert still_there == ([False] if gpu else []), "cycles first, then the cache"


def resident():
    """Bytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another library than glibc")
def test_memory_that_is_free_between_pieces_in_use_goes_back_to_the_system():
    pieces = [bytearray(100_000) for _ in range(2000)]
    kept = pieces[::50]
    del pieces
    before = resident()
    resources.return_memory()
    assert before - resident() > 100_000_000
    assert len(kept) == 40
