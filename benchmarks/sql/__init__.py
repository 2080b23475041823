"""The endpoint, by a client that is not ours, and publishing: `python -m benchmarks --only sql`."""
