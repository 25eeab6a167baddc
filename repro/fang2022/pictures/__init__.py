"""The figures of fang2022's claims: they draw what they are given and measure nothing."""

from repro.lazy import submodules

__getattr__ = submodules(__name__)
