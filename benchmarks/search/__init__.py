"""The numbers of the search: `python -m benchmarks --only search`."""
