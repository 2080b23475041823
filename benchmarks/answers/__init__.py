"""Answers to analysts' questions, against the source: `python -m benchmarks --only answers`."""
