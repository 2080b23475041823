"""What Tableveil is measured by: `python -m benchmarks` for the numbers, `benchmarks/reference.py` for known optima."""
