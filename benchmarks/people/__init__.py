"""Benchmarks of people who have several records."""
