"""Runs that are killed, starved or fed nonsense: `make reliability`."""
