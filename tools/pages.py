"""The pages of the workshop: a template beside the module that fills it, one style for all."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from repro.files import write_atomically

ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True,
    lstrip_blocks=True, undefined=StrictUndefined,
)  # fmt: skip


def write(path: Path, template: str, **values: Any) -> Path:
    write_atomically(path, ENVIRONMENT.get_template(template).render(**values))
    return path
