"""Make the trainings that claims need before the claims run: here, or as jobs of SLURM.

prefetch.py  python -m repro prefetch: list what is missing, have it made, list again
slurm.py     SLURM jobs, each a pytest run that makes one training and survives pre-emption

Only SLURM jobs need submitit (`pip install 'attention-claims[cluster]'`).
"""
