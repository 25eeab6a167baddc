"""A claim whose training ends when two runs have asked for it; NAME stands for its statement."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from repro.bounds import theorem
from repro.training import Outcome, Spec

HERE = Path(__file__).parents[2]


@dataclass(frozen=True)
class Slow(Spec):
    kind: ClassVar[str] = "slow"
    version: ClassVar[int] = 1
    name: str = "NAME"


def note(file, *words):
    with open(HERE / file, "a") as log:
        print(*words, file=log)


def train(spec, workspace):
    note("trained.log", spec.name)
    give_up = time.monotonic() + 60
    while len(set((HERE / "asked.log").read_text().split())) < 2 and time.monotonic() < give_up:
        time.sleep(0.01)
    return Outcome({"value": 0.5}, {}, {"w": torch.ones(3)})


@pytest.mark.construct
def test_holds(claim):
    note("asked.log", os.getpid())
    found = claim.train(Slow(), train).outcome
    bound = theorem(1.0, "invented")
    claim.measured("value", found.numbers["value"], equation="(1)").at_most(bound)
