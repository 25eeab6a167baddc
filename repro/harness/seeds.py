"""Seeds from names: the same numbers at any -n, in any order, after any renaming of files."""

import hashlib
import random
import sys


def seed_for(base: int, claim: str, stream: str = "") -> int:
    """A 63-bit seed for one stream of random numbers of one claim."""
    digest = hashlib.sha256(f"{base}:{claim}:{stream}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def seed_global_state(seed: int) -> None:
    """For code that draws from global generators, against the rule: the same numbers each time.

    Libraries that are not imported yet have no state to seed.
    """
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
