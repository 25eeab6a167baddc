"""Mutation testing: a green claim means something only if a wrong construction turns it red.

operators.py    small wrong changes of a source file
reach.py        which tests execute which lines
swap.py         a changed function, put into a process that has imported the file as it is
session.py      the mutants of one file: a pytest session that collects once, a fork for each
children.py     pytest in forked children; for what swap.py cannot do, with one module changed
sabotage.py     how such a child gets the changed module
run.py          all files, in parallel, and where it stopped last time
results.py      what became of each mutant
settings.py     what is left alone by rule
equivalents.py  mutants that change nothing, listed by hand
report.py       the page, artifacts/mutants.html
__main__.py     python -m tools.mutants
"""
