"""A stand-in for a module that is not imported yet: monkeypatch changes the module, and mends it."""

import importlib
import sys

import pytest

from repro.lazy import Later


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "stood_for.py").write_text("SIZE = 3\n\ndef size():\n    return SIZE\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("stood_for", None)


def test_monkeypatch_changes_the_module_and_puts_it_back(folder):
    later = Later("stood_for")
    assert "stood_for" not in sys.modules
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(later, "SIZE", 5)
        assert later.size() == importlib.import_module("stood_for").size() == 5
    assert later.size() == importlib.import_module("stood_for").SIZE == 3


def test_names_that_pytest_asks_for_do_not_load_it(folder):
    assert not hasattr(Later("stood_for"), "__test__")
    assert "stood_for" not in sys.modules
