"""The proof of a release in words: the optimum, or how far from it the release may be."""

from __future__ import annotations

from tableveil import wording
from tableveil.v1.release_service_pb2 import Release


def verdict(release: Release) -> str:
    """Whether anything that meets the policy loses less."""
    proof = release.proof
    if release.policy.HasField("microaggregation"):
        if proof.optimal:
            return "optimal: no clusters that are large enough have a lower squared error"
        return "not proven to be the best: no bound is known of the squared error of others"
    if release.policy.HasField("local_recoding") and not proof.optimal:
        if not proof.lower_bound:
            return "not proven to be the best: no bound is known of how much less others could lose"
        why = "not proven to be the best"
        return (
            f"{why}: no local recoding scores below {wording.score(proof.lower_bound)}, which is {_gap(release)} less"
        )
    if release.policy.HasField("differential_privacy"):
        return "not asked for: the levels do not tell which are the best, or were drawn"
    if proof.lattice_size == "1":
        return "the only transformation that the policy allows"
    if proof.optimal:
        return "optimal: nothing that meets the policy scores better"
    why = "stopped before the proof was complete"
    if release.policy.HasField("record_level"):
        why = "not proven to be the best against an adversary who knows the method"
    return f"{why}: nothing scores below {wording.score(proof.lower_bound)}, which is {_gap(release)} less"


def _gap(release: Release) -> str:
    """How much less than the score the bound is, as a share of the score."""
    return wording.share(release.proof.gap / release.score if release.score > 0 else 0.0)
