import numpy as np
import pytest
from demo import demo  # noqa: F401  (a fixture)


def approx(expected, rel=None, abs=None, nan_ok=False):
    """pytest's own, unless its default abs=1e-12 is a good part of the number: that cannot fail."""
    found = np.asarray(expected) if not isinstance(expected, dict) else np.asarray([0.0])
    sizes = np.abs(found[found != 0].astype(float)) if found.dtype.kind in "fi" else np.ones(1)
    if abs is None and sizes.size and sizes.max() < 1e-10:
        raise ValueError(f"approx({expected}, rel={rel}): anything within 1e-12 passes; say abs=0")
    return APPROX(expected, rel=rel, abs=abs, nan_ok=nan_ok)


APPROX, pytest.approx = pytest.approx, approx


def pytest_collection_modifyitems(items):
    """The one test that takes minutes begins first: at the end the other workers would wait."""
    items.sort(key=lambda item: item.path.name != "test_same_numbers.py")
