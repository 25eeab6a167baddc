"""The workshop: what we use to test and time the project. Not in the wheel."""
