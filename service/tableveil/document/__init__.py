"""Policies as documents: YAML or JSON text to the proto message and back; the descriptor alone decides what fits."""

from tableveil.document.draft import to_commented_yaml
from tableveil.document.override import set_field
from tableveil.document.read import LARGEST_DOCUMENT, Syntax, load_policy, read_policy
from tableveil.document.write import to_document, to_yaml

__all__ = [
    "LARGEST_DOCUMENT",
    "Syntax",
    "load_policy",
    "read_policy",
    "set_field",
    "to_commented_yaml",
    "to_document",
    "to_yaml",
]
