"""Every fast way timed against the plain one: `make bench`."""
