"""The journeys of people who use Tableveil, played on files that are made anew: `python -m benchmarks.journeys`."""
