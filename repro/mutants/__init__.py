"""Mutation testing: a green claim means something only if a wrong construction turns it red.

operators.py   small wrong changes of a source file
children.py    pytest in forked children, with one module changed and nothing on disk touched
sabotage.py    how a child gets the changed module
__main__.py    python -m repro.mutants: the mutants of one file against some tests
"""
