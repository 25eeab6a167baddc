"""Cores, memory, threads, devices; and small things beside them: seeds, order, signs of life."""

import gc
import os
import platform
import signal
import subprocess
import sys
import textwrap
import time
import weakref
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from demo import CONFTEST

from repro.harness import plugin, resources
from repro.harness.progress import Heartbeat, Reporter, line
from repro.harness.resources import (
    Lease,
    NoSuchDevice,
    automatic_workers,
    check_device,
    thread_count,
)
from repro.harness.schedule import from_nothing, read_durations, sort_key
from repro.harness.seeds import seed_for
from repro.results.types import Result, Training
from repro.results.types import Test as Tested

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
        ("400000 100000\n", 4),
        ("250000 100000\n", 2),
        ("50000 100000\n", 1),
        ("1600000 100000\n", 8),
        ("200000 50000\n", 4),
        ("", 8),
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


def test_where_memory_is_not_told_every_core_may_work(machine, monkeypatch):
    machine(cores=6)
    monkeypatch.setattr(os, "sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    assert automatic_workers("cpu") == 6


@pytest.mark.parametrize(
    ("option", "workers", "threads"),
    [
        ("1", 4, 1),
        ("3", 4, 3),
        ("16", 0, 16),
        ("auto", 2, 4),
        ("auto", 3, 2),
        ("auto", 100, 1),
        ("auto", 0, 8),
    ],
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


def test_the_limit_on_threads_does_not_import_torch(monkeypatch):
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.delitem(sys.modules, "torch")
    resources.limit_threads(1)
    assert "torch" not in sys.modules


# --- devices -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "device"),
    [
        ({}, "auto"),
        ({}, "cpu"),
        ({"gpus": 1}, "cuda"),
        ({"gpus": 2}, "cuda:1"),
        ({"mps": True}, "mps"),
        ({"gpus": 2}, "auto"),
    ],
)
def test_a_device_that_is_there_is_accepted(machine, made, device):
    machine(**made)
    check_device(device)


@pytest.mark.parametrize(
    ("made", "device", "there"),
    [
        ({}, "cuda", "cpu"),
        ({}, "cuda:0", "cpu"),
        ({}, "mps", "cpu"),
        ({"gpus": 2}, "cuda:2", "cpu, cuda:0, cuda:1"),
        ({"gpus": 2}, "mps", "cpu, cuda:0, cuda:1"),
        ({"mps": True}, "cuda", "cpu, mps"),
    ],
)
def test_a_device_that_is_not_there_is_refused_with_those_that_are(machine, made, device, there):
    machine(**made)
    says = rf"--device {device}: not on this machine; there is {there} \(or auto\)"
    with pytest.raises(NoSuchDevice, match=says):
        check_device(device)


def test_without_a_gpu_the_lease_is_on_the_processor_and_takes_no_lock(machine, tmp_path):
    machine(gpus=0)
    assert Lease("auto", tmp_path / "locks").device() == torch.device("cpu")
    assert Lease("cpu", tmp_path / "locks").device() == torch.device("cpu")
    assert not (tmp_path / "locks").is_dir()


def test_a_lease_of_mps_is_on_mps_where_there_is_one(machine, tmp_path):
    machine(mps=True)
    assert Lease("mps", tmp_path).device() == torch.device("mps")
    assert Lease("auto", tmp_path).device() == torch.device("cpu"), "mps is never chosen by itself"


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


def test_a_released_device_is_given_again(tmp_path):
    first, second = Lease("cuda", tmp_path), Lease("cuda", tmp_path)
    assert first.take(["cuda:0"]) == "cuda:0"
    del first  # its process ends
    assert second.take(["cuda:0"], patience=0.3) == "cuda:0"


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


def test_only_visible_devices_are_leased(machine, tmp_path):
    """torch counts what CUDA_VISIBLE_DEVICES leaves visible, from cuda:0 on."""
    machine(gpus=1)
    assert resources.visible_gpus("auto") == ["cuda:0"]
    assert resources.visible_gpus("cuda:1") == []
    lease = Lease("auto", tmp_path)
    assert lease.device() == torch.device("cuda:0")
    assert lease.device() is lease.device(), "taken once"
    machine(gpus=3)
    assert Lease("auto", tmp_path).device() == torch.device("cuda:1")
    assert Lease("cuda:2", tmp_path).device() == torch.device("cuda:2")


def test_a_free_device_needs_no_patience(tmp_path):
    assert Lease("cuda", tmp_path).take(["cuda:0"], patience=0) == "cuda:0"


def test_a_lease_does_not_give_another_device_than_asked_for(machine, tmp_path):
    machine(gpus=0)
    with pytest.raises(NoSuchDevice, match="cuda:1"):
        Lease("cuda:1", tmp_path).device()


def test_two_runs_with_different_visible_devices_do_not_wait_for_each_other(tmp_path, monkeypatch):
    leases = [Lease("cuda", tmp_path) for _ in range(2)]
    for physical, lease in enumerate(leases):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", str(physical))
        assert lease.take(["cuda:0"], patience=0.3) == "cuda:0"


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


def test_a_workspace_that_the_user_has_chosen_is_kept(switches, monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    resources.make_deterministic(1)
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


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


def test_figures_are_closed_and_nothing_is_imported_for_it(monkeypatch):
    closed = []
    pyplot = type("pyplot", (), {"close": staticmethod(closed.append)})
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    monkeypatch.delitem(sys.modules, "torch")
    resources.free_memory()
    assert closed == ["all"]
    assert "torch" not in sys.modules


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


def test_it_goes_back_between_claims_and_not_after_every_test(monkeypatch):
    times: list[int] = []
    monkeypatch.setattr(resources, "return_memory", lambda: times.append(1))
    here, same, other = (
        SimpleNamespace(path=path, stash={plugin.RECORDER: None}) for path in ("a", "a", "b")
    )
    for following, so_far in ((same, 0), (other, 1), (None, 2)):
        plugin.pytest_runtest_teardown(cast(Any, here), cast(Any, following))
        assert len(times) == so_far
    no_claim = SimpleNamespace(path="c", stash={})
    plugin.pytest_runtest_teardown(cast(Any, no_claim), None)
    assert len(times) == 2


# --- seeds, order, signs of life -----------------------------------------------------------------


def test_seeds_are_the_same_on_every_machine_and_differ_by_name():
    assert seed_for(0, "fang2022/lemma-3.1") == 936518239035230644
    names = [
        (base, claim, stream)
        for base in (0, 1)
        for claim in ("a/b-1", "a/b-11")
        for stream in ("", "x")
    ]
    assert len({seed_for(*name) for name in names}) == len(names)
    assert all(0 <= seed_for(*name) < 2**63 for name in names)


def test_the_slowest_comes_first_and_the_unknown_before_all():
    durations = {"smoke a": 1.0, "smoke b": 5.0, "laptop a": 100.0, "smoke c": 5.0}
    order = sorted(["a", "c", "b", "new"], key=lambda nodeid: sort_key(nodeid, "smoke", durations))
    assert order == ["new", "b", "c", "a"]


@pytest.mark.parametrize("content", [None, "", "[]", "{"], ids=["none", "empty", "list", "damaged"])
def test_without_good_durations_there_are_none(content, tmp_path):
    if content is not None:
        (tmp_path / "durations.json").write_text(content)
    assert read_durations(tmp_path) == {}


def test_durations_that_are_no_numbers_are_left_out(tmp_path):
    (tmp_path / "durations.json").write_text('{"smoke a": 1, "smoke b": "nan", "smoke c": null}')
    assert read_durations(tmp_path) == {"smoke a": 1.0}


def test_a_first_run_goes_by_what_tests_take_with_their_trainings():
    made = Training(kind="relu", key="0f", reason="computed: no entry", seconds=30.0)
    found = replace(made, reason="reused: computed yesterday")
    known = {"state": "passed", "role": "claim", "evidence": "train", "run": "r", "scale": "laptop"}
    tests = [
        {**known, "test": "test_a", "seconds": 31.0, "trainings": [made]},
        {**known, "test": "test_b[x]", "seconds": 1.0, "trainings": [found, found]},
    ]
    claim = Result(
        id="p/lemma-1", paper="p", kind="lemma", number="1", verdict="holds",
        file="claims/p/test_x.py", tests=[Tested(**test) for test in tests],
    )  # fmt: skip
    assert from_nothing([claim]) == {
        "laptop claims/p/test_x.py::test_a": 31.0,
        "laptop claims/p/test_x.py::test_b[x]": 61.0,
    }


def test_progress_is_written_at_most_five_times_a_second(tmp_path):
    path = tmp_path / "a.progress"
    report = Reporter(path)
    for step in range(1000):
        report(step, 1000, loss=0.123456)
    assert line("x", 12.4, path).startswith("x 0/1000 loss=0.1235, 12 s")
    assert [found.name for found in tmp_path.iterdir()] == ["a.progress"]


def test_a_full_disk_costs_signs_of_life_and_nothing_else(tmp_path):
    report = Reporter(tmp_path / "no such folder" / "a.progress")
    report(1, 2)
    report.say("waiting")


@pytest.mark.parametrize("content", [None, "{", '{"step": 1}'], ids=["none", "damaged", "foreign"])
def test_a_line_says_what_it_can(content, tmp_path):
    if content is not None:
        (tmp_path / "a.progress").write_text(content)
    assert line("x", 12.6, tmp_path / "a.progress") == "x, 13 s"


def test_the_heart_beats_while_something_runs_and_then_stops(capfd):
    running = [["one", "two"]]
    heart = Heartbeat(0.02, lambda: running[0])
    heart.start()
    time.sleep(0.2)
    heart.stop()
    assert not heart.is_alive()
    said = capfd.readouterr().err
    assert said.count("\n[running] one | two\n") >= 2
