"""Measures Tableveil: `python -m benchmarks` prints the numbers, `benchmarks/reference.py` checks known optima."""
