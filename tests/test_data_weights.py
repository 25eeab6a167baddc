"""Files of weights: what is read, and what is refused before anything is built or run."""

import subprocess

import pytest
import torch
from safetensors.torch import save_file

from repro.data import weights
from repro.data.errors import BadData

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(4, dtype=torch.float16)}
SHAPES = {"a": (2, 3), "b": (4,)}
SAVE = {"w.safetensors": save_file, "w.pth": torch.save}


@pytest.mark.parametrize("name", SAVE)
def test_both_formats_give_the_same_tensors(tmp_path, name):
    file = tmp_path / name
    SAVE[name]({**TENSORS, "more": torch.zeros(1)}, file)
    found = weights.checked(file, weights.load(file), SHAPES)
    assert list(found) == ["a", "b"]  # what else there is has no place in the model
    for key, tensor in TENSORS.items():
        torch.testing.assert_close(found[key], tensor.float(), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"b": torch.zeros(5)}, r"expected 'b' of shape \(4,\), found \(5,\)"),
        ({"b": None}, r"expected a tensor 'b' of shape \(4,\), there is none"),
        ({"a": torch.full((2, 3), torch.nan)}, r"expected finite numbers in 'a', some are not"),
    ],
    ids=["shape", "missing", "not a number"],
)
def test_what_does_not_fit_is_named(tmp_path, change, says):
    found = {k: v for k, v in {**TENSORS, **change}.items() if v is not None}
    file = tmp_path / "w.safetensors"
    with pytest.raises(BadData, match=rf"w\.safetensors: {says}"):
        weights.checked(file, found, SHAPES)


class Evil:
    def __reduce__(self):
        return subprocess.check_call, (["touch", "evil"],)


@pytest.mark.parametrize("content", [{"a": torch.ones(1), "b": Evil()}, {"state_dict": TENSORS}])
def test_a_pickle_that_holds_more_than_tensors_is_refused_and_not_run(
    tmp_path, content, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    torch.save(content, tmp_path / "w.pth")
    with pytest.raises(BadData, match=r"w\.pth: expected a state_dict"):
        weights.load(tmp_path / "w.pth")
    assert [path.name for path in tmp_path.iterdir()] == ["w.pth"]


@pytest.mark.parametrize("name", SAVE)
def test_a_file_that_was_cut_or_is_not_there_is_named(tmp_path, name):
    with pytest.raises(BadData, match=rf"{name}: expected a file of weights here"):
        weights.load(tmp_path / name)
    SAVE[name](TENSORS, tmp_path / name)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-20])
    with pytest.raises(BadData, match=rf"{name}: expected a (whole safetensors|state_dict)"):
        weights.load(tmp_path / name)
