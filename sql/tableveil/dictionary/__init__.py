"""Dictionaries: the distinct values of quasi-identifiers and sensitive columns with codes, labels and groups."""

from __future__ import annotations

from tableveil.dictionary.build import Dictionary, build_dictionary
from tableveil.dictionary.listed import listed_levels
from tableveil.dictionary.sensitive import SensitiveDictionary, build_sensitive

__all__ = ["Dictionary", "SensitiveDictionary", "build_dictionary", "build_sensitive", "listed_levels"]
