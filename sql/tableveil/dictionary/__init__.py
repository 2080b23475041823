"""Dictionaries: per quasi-identifier its distinct values with codes, and at each level their labels and groups."""

from __future__ import annotations

from tableveil.dictionary.build import Dictionary, build_dictionary
from tableveil.dictionary.listed import listed_levels

__all__ = ["Dictionary", "build_dictionary", "listed_levels"]
