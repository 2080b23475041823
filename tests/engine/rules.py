"""Privacy rules that need no counter to be made."""

from tableveil.policy import KAnonymity
from tableveil.privacy import Conjunction
from tableveil.privacy.k_anonymity import KAnonymityRule


def k_anonymity(k: int) -> Conjunction:
    """k-anonymity alone."""
    return Conjunction((KAnonymityRule(KAnonymity(k)),))
