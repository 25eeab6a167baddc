"""Files of weights: what is read, and what is refused before anything is built or run."""

import subprocess
from collections import OrderedDict

import pytest
import torch
from safetensors.torch import save_file

from repro.data import weights
from repro.data.errors import BadData

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(4, dtype=torch.float16)}
SHAPES = {"a": (2, 3), "b": (4,)}


@pytest.mark.parametrize("name", ["w.safetensors", "w.pth"])
def test_both_formats_give_the_same_tensors(tmp_path, name):
    file = tmp_path / name
    save = save_file if file.suffix == ".safetensors" else torch.save
    save({**TENSORS, "more": torch.zeros(1)}, file)
    found = weights.checked(file, weights.load(file), SHAPES)
    assert list(found) == ["a", "b"]  # what else there is has no place in the model
    for key, tensor in TENSORS.items():
        assert found[key].dtype == torch.float32
        torch.testing.assert_close(found[key], tensor.float(), rtol=0, atol=0)


def test_a_state_dict_is_ordered_and_still_plain(tmp_path):
    torch.save(OrderedDict(TENSORS), tmp_path / "w.pth")
    assert set(weights.load(tmp_path / "w.pth")) == {"a", "b"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"a": torch.zeros(3, 2)}, r"expected 'a' of shape \(2, 3\), found \(3, 2\)$"),
        ({"b": torch.zeros(5)}, r"expected 'b' of shape \(4,\), found \(5,\) \(a longer one\)$"),
        ({"b": None}, r"expected a tensor 'b' of shape \(4,\), there is none"),
        ({"a": torch.full((2, 3), torch.nan)}, r"expected finite numbers in 'a', some are not"),
    ],
    ids=["shape", "shape with a reason", "missing", "not a number"],
)
def test_what_does_not_fit_is_named(tmp_path, change, says):
    found = {k: v for k, v in {**TENSORS, **change}.items() if v is not None}
    file = tmp_path / "w.safetensors"
    with pytest.raises(BadData, match=rf"w\.safetensors: {says}"):
        weights.checked(file, found, SHAPES, {"b": "a longer one"})


class Evil:
    def __reduce__(self):
        return subprocess.check_call, (["touch", "evil"],)


class Net(torch.nn.Module):
    pass


@pytest.mark.parametrize(
    "content",
    [Evil(), {"a": torch.ones(1), "b": Evil()}, Net(), {"state_dict": TENSORS}, [torch.ones(1)]],
    ids=["code", "code among tensors", "module", "nested", "list"],
)
def test_a_pickle_that_holds_more_than_tensors_is_refused_and_not_run(
    tmp_path, content, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    torch.save(content, tmp_path / "w.pth")
    with pytest.raises(BadData, match=r"w\.pth: expected a state_dict"):
        weights.load(tmp_path / "w.pth")
    assert [path.name for path in tmp_path.iterdir()] == ["w.pth"]


@pytest.mark.parametrize("name", ["w.safetensors", "w.pth"])
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99])
def test_a_truncated_file_is_refused(tmp_path, name, kept):
    file = tmp_path / name
    (save_file if file.suffix == ".safetensors" else torch.save)(TENSORS, file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(BadData, match=rf"{name}: expected a (whole safetensors|state_dict)"):
        weights.load(file)


@pytest.mark.parametrize("name", ["w.safetensors", "w.pth"])
def test_a_file_that_is_not_there_is_named(tmp_path, name):
    with pytest.raises(BadData, match=rf"{name}: expected a file of weights here"):
        weights.load(tmp_path / name)
