"""The pages of the workshop: a template beside the module that fills it, one style for all."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from repro.files import write_atomically


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True,
    lstrip_blocks=True, undefined=StrictUndefined,
)  # fmt: skip
ENVIRONMENT.filters["percent"] = percent


def write(path: Path, template: str, **values: Any) -> Path:
    write_atomically(path, ENVIRONMENT.get_template(template).render(**values))
    return path
