"""Privacy models: which equivalence classes may be released."""

from tableveil.privacy.conjunction import Conjunction, privacy_of
from tableveil.privacy.model import ReleaseRule

__all__ = ["Conjunction", "ReleaseRule", "privacy_of"]
