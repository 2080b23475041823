"""Policies as documents: YAML or JSON text to the proto message and back; the descriptor alone decides what fits."""

from tableveil.document.draft import to_commented_yaml
from tableveil.document.override import set_field
from tableveil.document.read import LARGEST_DOCUMENT, Syntax, load_policy, read_policy
from tableveil.document.write import to_document, to_yaml

# Strict checkers take a name from a package only where it is listed; programs use these.
__all__ = ["load_policy", "read_policy", "to_document", "to_yaml"]
