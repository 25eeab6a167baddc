"""English and German sentences that say the same: LibreOffice's help, aligned by its own ids.

Both Debian packages hold the same tree of pages, and every paragraph has the same id in both. A
unit is a paragraph (path, tag, id) of both; it is kept if both sides fall into equally many
sentences. Pairs are cleaned, made unique on both sides, and put in the order of a hash of the
English sentence, so that parts for training and for tests depend on no order of files.

A narrow and templated kind of text: a BLEU score on it cannot be compared with one on WMT14.
"""

import hashlib
import html
import io
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

from repro.data import parallel

PACKAGES = {"en": "libreoffice-help-en-us", "de": "libreoffice-help-de"}

_PAGE = re.compile(r"help/(?:en-US|de)/(text/.+\.html)$")
_UNIT = re.compile(
    r"<(p|h[1-6]|td|li)\b[^>]*\bid=\"((?:par|hd)_id\w+)\"[^>]*>(.*?)</\1>", re.DOTALL
)
_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ])")
_FOREIGN = re.compile(r"[=<>{}\[\]_\\|#@]|https?:|www\.")
_HIDDEN = re.compile(r"switchinline|hidden=\"true\"")

Unit = tuple[str, str, str]  # page, tag, id
Pair = tuple[str, str]  # English, German


def units(package: Path) -> dict[Unit, str]:
    """The plain text of every unit of a Debian package, which dpkg-deb turns into a tar archive."""
    done = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, check=True
    )
    found: dict[Unit, str] = {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        for member in archive:
            match, page = _PAGE.search(member.name), archive.extractfile(member)
            if match and page:
                _, _, shown = page.read().decode().partition('id="DisplayArea"')
                for tag, id, inner in _UNIT.findall(shown):
                    if not _HIDDEN.search(inner):
                        found[match[1], tag, id] = plain(inner)
    return found


def plain(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def pairs(english: dict[Unit, str], german: dict[Unit, str]) -> list[Pair]:
    """Clean pairs of sentences, each sentence once, in the order of the hash of the English one."""
    candidates = {
        en: de
        for unit in sorted(english.keys() & german.keys())
        for en, de in reversed(list(_sentences(english[unit], german[unit])))
        if _clean(en, de)
    }
    ordered = sorted(candidates.items(), key=lambda pair: hashlib.sha1(pair[0].encode()).digest())
    return list({de: (en, de) for en, de in reversed(ordered)}.values())[::-1]


def _sentences(english: str, german: str) -> Iterator[Pair]:
    left, right = _END.split(english), _END.split(german)
    if len(left) == len(right):
        yield from zip(left, right, strict=True)


def _clean(english: str, german: str) -> bool:
    words = len(english.split()), len(german.split())
    return (
        english != german
        and all(3 <= count <= 50 for count in words)
        and 0.5 <= words[0] / words[1] <= 2
        and all(side[-1] in ".!?" and not _FOREIGN.search(side) for side in (english, german))
    )


def convert(packages: dict[str, Path], folder: Path) -> None:
    """Write all pairs as two parallel files, `folder`/all.en and all.de."""
    parallel.write(folder, "all", pairs(units(packages["en"]), units(packages["de"])))
