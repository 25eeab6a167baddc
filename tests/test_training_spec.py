"""The key of a training: equal if and only if the specs are, to the last bit."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from repro.training import SGD, Adam, Spec, key
from repro.training.spec import context_of, identity

HERE = {"device": "cpu", "torch": "2.13"}


@dataclass(frozen=True)
class Free(Spec):
    kind: ClassVar[str] = "free"
    version: ClassVar[int] = 1
    value: Any = None


@dataclass(frozen=True)
class Pair:
    a: Any = None
    b: Any = None


@dataclass(frozen=True)
class Twin:
    a: Any = None
    b: Any = None


@dataclass
class Thawed:
    a: int = 0


class Undecorated(Pair):
    c: int = 0


# A few leaves that look alike, so that equal pairs and near misses both come up often.
ALIKE = [0, 0.0, -0.0, False, None, (), "", "0", "null", "[]", 1, 1.0, True, "1", "true", "é"]  # fmt: skip
leaves = (
    st.sampled_from(ALIKE)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=2).map(tuple)
        | st.builds(Pair, inner, inner)
        | st.builds(Twin, inner, inner)
    ),
    max_leaves=4,
)


@settings(deadline=None)
@given(values, values)
@example(0.0, -0.0)
@example(1, 1.0)
@example(1, True)
@example(SGD(lr=0.1), Adam(lr=0.1))
@example(Pair(1, 2), Twin(1, 2))
@example((1, (2,)), (1, 2))
@example("[1]", (1,))
def test_two_specs_share_a_key_only_if_they_are_the_same_to_the_last_bit(left, right):
    assert (key(Free(left), HERE) == key(Free(right), HERE)) == (repr(left) == repr(right))


def test_the_key_is_the_same_in_every_process_and_from_now_on():
    """Typed in, also checked with sha256sum: were it to change, every store would be void."""
    spec = Free((1, 2.5, "ü", None, True, Pair(-0.0, Twin())))
    assert identity(spec, HERE).endswith(
        '"spec":{"class":"Free","value":[1,2.5,"\\u00fc",null,true,'
        '{"a":-0.0,"b":{"a":null,"b":null,"class":"Twin"},"class":"Pair"}]},"version":1}'
    )
    assert key(spec, HERE) == "68f095cc7da5cb64a181"


def test_kind_version_and_context_are_in_the_key():
    @dataclass(frozen=True)
    class Later(Free):
        version: ClassVar[int] = 2

    @dataclass(frozen=True)
    class Other(Free):
        kind: ClassVar[str] = "other"

    for cls in (Later, Other):
        cls.__name__ = "Free"
    contexts = [HERE, {**HERE, "device": "cuda"}, {**HERE, "torch": "2.14"}]
    assert len({key(cls(), context) for cls in (Free, Later, Other) for context in contexts}) == 9
    assert context_of("cuda:1")["device"] == "cuda"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], r"Free.value = \[1\] is a builtins.list"),
        ({"a": 1}, "builtins.dict"),
        (math.nan, "Free.value = nan"),
        (math.inf, "Free.value = inf"),
        (np.float64(1), "numpy.float64"),
        ((0, Pair(b=(1, {2}))), r"Free.value\[1\].b\[1\] = \{2\} is a builtins.set"),
        (Thawed(), "Thawed needs a @dataclass"),
        (Undecorated(), "Undecorated needs a @dataclass"),
        (Pair, "builtins.type"),
    ],
    ids=str,
)
def test_a_field_that_cannot_be_part_of_a_key_is_refused_by_name(value, message):
    with pytest.raises(TypeError, match=message):
        Free(value)
