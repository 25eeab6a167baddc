"""What a run of all claims costs, and on what claims spend it: see `python -m tools.costs`."""
