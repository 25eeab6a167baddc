"""Common rooms: rates, exact arithmetic, bounds on rounding. Knows no paper and no pytest."""

from repro.lazy import submodules

__getattr__ = submodules(__name__)
