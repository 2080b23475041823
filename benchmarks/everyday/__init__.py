"""Everyday jobs: their statements and CPU seconds, by phase."""
