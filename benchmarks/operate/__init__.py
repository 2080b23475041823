"""The numbers of living with Tableveil: `python -m benchmarks --only operate`."""
