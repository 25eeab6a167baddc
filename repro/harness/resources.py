"""Cores, memory, threads and devices: shared fairly by the workers of a run.

Threads. Two workers that each start as many threads as there are cores spend 10 to 100 times as
long as two single-threaded ones. So every process gets `--threads` of them, 1 unless said
otherwise: then the numbers do not depend on -n either, since the order of a parallel sum does.

Devices. A worker leases the first free device by a lock that the operating system frees when the
worker dies; a worker's name would not do, since a replacement of gw0 is called gw3.
"""

import ctypes
import gc
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import filelock
    import torch

THREADED = ("OMP", "MKL", "OPENBLAS", "NUMEXPR")  # each reads its ..._NUM_THREADS
WORKER_BYTES = 2**30  # a torch worker on a CPU holds 330 MB before it works


class NoSuchDevice(ValueError):
    """The device asked for is not on this machine; the message names those that are."""


def cores() -> int:
    """Cores that this process may use: its affinity, and the quota of its control group."""
    affinity = getattr(os, "sched_getaffinity", None)
    available = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(available, int(quota) // int(period)))
    except (OSError, ValueError):  # no quota here
        return available


def memory_bytes() -> int:
    """Memory that this process may use: the machine's, or the limit of its control group."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        machine = cores() * WORKER_BYTES
    try:
        return min(machine, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no limit here
        return machine


def automatic_workers(device: str) -> int:
    """-n auto: a worker per core or per GPU, as far as the memory reaches."""
    gpus = len(visible_gpus(device))
    return max(1, min(gpus or cores(), memory_bytes() // WORKER_BYTES))


def thread_count(option: str, workers: int) -> int:
    """--threads: a number for each process, or 'auto' for an equal share of the cores."""
    if option == "auto":
        return max(1, cores() // max(1, workers))
    if not option.isdecimal() or int(option) < 1:
        raise ValueError(f"--threads takes a positive number or 'auto', got {option!r}")
    return int(option)


def limit_threads(count: int) -> None:
    """For this process and its children; must come before numpy and torch are imported."""
    for library in THREADED:
        os.environ[f"{library}_NUM_THREADS"] = str(count)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)


def visible_gpus(device: str) -> list[str]:
    """The CUDA devices that `device` allows; torch is imported only where there may be one."""
    if device in ("cpu", "mps"):
        return []
    if device == "auto" and not list(Path("/dev").glob("nvidia[0-9]*")):
        return []
    import torch

    if not torch.cuda.is_available():
        return []
    names = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    return names if device in ("auto", "cuda") else [name for name in names if name == device]


def check_device(device: str) -> None:
    """Refuse, before any claim runs, a device that is not there."""
    if device in ("auto", "cpu"):
        return
    import torch

    present = ["cpu", *visible_gpus("cuda")]
    if torch.backends.mps.is_available():
        present.append("mps")
    asked = "cuda:0" if device == "cuda" else device
    if asked not in present:
        there = f"there is {', '.join(present)} (or auto)"
        raise NoSuchDevice(f"--device {device}: not on this machine; {there}")


class Lease:
    """The device of this process, taken when first asked for and kept until the process ends."""

    def __init__(self, option: str, folder: Path | None = None) -> None:
        ours = f"attention-claims-{os.getuid()}-devices"
        self.option, self.folder = option, folder or Path(tempfile.gettempdir()) / ours
        self._device: torch.device | None = None
        self._lock: filelock.BaseFileLock | None = None

    def device(self) -> "torch.device":
        if self._device is None:
            import torch

            gpus = visible_gpus(self.option)
            if not gpus:
                check_device(self.option)  # nothing else is given in place of what was asked for
            without = "mps" if self.option == "mps" else "cpu"
            self._device = torch.device(self.take(gpus) if gpus else without)
        return self._device

    def take(self, names: Sequence[str], patience: float = 600.0) -> str:
        """Lock the first free one of `names`; wait for one if all are taken."""
        import filelock

        self.folder.mkdir(parents=True, exist_ok=True)
        give_up = time.monotonic() + patience
        while True:
            for name in names:
                lock = filelock.FileLock(self.folder / f"{physical(name)}.lock")
                try:
                    lock.acquire(timeout=0)
                except filelock.Timeout:
                    continue
                self._lock = lock
                return name
            if time.monotonic() >= give_up:
                raise TimeoutError(f"no device of {', '.join(names)} became free in {patience:g} s")
            time.sleep(0.2)


def physical(name: str) -> str:
    """A device's name whatever CUDA_VISIBLE_DEVICES calls it, as the name of a file."""
    kind, _, index = name.partition(":")
    visible = [entry.strip() for entry in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    if kind == "cuda" and index.isdecimal() and any(visible) and int(index) < len(visible):
        index = visible[int(index)]
    return re.sub(r"[^A-Za-z0-9-]", "-", f"{kind}-{index}")


def make_deterministic(threads: int) -> None:
    """Same bits on the same machine: once per process, before the first claim."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    torch.set_num_threads(threads)
    # use_deterministic_algorithms would do the same and import torch's compiler, some seconds
    torch.set_deterministic_debug_mode("warn")
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


def free_memory() -> None:
    """After a test: figures are closed, and memory of a GPU goes back to it.

    On a CPU the count of references frees what a claim held; collecting cycles after every test
    would cost more than many a claim.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        gc.collect()
        torch.cuda.empty_cache()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def return_memory() -> None:
    """Between claims: what is free goes back to the system.

    glibc keeps what is freed between pieces in use, hundreds of megabytes after a large network,
    unless it is told to return it. Other libraries have no such call.
    """
    if os.name == "posix":
        getattr(ctypes.CDLL(None), "malloc_trim", int)(0)
