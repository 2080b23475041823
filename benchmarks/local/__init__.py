"""Local recoding: against plain constructions, with sensitive columns, and on large tables."""
