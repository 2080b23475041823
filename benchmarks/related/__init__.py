"""Benchmarks of people who are released with their events."""
