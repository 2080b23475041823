"""The cost of the doors (tokens, TLS, the audit, fair use): `python -m benchmarks --only doors`."""
