"""Seeds from names: the same numbers at any -n, in any order, after any renaming of files."""

import hashlib


def seed_for(base: int, claim: str, stream: str = "") -> int:
    """A 63-bit seed for one stream of random numbers of one claim."""
    digest = hashlib.sha256(f"{base}:{claim}:{stream}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
