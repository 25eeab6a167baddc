"""Nothing that is read is unpickled or evaluated: no module has a word for it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

BANNED = re.compile(
    r"eval|exec|__import__|(pickle|marshal|dill|cloudpickle|joblib|shelve)\.\w+|yaml\.\w*load\w*"
    r"|(np|numpy)\.load|torch\.load|os\.(system|popen)|runpy\.\w+|\w+\.exec_module"
)
ARGUED = {
    ("repro/data/cifar10.py", "pickle.Unpickler"): "base of one that finds no name but an array's",
    ("repro/data/cifar10.py", "pickle.UnpicklingError"): "an error is no unpickling",
    ("repro/harness/configured.py", "runpy.run_path"): "the project's conftest.py, as pytest does",
    ("repro/data/weights.py", "torch.load"): "weights_only=True, which the test below asks for",
}


def banned(source):
    """Names in a module that could run what they read; and commands that a shell would read."""
    found = []
    for node in ast.walk(ast.parse(source)):
        name = ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
        if BANNED.fullmatch(name):
            found.append(name)
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [name for name in names if BANNED.fullmatch(name)]
        if isinstance(node, ast.Call):
            keywords = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if keywords.get("shell", "False") != "False":
                found.append("shell=True")
            if ast.unparse(node.func) == "torch.load" and keywords.get("weights_only") != "True":
                found.append("torch.load without weights_only=True")
    return found


def test_no_module_unpickles_or_evaluates_what_it_reads():
    """submitit hands jobs over by pickles of its own; they lie in a folder that only we write."""
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in sorted((ROOT / "repro").rglob("*.py"))
        for name in banned(path.read_text())
    }
    assert found == set(ARGUED)


@pytest.mark.parametrize(
    "source",
    ["eval(x)", "exec(x)", "pickle.load(f)", "from pickle import loads", "np.load(f)", "torch.load(f)",
     "torch.load(f, weights_only=False)", "subprocess.run(x, shell=True)", "yaml.load(x)",
     "os.system(x)", "yaml.unsafe_load(x)", "loader.exec_module(m)", "class A(pickle.Unpickler): 0"],
)  # fmt: skip
def test_the_search_finds(source):
    assert banned(source)


def test_the_search_lets_through_what_is_harmless():
    assert banned("model.eval()\njson.load(f)\nsubprocess.run(x, shell=False)\nre.compile(x)") == []
