"""Columns that say more of a person than the labels do: values given away, rows left over, accidents."""

from tableveil.disclosure.determined import check_disclosure

__all__ = ["check_disclosure"]
