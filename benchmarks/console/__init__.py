"""Times and weights of the console's pages, alone and beside a job: `python -m benchmarks.console`."""
