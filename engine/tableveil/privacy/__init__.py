"""Privacy models: which equivalence classes may be released."""

from tableveil.privacy.conjunction import Conjunction, privacy_of
from tableveil.privacy.facts import Facts
from tableveil.privacy.model import ReleaseRule

__all__ = ["Conjunction", "Facts", "ReleaseRule", "privacy_of"]
