"""Files: whole or absent, strict JSON whatever the values, damage told and set aside."""

import enum
import json
import math
import os
import stat
import time
from collections import OrderedDict
from fractions import Fraction
from pathlib import Path, PurePosixPath

import flint
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.files import (
    DamagedFile,
    plain,
    read_json,
    set_aside,
    to_json,
    write_atomically,
    write_json,
    write_sealed,
)

nan, inf = math.nan, math.inf


# --- writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["new é", b"new \xff\x00", ""], ids=["text", "bytes", "empty"])
def test_a_file_is_made_with_its_folders_and_replaced_as_a_whole(content, tmp_path):
    path = tmp_path / "a/b/file.txt"
    wanted = content if isinstance(content, bytes) else content.encode()
    for _ in range(2):
        write_atomically(path, content)
        assert path.read_bytes() == wanted
    assert [found.name for found in path.parent.iterdir()] == ["file.txt"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("step", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("before", [None, b"old"], ids=["new file", "old file"])
def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(
    step, error, before, tmp_path, monkeypatch
):
    path = tmp_path / "file.txt"
    if before is not None:
        path.write_bytes(before)

    def fails(*arguments):
        assert len(list(tmp_path.iterdir())) == 1 + (before is not None)  # the temporary is there
        raise error

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(type(error)) as told:
        write_atomically(path, "new", lasting=True)
    assert isinstance(error, KeyboardInterrupt) or str(path) in str(told.value)
    left = [found.read_bytes() for found in tmp_path.iterdir()]
    assert left == ([] if before is None else [before])


# --- plain values --------------------------------------------------------------------------------


class Size(enum.IntEnum):
    LARGE = 3


PLAIN = {
    "None": (None, None),
    "bool": (True, True),
    "int": (3, 3),
    "huge int": (10**400, 10**400),
    "int of an enumeration": (Size.LARGE, 3),
    "float": (0.1, 0.1),
    "nan": (nan, "nan"),
    "inf": (inf, "inf"),
    "text": ("é\n", "é\n"),
    "Path": (PurePosixPath("a/b"), "a/b"),
    "Fraction": (Fraction(1, 3), "1/3"),
    "fmpq": (flint.fmpq(1, 3), "1/3"),
    "polynomial": (flint.fmpq_poly([1, 2]), "2*x + 1"),
    "numpy float64": (np.float64(0.5), 0.5),
    "numpy nan": (np.float32("nan"), "nan"),
    "long double": (np.longdouble(0.5), 0.5),
    "file name that is no text": (Path(os.fsdecode(b"caf\xe9")), r"caf\udce9"),
    "numpy int": (np.int64(3), 3),
    "numpy bool": (np.True_, True),
    "numpy array": (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "numpy array with nan": (np.array([1.0, nan, -inf]), [1.0, "nan", "-inf"]),
    "numpy rationals": (np.array([flint.fmpq(1, 3), 2], dtype=object), ["1/3", 2]),
    "torch scalar": (torch.tensor(0.5), 0.5),
    "torch bfloat16": (torch.tensor(0.5, dtype=torch.bfloat16), 0.5),
    "torch with gradient": (torch.ones(2, requires_grad=True), [1.0, 1.0]),
    "tuple": ((1, (2.0, nan)), [1, [2.0, "nan"]]),
    "set": ({3, 1, 2}, [1, 2, 3]),
    "mapping": (OrderedDict(b=1, a=np.int8(2)), {"b": 1, "a": 2}),
    "keys": ({1: 1, None: 2, (3, 4): 3}, {"1": 1, "None": 2, "(3, 4)": 3}),
    "nested": ({"a": [{"b": (np.ones(1), {nan})}]}, {"a": [{"b": [[1.0], ["nan"]]}]}),
    "function": (json.dumps, "dumps"),
}


def types(value):
    """The types of a nested value: == alone would take True for 1, and numpy's numbers for ours."""
    if type(value) is dict:
        return {key: types(item) for key, item in value.items()}
    return [types(item) for item in value] if type(value) is list else type(value)


@pytest.mark.parametrize(("value", "wanted"), PLAIN.values(), ids=PLAIN)
def test_a_value_becomes_what_json_has(value, wanted):
    assert plain(value) == wanted
    assert types(plain(value)) == types(wanted)
    assert json.loads(to_json(value)) == wanted


leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.floats(width=32).map(np.float32)
    | st.text()
    | st.fractions()
    | st.integers(-100, 100).map(np.int16)
    | st.lists(st.floats()).map(np.array)
    | st.lists(st.floats(width=32)).map(torch.tensor)
    | st.complex_numbers()
    | st.binary()
)
keys = st.text() | st.integers() | st.floats() | st.none()
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.lists(st.tuples(keys, inner), unique_by=lambda pair: str(pair[0])).map(dict)
        | st.sets(st.floats() | st.text() | st.integers())
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(values)
def test_what_is_written_is_strict_json_and_reads_back_as_plain(value):
    text = to_json(value)
    text.encode()
    assert json.loads(text, parse_constant=pytest.fail) == plain(value)
    assert plain(plain(value)) == plain(value)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_exact_number_may_be_very_long(sign):
    """Python writes and reads at most 4300 decimal digits."""
    long = sign * (10**5000 + 7)
    assert int(json.loads(to_json(long)), 16) == long
    above, below = json.loads(to_json(Fraction(long, 3**9000))).split("/")
    assert Fraction(int(above, 16), int(below, 0)) == Fraction(long, 3**9000)
    assert json.loads(to_json(flint.fmpq(long, 3))).endswith("/3")


def test_keys_that_look_alike_do_not_swallow_each_other():
    with pytest.raises(ValueError, match="two keys read alike as text"):
        plain({1: "a", "1": "b"})


# --- reading -------------------------------------------------------------------------------------


def test_what_was_written_is_read(tmp_path):
    write_json(tmp_path / "a.json", {"schema": 1, "x": [inf, "é"]})
    assert read_json(tmp_path / "a.json", schema=1) == {"schema": 1, "x": ["inf", "é"]}
    write_sealed(tmp_path / "a.json", {"x": 1})
    assert read_json(tmp_path / "a.json", sealed=True) == {"x": 1}
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "b.json")


DAMAGE = {
    "truncated": (b'{"schema": 1, "x": [1, 2', "is not JSON"),
    "zeros": (b"\x00" * 64, "is not JSON"),
    "not UTF-8": (b'{"schema": 1, "x": "\xe9"}', "is not JSON"),
    "nan": (b'{"schema": 1, "x": NaN}', "is not JSON"),
    "nested too deep": (b"[" * 100_000, "is not JSON"),
    "a list": (b"[1]", "does not hold an object"),
    "no schema": (b"{}", "has schema None, this version reads 1"),
    "a newer schema": (b'{"schema": 2}', "has schema 2, this version reads 1"),
    "true for a schema": (b'{"schema": true}', "has schema True, this version reads 1"),
    "half a character": (b'{"schema": 1, "x": "\\ud800"}', "is not JSON"),
    "changed": (b'{"schema": 1, "checksum": "0"}', "has changed: the checksum"),
}


@pytest.mark.parametrize(("content", "says"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_told_with_the_name_of_the_file(content, says, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match=says) as caught:
        read_json(path, schema=1)
    assert str(caught.value).startswith(f"{path} ")
    assert path.read_bytes() == content


@pytest.mark.parametrize("folder", [False, True])
def test_setting_aside_never_overwrites(tmp_path, monkeypatch, folder):
    monkeypatch.setattr(time, "strftime", lambda *_: "20250101T000000")
    path = tmp_path / "a.json"
    asides = []
    for number in range(3):
        (path / "weights" if folder else path).parent.mkdir(exist_ok=True)
        (path / "weights" if folder else path).write_text(str(number))
        asides.append(set_aside(path))
        assert not path.exists()
    kept = [aside / "weights" if folder else aside for aside in asides]
    assert [aside.read_text() for aside in kept] == ["0", "1", "2"]
    assert {aside.name for aside in tmp_path.iterdir()} == {aside.name for aside in asides}
    assert not list(tmp_path.glob("*.json")), "none is taken for a record"


@pytest.mark.parametrize("exponent", [0, -60, 40, -4000, 4000])
@pytest.mark.parametrize("bits", [20, 53, 700])
def test_a_ball_is_written_by_its_ends_rounded_outwards(exponent, bits):
    """Whatever the precision is when it is written."""
    with flint.ctx.workprec(bits):
        ball = -flint.arb(2).sqrt() * flint.arb(2) ** exponent
        middle, radius = (_exactly(part) for part in (ball.mid(), ball.rad()))
    low, high = map(Fraction, plain(ball)[1:-1].split(", "))
    assert low <= middle - radius < middle + radius <= high
    assert high - low < radius * 2 * (1 + Fraction(1, 10**15))


def test_a_ball_of_radius_0_is_a_number_and_an_infinite_one_is_none():
    assert plain(flint.arb(-1.5)) == "[-1.5, -1.5]"
    low, high = map(Fraction, plain(flint.arb(0, 0.25))[1:-1].split(", "))
    assert -low == high
    assert 0 <= high - Fraction(1, 4) < Fraction(1, 10**8)
    assert plain([flint.arb(3)]) == ["[3, 3]"]
    assert "inf" in plain(flint.arb("inf"))


def _exactly(end):
    mantissa, exponent = map(int, end.man_exp())
    return mantissa * Fraction(2) ** exponent
