"""The pytest plugin that runs claims and writes down what they found.

`plugin` holds the hooks and nothing else; everything they call is a plain module that can be read,
and tested, without pytest in mind. The harness knows claims only through the ledger and the result
files; another project uses it by defining `pytest_claims_project` in its conftest.py.
"""

from repro.harness.project import Project

__all__ = ["Project"]
