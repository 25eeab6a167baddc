"""Mutants: every operator does what its table says, and a child sees the change and nobody else."""

import subprocess
import sys
from pathlib import Path

import pytest

from repro.mutants import operators

ROOT = Path(__file__).parent.parent


def changes(source):
    return {(one.operator, one.before, one.after) for one in operators.mutants(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a + b", {("sign", "a + b", "a - b"), ("term", "a + b", "a")}),
        ("a * b", {("inverse", "a * b", "a / b"), ("factor", "a * b", "a")}),
        ("a ** b", {("exponent", "a ** b", "a ** (b + 1)")}),
        ("-a", {("sign", "-a", "a")}),
        ("x = 3", {("constant", "3", "6")}),
        ("x = 0.0", {("constant", "0.0", "1")}),
        ("x[i]", {("index", "x[i]", "x[i + 1]")}),
        ("x[:k]", {("index", "x[:k]", "x[:k + 1]")}),
        ("range(n)", {("index", "range(n)", "range(n + 1)")}),
        ("a < b", {("inequality", "a < b", "a >= b"), ("edge", "a < b", "a <= b")}),
        ("a == b", {("inequality", "a == b", "a != b")}),
        ("a if c else b", {("branch", "a if c else b", "b if c else a")}),
        ("if c:\n    x", {("branch", "c", "not c")}),
        ("min(a, b)", {("extreme", "min(a, b)", "max(a, b)")}),
        ("x.max()", {("extreme", "x.max()", "x.min()")}),
        ("A.mT @ b", {("transposed", "A.mT", "A")}),
    ],
)
def test_an_operator_does_what_its_table_says(source, expected):
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring, 1 + 1."""',
        "def f(x: Array[3]) -> Array[3]:\n    return x",
        "raise ValueError(f'{a + b}')",
        "if TYPE_CHECKING:\n    x = 1",
        "@cache(3)\ndef f():\n    return x",
    ],
)
def test_what_is_not_computed_is_left_alone(source):
    assert changes(source) == set()


def test_only_the_place_changes_and_letters_of_several_bytes_do_no_harm():
    source = "größe = 1  # eins\nα = (größe +\n     x) * y\n"
    found = {one.after: one.source for one in operators.mutants(source)}
    assert found["größe - x"] == "größe = 1  # eins\nα = (größe - x) * y\n"
    assert found["2"] == source.replace("1", "2")


def test_every_mutant_of_the_package_can_be_compiled():
    for file in ("repro/jiang2024/floors.py", "repro/harness/checks.py"):
        for one in operators.mutants((ROOT / file).read_text()):
            compile(one.source, file, "exec")


def run(*arguments):
    command = [sys.executable, "-m", "repro.mutants", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_run_tells_what_the_tests_see_and_what_they_do_not():
    """The sign in the law is tested; how finely exponents are looked for is not."""
    file = "repro/numerics/plateau.py"
    line = next(
        number
        for number, text in enumerate((ROOT / file).read_text().splitlines(), start=1)
        if text.strip().startswith("return self.a *")
    )
    tests = "tests/test_plateau.py::test_exact_points_give_back_the_printed_law"
    done = run(file, tests, "--only", "sign", "--lines", f"{line}-{line}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 mutants tried, 2 seen" in done.stdout
    refused = "tests/test_plateau.py::test_too_few_or_bad_sizes_are_refused"
    done = run(file, refused, "--only", "sign", "--lines", f"{line}-{line}")
    assert done.returncode == 1
    assert done.stdout.count("survived: ") == 2


def test_tests_that_do_not_pass_as_they_are_end_the_run():
    done = run("repro/numerics/plateau.py", "tests/no_such_file.py", "--only", "sign")
    assert done.returncode == 2
    assert "nothing can be said" in done.stdout
