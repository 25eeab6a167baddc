"""The classes of types.py as JSON, and back. The only place where the two meet."""

import contextlib
import dataclasses
import functools
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from repro import files
from repro.files import DamagedFile
from repro.results.earlier import upgraded, without_retired
from repro.results.types import SCHEMA, Results

T = TypeVar("T")


def write(path: Path, value: Any) -> None:
    """Atomically, with the schema and a checksum of all the rest."""
    files.write_sealed(path, {"schema": SCHEMA, **encode(value)}, known=True)


class OlderSchema(DamagedFile):
    """A file that an earlier version wrote: sound, and measured anew by the next run."""


def read(kind: type[T], path: Path) -> T:
    """A file that `write` made: DamagedFile says what is wrong with it."""
    found = files.read_json(path, sealed=True)
    check_schema(found.pop("schema", None), path)
    return decode(kind, found, str(path))


def check_schema(schema: Any, path: Path) -> None:
    if schema != SCHEMA:
        older = type(schema) is int and 0 < schema < SCHEMA
        told = f"{path} has schema {schema!r}, this version reads {SCHEMA}"
        raise (OlderSchema if older else DamagedFile)(told)


def read_results(path: Path) -> Results:
    """A results.json of this schema or the one before; a checksum, if it has one, is compared."""
    found = files.read_json(path)
    schema = found.pop("schema", None)
    if schema not in (1, SCHEMA):
        raise DamagedFile(f"{path} has schema {schema!r}, this version reads 1 and {SCHEMA}")
    if isinstance(found.get("claims"), list):
        found = without_retired(upgraded(found) if schema == 1 else found)
    return decode(Results, found, str(path))


def encode(value: Any) -> Any:
    """Plain values of JSON; what JSON lacks becomes a string (files.plain)."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: encode(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    return files.plain(value)


def decode(kind: Any, value: Any, where: str) -> Any:
    """`value`, read from JSON, as a `kind`; DamagedFile names the place that is none."""
    if kind is Any:
        return value
    if dataclasses.is_dataclass(kind):
        return _object(kind, value, where)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _first_that_fits([one for one in arguments if one is not type(None)], value, where)
    if origin in (list, tuple):
        items = _checked(list, value, where)
        many = [decode(arguments[0], item, f"{where}[{k}]") for k, item in enumerate(items)]
        return tuple(many) if origin is tuple else many
    if origin is dict:
        pairs = _checked(dict, value, where).items()
        return {key: decode(arguments[1], item, f"{where}.{key}") for key, item in pairs}
    if kind is float and type(value) is int:
        return float(value)
    return _checked(kind, value, where)


def _object(kind: Any, value: Any, where: str) -> Any:
    given, known = _checked(dict, value, where), _fields(kind)
    if unknown := given.keys() - known.keys():
        raise DamagedFile(f"{where}: {min(unknown)!r} is no field of {kind.__name__}")
    decoded = {name: decode(known[name], item, f"{where}.{name}") for name, item in given.items()}
    try:
        return kind(**decoded)
    except (TypeError, ValueError) as error:  # a field is missing, or says what it may not
        raise DamagedFile(f"{where}: {error}") from None


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in dataclasses.fields(kind)}


def _first_that_fits(kinds: list[Any], value: Any, where: str) -> Any:
    for kind in kinds[:-1]:
        with contextlib.suppress(DamagedFile):
            return decode(kind, value, where)
    return decode(kinds[-1], value, where)


def _checked(kind: type[T], value: Any, where: str) -> T:
    if type(value) is not kind:
        raise DamagedFile(f"{where}: must be {kind.__name__}, found {type(value).__name__}")
    return value
