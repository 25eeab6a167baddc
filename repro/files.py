"""Files that are whole or absent: atomic writes, strict JSON, damaged files set aside."""

import contextlib
import gzip
import hashlib
import itertools
import json
import math
import os
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from types import FunctionType
from typing import Any

DIGITS = 20  # of the end of a ball, beyond those that its radius takes
LONGEST_INTEGER = 10**4000  # Python writes and reads no longer ones in decimal


class DamagedFile(ValueError):
    """A file that we wrote, or should have written, cannot be read back."""


def write_atomically(path: Path, content: str | bytes, *, lasting: bool = False) -> None:
    """Replace `path` in one step: readers see the old content or the new, never a part.

    Whatever ends this process; `lasting`: a power cut too. For that the disk is waited for, which
    hours of training are worth and a record of a test is not.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
        if lasting:
            sync_folder(path.parent)
    except BaseException as failure:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(failure, OSError) and failure.errno:  # a full disk names no file
            failure.filename = os.fspath(path)
            del failure.filename2  # of a rename; None would be told as a name
        raise


def sync_folder(folder: Path) -> None:
    """So that after a power cut the new name is there; not every file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def plain(value: Any) -> Any:
    """The same value in what JSON has; what JSON lacks (nan, rationals, paths) becomes a string.

    numpy and torch scalars are numbers, arrays and tensors are lists; a function is its name. A
    ball is its two ends, rounded outwards, so that a reader can decide again what it decided.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int):
        return int(value) if abs(value) < LONGEST_INTEGER else hex(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        return _plain_mapping(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, Fraction):
        over = "" if value.denominator == 1 else f"/{plain(value.denominator)}"
        return f"{plain(value.numerator)}{over}"
    if hasattr(value, "tolist"):  # numpy and torch
        listed = value.tolist()
        if type(listed) is not type(value):
            return plain(listed)
        if getattr(value, "dtype", None) is not None and value.dtype.kind == "f":
            return plain(float(value))  # numpy's long double is its own list
    if type(value).__name__ == "arb" and value.is_finite():
        return "[{}, {}]".format(*_ends(value))
    if isinstance(value, FunctionType):  # its str has an address, another one in every process
        return value.__name__
    return plain(str(value))


def _ends(ball: Any) -> Iterator[str]:
    """Of a ball, with as many digits as its radius leaves."""
    middle, radius = _dyadic(ball.mid()), _dyadic(ball.rad())
    share = middle / radius if radius else Fraction(1)
    bits = share.numerator.bit_length() - share.denominator.bit_length()
    digits = max(DIGITS, DIGITS + int(0.302 * bits))
    for end, rounding in ((middle - radius, ROUND_FLOOR), (middle + radius, ROUND_CEILING)):
        context = Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
        found = context.divide(Decimal(end.numerator), Decimal(end.denominator))
        yield str(found.normalize(context))


def _dyadic(exact: Any) -> Fraction:
    mantissa, exponent = map(int, exact.man_exp())
    return Fraction(mantissa << max(exponent, 0), 1 << max(-exponent, 0))


def _plain_mapping(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    named = {plain(str(key)): plain(item) for key, item in mapping.items()}
    if len(named) < len(mapping):
        raise ValueError(f"two keys read alike as text: {sorted(map(str, mapping))}")
    return named


def to_json(value: Any) -> str:
    return _text(plain(value))


def _text(value: Any) -> str:
    """Of a value that is plain already."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)


def write_json(path: Path, value: Any, *, lasting: bool = False) -> None:
    write_atomically(path, to_json(value) + "\n", lasting=lasting)


def write_sealed(
    path: Path, value: Mapping[str, Any], *, known: bool = False, lasting: bool = False
) -> None:
    """`write_json` of an object, with a checksum of all the rest; `known`: it is plain already.

    A path that ends in .gz is compressed, the same content to the same bytes.
    """
    value = value if known else plain(value)
    text = (_text({**value, "checksum": _checksum(value)}) + "\n").encode()
    packed = gzip.compress(text, mtime=0) if path.suffix == ".gz" else text
    write_atomically(path, packed, lasting=lasting)


def _checksum(value: Mapping[str, Any]) -> str:
    """Of a value that is plain, as all is that was read from a file."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def read_json(path: Path, *, schema: int | None = None, sealed: bool = False) -> dict[str, Any]:
    """An object from a JSON file, or DamagedFile with the reason, or FileNotFoundError.

    A checksum in it is compared, and not returned; `sealed`: there must be one.
    """
    if path.exists() and not path.is_file():  # reading a pipe or a device might never end
        raise DamagedFile(f"{path} is not a file")
    try:
        found = path.read_bytes()
        value = json.loads(gzip.decompress(found) if path.suffix == ".gz" else found)
        # neither nan nor infinity, nor half a character
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFile(f"{path} is not JSON of ours ({error})") from None
    if not isinstance(value, dict):
        raise DamagedFile(f"{path} does not hold an object")
    if schema is not None and (type(value.get("schema")), value.get("schema")) != (int, schema):
        raise DamagedFile(f"{path} has schema {value.get('schema')!r}, this version reads {schema}")
    seal = value.pop("checksum", None)
    if (sealed or seal is not None) and seal != _checksum(value):
        raise DamagedFile(f"{path} has changed: the checksum of {path.name} differs")
    return value


def set_aside(path: Path) -> Path:
    """Move a damaged file or folder out of the way, beside itself, and say where it went."""
    name = f"{path.name}.set-aside-{time.strftime('%Y%m%dT%H%M%S')}"
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    aside = next(one for one in map(path.with_name, names) if not one.exists())
    os.rename(path, aside)
    return aside


def put_away(path: Path, damage: DamagedFile, messages: list[str]) -> None:
    """Set a damaged file aside and say so in `messages`."""
    try:
        aside = set_aside(path)
    except FileNotFoundError:  # another process was quicker, and has said it
        return
    except OSError as error:
        messages.append(f"{damage}; it cannot be set aside ({error.strerror})")
        return
    messages.append(f"{damage}; set aside as {aside.name}")
