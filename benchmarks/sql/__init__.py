"""The endpoint, by a client that is not ours: `python -m benchmarks --only sql`."""
