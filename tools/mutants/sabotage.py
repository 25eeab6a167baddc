"""Loaded by `pytest -p`, after pytest's own import hook: the changed module is found first."""

import sys

from tools.mutants import children

if children.current is not None:
    sys.meta_path.insert(0, children.current)
