"""The numbers of the privacy models: `python -m benchmarks --only privacy`."""
