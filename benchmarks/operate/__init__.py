"""The numbers of daily operation: `python -m benchmarks --only operate`."""
