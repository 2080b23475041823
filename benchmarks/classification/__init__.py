"""The numbers of classifiers that are trained on releases: `python -m benchmarks --only classification`."""
