"""Feed a parser with hostile input: it accepts it and stays sane, or refuses it by name; nothing else.

Each parser is fed by hypothesis. What is refused must raise the error that the parser documents,
with the file or the field in its message; any other exception is a failure. An audit hook sees to
it that meanwhile nothing is written outside of the folder, no code is looked up or run, and no
connection is opened. The number of inputs is counted where they arrive.
"""

import contextlib
import functools
import itertools
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

from demo import FULL
from hypothesis import HealthCheck, given, settings

from repro.harness.time_limit import time_limit

ROOT = Path(__file__).parents[2]
SIZE = 600 if FULL else 30  # inputs of a parser, times its weight
ACCEPT_ALL = ("names of tests", "help texts", "pages of the report")  # any text is fine for them


class Watch:
    """Sees every file that is opened to be written, every command, connection and pickled name."""

    WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    PATHS: ClassVar = {"os.mkdir": 1, "os.rename": 2, "os.remove": 1, "os.rmdir": 1, "os.link": 2,
                       "os.symlink": 2, "os.chmod": 1, "os.truncate": 1}  # fmt: skip
    BELOW = ("os.rmdir", "os.remove", "os.mkdir")  # they may name a folder by its descriptor
    NEVER = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork",
             "socket.connect", "ctypes.dlopen")  # fmt: skip

    def __init__(self):
        self.folder, self.seen, self.allowed = None, [], ()
        sys.addaudithook(self._hear)  # cannot be taken off again

    def _hear(self, event, arguments):
        if self.folder is None:
            return
        if event in self.NEVER and event not in self.allowed:
            self.seen.append(f"{event} {arguments[0]!r}")
        elif event == "pickle.find_class" and arguments not in NEEDED_FOR_ARRAYS:
            self.seen.append(f"{event} {arguments!r}")
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & self.WRITING:
            self._check(event, arguments[0])
        for path in arguments[: self.PATHS.get(event, 0)]:
            base = f"/proc/self/fd/{arguments[-1]}" if event in self.BELOW else ""
            known = base and arguments[-1] >= 0
            self._check(event, os.path.join(os.readlink(base), path) if known else path)

    def _check(self, event, path):
        if isinstance(path, (str, bytes, os.PathLike)):
            place = os.path.abspath(os.fsdecode(path))
            if place != os.devnull and not place.startswith(str(self.folder)):
                self.seen.append(f"{event} {place}")

    @contextlib.contextmanager
    def over(self, folder, allowed=()):
        self.folder, self.seen, self.allowed = folder, [], allowed
        try:
            yield
        finally:
            self.folder = None


NEEDED_FOR_ARRAYS = {
    ("numpy", "ndarray"), ("numpy", "dtype"), ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"), ("_codecs", "encode"),
}  # fmt: skip
WATCH = Watch()


def says(error, *words):
    """The message names one of these."""
    assert any(str(word) in str(error) for word in words), f"{error!r} names none of {words}"
    return "refused"


@functools.cache
def scratch():
    """A folder that goes with the process."""
    return tempfile.TemporaryDirectory(prefix="hostile-")


def is_below(path, folder):
    return os.path.normpath(path).startswith(f"{folder}{os.sep}")


class Parsers(dict[str, Any]):
    """Functions of (input, folder) that return "accepted" or "refused"."""

    def add(self, name, inputs, weight=1.0, allowed=(), needs=()):
        """`allowed`: what the watch lets pass; `needs`: what is made beforehand."""

        def register(feed):
            self[name] = (inputs, feed, weight, allowed, needs)
            return feed

        return register

    def feed(self, name, folder):
        """Inputs for the parser `name`; a row for the page."""
        inputs, feed, weight, allowed, needs = self[name]
        for make in needs:
            make()
        counts, folders = Counter(), itertools.count()

        @settings(
            max_examples=int(SIZE * weight),
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
        )
        @given(inputs)
        def fed(case):
            own = folder / str(next(folders))
            own.mkdir()
            with WATCH.over(own, allowed), time_limit(60):
                outcome = feed(case, own)
            assert WATCH.seen == []
            counts[outcome] += 1

        fed()
        if FULL:  # inputs that are all good or all bad would show little
            assert counts["accepted"]
            assert counts["refused"] or name in ACCEPT_ALL
