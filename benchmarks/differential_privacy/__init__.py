"""The loss of differentially private releases: `python -m benchmarks --only differential-privacy`."""
