"""A training is a frozen dataclass; its key is a hash of everything that decides the result.

Two specs share a key exactly if they have the same kind and version and the same fields, value
and type alike: 1, 1.0 and True are three specs, and so are 0.0 and -0.0, which a training may tell
apart. A nested dataclass carries the name of its class: SGD(lr=0.1) is not Adam(lr=0.1).

Not in the key: the source of the training code (the store says when it differs) and the modules
that classes live in. When the code changes meaning, raise `version` by hand.
"""

import dataclasses
import hashlib
import importlib.metadata
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Spec:
    """Base of all specs.

    Fields may be int, finite float, str, bool, None, and tuples and frozen dataclasses of these.
    """

    kind: ClassVar[str]  # it names a folder of the store
    version: ClassVar[int]

    def __post_init__(self) -> None:
        _plain(self, type(self).__name__)  # a bad field fails here, not where it is trained


def identity(spec: Spec, context: Mapping[str, str]) -> str:
    """The text whose hash is the key, the same in every process."""
    about = {"kind": spec.kind, "version": spec.version, "context": dict(context)}
    return dump({**about, "spec": _plain(spec, type(spec).__name__)})


def key(spec: Spec, context: Mapping[str, str]) -> str:
    """20 hex digits: the name of this training in the store."""
    return hashlib.sha256(identity(spec, context).encode()).hexdigest()[:20]


def context_of(device: str) -> dict[str, str]:
    """What changes results but is not the spec's to choose: class of device, torch's minor version.

    No dtype: a training that has a choice of dtype has a field for it.
    """
    return {"device": device.split(":")[0], "torch": minor(importlib.metadata.version("torch"))}


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def dump(value: Any) -> str:
    """JSON in one form: sorted keys, no spaces, floats by repr. 1 and 1.0 stay apart."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(value: Any, name: str) -> Any:
    """`value` in what JSON has, or TypeError that names the field.

    Types are exact: np.float64 is not float, though it inherits from it.
    """
    cls = type(value)
    if value is None or cls in (bool, int, str) or (cls is float and math.isfinite(value)):
        return value
    if cls is tuple:
        return [_plain(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if dataclasses.is_dataclass(cls):
        own = vars(cls).get("__dataclass_params__")  # if inherited, it has fields of its own
        if own is None or not own.frozen:
            raise TypeError(f"{name}: {cls.__name__} needs a @dataclass(frozen=True) of its own")
        fields = dataclasses.fields(value)
        content = {f.name: _plain(getattr(value, f.name), f"{name}.{f.name}") for f in fields}
        return {"class": cls.__name__, **content}  # no field can have this name: it is a keyword
    raise TypeError(
        f"{name} = {value!r} is a {cls.__module__}.{cls.__qualname__}; a spec is made of "
        "int, finite float, str, bool, None, tuples and frozen dataclasses"
    )
