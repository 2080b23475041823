"""Columns that say more of a person than the labels do: values given away, rows left over, accidents."""
