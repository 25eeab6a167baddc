"""What was seen when runs were disturbed: rows kept by the tests, tables in docs/reliability.md.

A test marked `reliability` calls `keep` once for every row that it has observed; each row is a file
of its own, since several processes write them. `make reliability` runs these tests at full size
(FULL) and then this module, which gathers the rows in artifacts/reference/reliability.json and
puts them into the page, between <!-- rows: SECTION --> and <!-- end -->; `SECTION, by A and B` shows
the sums over rows with the same A and B, `, with total` adds a row of sums. `make test` runs the same tests at small sizes; their rows go elsewhere and are not
shown.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

from repro import files

FULL = os.environ.get("RELIABILITY") == "full"
ROOT = Path(__file__).parent.parent
ROWS = ROOT / "artifacts" / ("reliability" if FULL else "reliability-small")
GATHERED = ROOT / "artifacts/reference/reliability.json"
PAGE = ROOT / "docs/reliability.md"
PLACE = re.compile(
    r"(?P<begin><!-- rows: (?P<section>[a-z0-9.-]+)(, by (?P<by>[a-z_]+( and [a-z_]+)*))?"
    r"(?P<total>, with total)? -->\n).*?(?P<end><!-- end -->)",
    flags=re.S,
)

Row = dict[str, Any]


def keep(section: str, name: str, **cells: Any) -> None:
    """One row of the table `section`; rows stand in the order of their names, `name` is not shown.

    The names of the cells are the heads of the columns, the same in every row of a section.
    """
    for word in (section, name):
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", word):
            raise ValueError(f"{word!r} is to name a file: small letters, digits, '.' and '-'")
    files.write_json(ROWS / section / f"{name}.json", cells)


def gather(folder: Path) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for path in sorted(folder.glob("*/*.json")):
        found.setdefault(path.parent.name, []).append(files.read_json(path))
    return found


def filled(page: str, rows: dict[str, list[Row]]) -> str:
    """The page with all its tables made anew from the rows; none may lack, none be left over."""
    places = [match["section"] for match in PLACE.finditer(page)]
    if sorted(places) != sorted(rows):
        raise ValueError(f"the page has places for {sorted(places)}, rows are of {sorted(rows)}")

    def fill(place: re.Match[str]) -> str:
        found = rows[place["section"]]
        found = grouped(found, place["by"].split(" and ")) if place["by"] else found
        shown = [*found, total(found)] if place["total"] else found
        return place["begin"] + table(shown) + place["end"]

    return PLACE.sub(fill, page)


def total(rows: list[Row]) -> Row:
    return {**dict.fromkeys(rows[0], ""), next(iter(rows[0])): "all", **_sums(rows)}


def grouped(rows: list[Row], keys: list[str]) -> list[Row]:
    """One row for all that have the same `keys`: these, and the sums of what is a number."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [dict(zip(keys, values, strict=True)) | _sums(some) for values, some in groups.items()]


def _sums(rows: list[Row]) -> Row:
    return {key: sum(row[key] for row in rows) for key, cell in rows[0].items() if _is_number(cell)}


def table(rows: list[Row]) -> str:
    columns = list(rows[0])
    for row in rows:
        if list(row) != columns:
            raise ValueError(f"columns {columns} and {list(row)} in one table")
    heads = [column.replace("_", " ") for column in columns]
    rule = ["---:" if _is_number(rows[0][column]) else "---" for column in columns]
    cells = [[_cell(row[column]) for column in columns] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in (heads, rule, *cells))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return re.sub(r"\s+", " ", str(value).replace("|", "\\|"))


def main() -> int:
    rows = gather(ROOT / "artifacts/reliability")
    page = filled(PAGE.read_text(), rows)
    files.write_json(GATHERED, rows)
    files.write_atomically(PAGE, page)
    for section, found in rows.items():
        print(f"{section}\n{table(found)}")
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
