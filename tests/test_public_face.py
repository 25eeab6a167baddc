"""The entry points that `repro` declares exist, and every example in a docstring is true."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import repro

ROOT = Path(repro.__file__).parent
ENTRIES = re.findall(r"^repro\.([\w.]+)\.(\w+) ", str(repro.__doc__), flags=re.MULTILINE)
FILES = [file for file in ROOT.rglob("*.py") if ">>> " in file.read_text()]
MODULES = sorted(".".join(file.relative_to(ROOT).with_suffix("").parts) for file in FILES)


@pytest.mark.parametrize(("module", "name"), ENTRIES)
def test_the_example_of_an_entry_point_can_be_pasted(module, name):
    entry = getattr(importlib.import_module(f"repro.{module}"), name)
    example = doctest.DocTestParser().get_doctest(entry.__doc__, {}, name, None, None)
    done = doctest.DocTestRunner().run(example)
    assert done.attempted
    assert not done.failed


def test_there_are_about_ten_of_them_for_all_three_papers():
    assert {module.split(".")[0] for module, _ in ENTRIES} == {
        "fang2022", "jiang2024", "wang2024", "numerics", "training"
    }  # fmt: skip
    assert 9 <= len(ENTRIES) <= 15


@pytest.mark.parametrize("module", MODULES)
def test_examples_are_true(module):
    done = doctest.testmod(importlib.import_module(f"repro.{module}"))
    assert done.attempted
    assert not done.failed


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "py.typed").exists()
