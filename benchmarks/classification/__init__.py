"""The numbers of data that classifiers are trained on: `python -m benchmarks --only classification`."""
