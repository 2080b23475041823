"""The numbers of the game: `python -m benchmarks --only game`."""
