"""Mutation testing: a green claim means something only if a wrong construction turns it red.

operators.py    small wrong changes of a source file
reach.py        which tests execute which lines
swap.py         a changed function, put into a process that has imported the file as it is
session.py      the mutants of one file: a pytest session that collects once, a fork for each
children.py     pytest in forked children; for what swap.py cannot do, with one module changed
sabotage.py     how such a child gets the changed module
run.py          all files, in parallel, and where it stopped last time
results.py      what became of each mutant
equivalents.py  mutants that are no mistakes, listed by hand
report.py       docs/mutants.md and the page
__main__.py     python -m tools.mutants
"""
