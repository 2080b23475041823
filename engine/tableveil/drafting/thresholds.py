"""The k that a draft proposes, and the rule behind it."""

from dataclasses import dataclass

USUAL_K = 5
HEALTH_K = 11


@dataclass(frozen=True, slots=True)
class ProposedK:
    """A k with its reason, a sentence for the owner of the table."""

    k: int
    reason: str


def propose_k(health: bool) -> ProposedK:
    """11 if a column holds health data, else 5.

    It does not depend on the table's risk: k states which risk is acceptable.
    """
    if health:
        reason = (
            "Health data: 11 is the least cell that the US Centers for Medicare & Medicaid Services let be published "
            "(cell size suppression policy); 5 is usual elsewhere."
        )
        return ProposedK(HEALTH_K, reason)
    reason = (
        "5 is a usual choice: nobody is found with a probability above 1/5. Take more where harm is great, or where "
        "everyone gets the release."
    )
    return ProposedK(USUAL_K, reason)
