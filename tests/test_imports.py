"""What belongs to a claim: the files it imports, their fingerprint, and the names of its tests."""

from pathlib import Path

import pytest

from repro.harness import imports
from repro.harness.imports import closure, docstring, fingerprint, uses_torch
from repro.harness.project import ClaimTest, Project, claim_test


def forget():
    """Files are taken to be as they were found first; here they change."""
    for known in vars(imports).values():
        if hasattr(known, "cache_clear"):
            known.cache_clear()


@pytest.fixture(autouse=True)
def _nothing_remembered():
    forget()


class Tree:
    """A small project, and a claim in it."""

    def __init__(self, root):
        self.root = root
        self.claim = root / "claims/demo2025/test_lemma_1.py"
        for name in ("claims/demo2025", "science/deep"):
            (root / name).mkdir(parents=True)
        for name in ("__init__", "one", "two", "deep/__init__", "deep/three", "deep/four"):
            (root / f"science/{name}.py").touch()
        (root / "alone.py").touch()
        (root / "science/six.py").write_text("from .two import x")

    def files(self, source):
        """What the claim rests on, besides itself, if this is its text."""
        self.claim.write_text(source)
        found = closure(self.claim, self.root) - {self.claim}
        return {str(path.relative_to(self.root)) for path in found}


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


# --- closure -------------------------------------------------------------------------------------

PACKAGES = {"science/__init__.py", "science/deep/__init__.py"}  # that Python runs on the way

IMPORTS = {
    "nothing": ("x = 1", set()),
    "other libraries": ("import os, numpy.linalg\nfrom pathlib import Path", set()),
    "a module": ("import science.one", {"science/one.py"}),
    "a module from its package": ("from science import one", {"science/one.py"}),
    "a name from a module": ("from science.one import x", {"science/one.py"}),
    "everything from a module": ("from science.one import *", {"science/one.py"}),
    "a name from a package": ("from science import x", {"science/__init__.py"}),
    "a top-level module": ("import alone", {"alone.py"}),
    "a package inside": (
        "from science import deep",
        {"science/deep/__init__.py", "science/deep/three.py", "science/deep/four.py"},
    ),
    "a module of the same package": ("import science.six", {"science/six.py", "science/two.py"}),
    "a package as a whole": (
        "import science",
        {
            "science/one.py",
            "science/two.py",
            "science/six.py",
            "science/deep/three.py",
            "science/deep/four.py",
        },
    ),
    "a module deep inside": ("from science.deep import three", {"science/deep/three.py"}),
    "in a function": ("def f():\n    import science.one", {"science/one.py"}),
    "for the type checker": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from science import one",
        {"science/one.py"},
    ),
    "broken": ("import science.one\nthis is no Python", set()),
}


@pytest.mark.parametrize(("source", "wanted"), IMPORTS.values(), ids=IMPORTS)
def test_a_claim_rests_on_the_files_behind_its_imports(tree, source, wanted):
    found = tree.files(source)
    assert wanted <= found
    assert found - PACKAGES == wanted - PACKAGES


def test_imports_are_followed_through_files_and_around_cycles(tree):
    (tree.root / "science/one.py").write_text("from science import two")
    (tree.root / "science/two.py").write_text("from science.deep.three import x")
    (tree.root / "science/deep/three.py").write_text("import science.one, alone")
    wanted = {"science/one.py", "science/two.py", "science/deep/three.py", "alone.py"}
    assert tree.files("import science.one") - PACKAGES == wanted


def test_a_lazy_package_stands_for_all_its_modules(tree):
    lazy = "from repro.lazy import submodules\n__getattr__ = submodules(__name__, 'three')\n"
    (tree.root / "science/deep/__init__.py").write_text(lazy)
    (tree.root / "science/deep/four.py").write_text("import alone")
    found = tree.files("from science import deep\ndeep.three.f()")
    assert found >= {"science/deep/three.py", "science/deep/four.py", "alone.py"}


@pytest.mark.parametrize("content", [b"def (", b"\x00", b"\xff\xfe", b'x = "\xe9"'], ids=repr)
def test_a_file_that_does_not_parse_counts_but_leads_nowhere(tree, content):
    (tree.root / "science/one.py").write_bytes(content)
    assert tree.files("import science.one, alone") - PACKAGES == {"science/one.py", "alone.py"}
    assert docstring(tree.root / "science/one.py") == ""


def test_the_docstring_is_read_without_running_the_file(tree):
    tree.files('"""Lemma 1.\n\n    Checked: all.\n    """\nraise SystemExit')
    assert docstring(tree.claim) == "Lemma 1.\n\nChecked: all."


# --- fingerprint ---------------------------------------------------------------------------------


def prints(tree):
    forget()
    return fingerprint(tree.claim, tree.root)


def test_the_fingerprint_changes_when_and_only_when_a_file_in_the_closure_does(tree):
    tree.files("import science.one")
    (tree.root / "science/one.py").write_text("import alone")
    before = prints(tree)
    assert prints(tree) == before
    for name in ("science/two.py", "unrelated.py"):
        (tree.root / name).write_text("CHANGED = 1")
        assert prints(tree) == before, name
    for name in ("alone.py", "science/one.py", "claims/demo2025/test_lemma_1.py"):
        old = (tree.root / name).read_text()
        (tree.root / name).write_text(old + "\nCHANGED = 1")
        assert prints(tree) != before, name
        (tree.root / name).write_text(old)
        assert prints(tree) == before, name


def test_the_fingerprint_changes_when_a_file_is_moved_or_gone(tree):
    tree.files("from science import deep")
    before = prints(tree)
    (tree.root / "science/deep/three.py").rename(tree.root / "science/deep/five.py")
    moved = prints(tree)
    (tree.root / "science/deep/five.py").unlink()
    assert len({before, moved, prints(tree)}) == 3


def test_the_fingerprint_does_not_depend_on_where_the_project_stands(tree, tmp_path_factory):
    tree.files("import science.one")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "project"
    before = prints(tree)
    tree.root.rename(elsewhere)
    try:
        moved = fingerprint(elsewhere / "claims/demo2025/test_lemma_1.py", elsewhere)
    finally:
        elsewhere.rename(tree.root)
    assert moved == before


# --- torch ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("import torch", True),
        ("import torch.nn as nn", True),
        ("from torch import Tensor", True),
        ("def f():\n    import torch", True),
        ("import science.one", True),
        ("import science.two", False),
        ("import torchvision, numpy", False),
        ("from science import torch", False),
        ("torch = 1  # import torch", False),
    ],
)
def test_a_claim_uses_torch_if_anything_it_rests_on_imports_it(tree, source, uses):
    (tree.root / "science/one.py").write_text("import torch")
    tree.files(source)
    assert uses_torch(tree.claim, tree.root) is uses


# --- names of tests ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "role"),
    [
        ("test_holds", "claim"),
        ("test_control_of_it", "control"),
        ("test_control_of_it[n=3]", "control"),
        ("test_printed_form", "erratum"),
        ("test_reading_that_fails", "erratum"),
        ("test_the_control_is_tight", "claim"),
        ("TestIt::test_control_of_it[n=3]", "control"),
        ("test_control_of_it[a::b]", "control"),
    ],
)
def test_the_name_of_a_test_tells_its_role(demo, test, role):
    file = demo.claim("lemma-1").relative_to(demo.root)
    project = Project(demo.root)
    name = claim_test(project, project.read_ledger(), demo.root, f"{file}::{test}")
    assert name is not None
    assert (name.statement.id, name.test, name.role) == ("demo2025/lemma-1", test, role)


def test_what_is_no_test_of_a_claim_has_no_name(demo):
    demo.claim("lemma-1")
    project = Project(demo.root)
    for nodeid in (
        "claims/demo2025/test_lemma_1_demo.py",
        "tests/test_lemma_1_demo.py::test_holds",
        "claims/demo2025/deep/test_lemma_1_demo.py::test_holds",
        "claims/demo2025/helper.py::test_holds",
        "claims/demo2025/test_lemma_2.py::test_holds",
    ):
        assert claim_test(project, project.read_ledger(), demo.root, nodeid) is None


def test_records_have_safe_names_that_never_clash(demo):
    demo.claim("lemma-1")
    statement = Project(demo.root).read_ledger().statements["demo2025/lemma-1"]
    tests = ["test_a[x]", "test_a[X]", "test_a_x_", "test_a[../../x]", "test_a[é]"]
    tests += [f"test_a[{'n' * 300}{last}]" for last in "xy"]
    paths = [ClaimTest(statement, Path("x.py"), test).record(demo.artifacts) for test in tests]
    assert {path.parent for path in paths} == {demo.artifacts / "claims/demo2025/lemma-1/tests"}
    assert len({path.name.lower() for path in paths}) == len(tests)
    assert all(path.name.isascii() and len(path.name) < 100 for path in paths)
