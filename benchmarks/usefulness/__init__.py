"""The use that analysts have of releases by each method: `python -m benchmarks --only usefulness`."""
