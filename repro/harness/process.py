"""Which process wrote a file, and whether it still works.

A pid alone does not say: every machine has its own, and they are given out again. So a file names
the machine, as it has been up since its last start, and when the process began there. The name
of the machine is hashed: results are published.
"""

import functools
import hashlib
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BOOT = Path("/proc/sys/kernel/random/boot_id")


def this() -> dict[str, Any]:
    """What a file says of the process that wrote it."""
    return {"pid": os.getpid(), "host": host(), "born": _state_and_birth(os.getpid())[1]}


def alive(who: Mapping[str, Any]) -> bool:
    """Whether the process that `this` named is at work, on this machine."""
    pid = who.get("pid")
    if type(pid) is not int or not 0 < pid < 2**31 or who.get("host") != host():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        pass
    state, born = _state_and_birth(pid)
    return state != "Z" and who.get("born") == born  # Z: dead, and not yet buried


@functools.cache
def host() -> str:
    try:
        booted = BOOT.read_text().strip()
    except OSError:  # not on this system
        booted = ""
    return hashlib.sha256(f"{socket.gethostname()} {booted}".encode()).hexdigest()[:16]


def _state_and_birth(pid: int) -> tuple[str, int | None]:
    """From the kernel, in its ticks since it started; without /proc pid and host must do."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # no /proc here, or gone by now
        return "", None
    return words[0], int(words[19])
