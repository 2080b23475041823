"""The effective k: how many rows of a class unchanged columns leave for somebody who knows quasi-identifiers."""
