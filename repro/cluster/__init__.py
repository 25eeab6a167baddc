"""Make the trainings that claims need before the claims run: here, or as jobs of SLURM.

prefetch.py  python -m repro prefetch: list what is missing, have it made, list again
listing.py   the trainings that a run of pytest asks for and does not find in the store
job.py       one SLURM job: a pytest run that makes one training and survives pre-emption
queue.py     SLURM's queue, and a note in the store for each job that was submitted

Only SLURM jobs need submitit (`pip install 'attention-claims[cluster]'`).
"""
