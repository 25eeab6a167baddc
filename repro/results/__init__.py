"""What a run finds: types.py defines it, codec.py writes and reads it, differences.py compares."""
