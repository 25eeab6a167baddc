"""Claims need no network: with every connection refused they pass, and none is tried.

The refusal is an audit hook, which Python calls before it looks up a name, connects or sends; it is
loaded by `sitecustomize` in every Python process of the run, workers and children included. Sockets
within the machine's file system (AF_UNIX) are allowed. Libraries that would make system calls of
their own are not seen.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from demo import FULL

ROOT = Path(__file__).parent.parent
REFUSE = """
import os, sys

EVENTS = {"connect", "sendto", "sendmsg", "getaddrinfo", "gethostbyname", "gethostbyaddr"}
AF_UNIX = 1

def refuse(event, arguments):
    library, _, name = event.partition(".")
    if library == "socket" and name in EVENTS:
        if getattr(arguments[0], "family", None) != AF_UNIX:
            with open(os.environ["TRIED"], "a") as log:
                print(name, file=log)
            raise PermissionError(f"no network in claims: {name}{arguments[1:]}")

sys.addaudithook(refuse)
"""
FEW = ("fang2022/test_table_3", "jiang2024/test_equation_15", "wang2024/test_remark_F_3")


def without_network(folder):
    """The environment of a run that is refused every connection, and where its attempts are told."""
    (folder / "sitecustomize.py").write_text(REFUSE)
    tried = folder / "tried"
    return {"PYTHONPATH": str(folder), "TRIED": str(tried)}, tried


@pytest.mark.reliability
def test_claims_of_every_paper_run_without_network(tmp_path):
    environment, tried = without_network(tmp_path)
    few = [str(found) for start in FEW for found in ROOT.glob(f"claims/{start}*.py")]
    chosen = ["claims", "-n2"] if FULL else [*few, "-n0"]
    artifacts = tmp_path / "artifacts"
    options = ["-q", "--scale=smoke", f"--artifacts={artifacts}", "-pno:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *chosen, *options],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    claims = json.loads((artifacts / "results.json").read_text())["claims"]
    attempts = tried.read_text().split() if tried.exists() else []
    for paper in ("fang2022", "jiang2024", "wang2024"):
        ran = [claim for claim in claims if claim["paper"] == paper and claim["tests"]]
        assert ran
    assert attempts == []


CALLS = """
import contextlib, socket, subprocess, sys
import pytest

PLACE = ("127.0.0.1", PORT)
CHILD = f"import socket; socket.create_connection({PLACE}).close()"

@pytest.mark.construct
def test_holds(claim):
    with contextlib.suppress(PermissionError), socket.create_connection(PLACE):
        pass
    with contextlib.suppress(PermissionError), socket.socket() as plain:
        plain.connect_ex(PLACE)
    subprocess.run([sys.executable, "-c", CHILD], stderr=subprocess.DEVNULL)
    here, there = socket.socketpair()
    with here, there:
        here.sendall(b"allowed")
        claim.measured("within the machine", there.recv(7).decode(), equation="(1)").equals("allowed")
"""


@pytest.mark.parametrize(("refused", "workers"), [(False, "-n0"), (True, "-n2")])
def test_control_the_refusal_refuses(demo, refused, workers):
    """Where it is not in force the same claim reaches a server; where it is, none of three calls."""
    environment, tried = without_network(demo.root) if refused else ({}, demo.root / "tried")
    with socket.create_server(("127.0.0.1", 0)) as server:
        demo.claim("lemma-1", CALLS.replace("PORT", str(server.getsockname()[1])))
        done = demo.run("-q", workers, **environment)
        assert done.returncode == 0, done.stdout
        server.settimeout(0)
        assert reached(server) == (0 if refused else 3)
    attempts = sorted(tried.read_text().split()) if tried.exists() else []
    assert attempts == (["connect", "getaddrinfo", "getaddrinfo"] if refused else [])


def reached(server):
    """How many have connected; the connections of those that left are still there to be taken."""
    count = 0
    while True:
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1
