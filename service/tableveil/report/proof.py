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
        return "good clusters, but not proven to be the best"
    if release.policy.HasField("local_recoding") and not proof.optimal:
        if not proof.lower_bound:
            return "good classes; no bound is known for how much less could be lost"
        return f"good classes: no local recoding scores below {wording.score(proof.lower_bound)}"
    if release.policy.HasField("differential_privacy"):
        return "not asked for: the levels do not tell which are the best, or were drawn"
    if proof.lattice_size == "1":
        return "the only transformation that the policy allows"
    if proof.optimal:
        return "optimal: nothing that meets the policy scores better"
    part = f" ({wording.share(proof.gap / release.score)})" if release.score > 0 else ""
    bound, gap = wording.score(proof.lower_bound), wording.score(proof.gap)
    why = "stopped before the proof was complete"
    if release.policy.HasField("record_level"):
        why = "good against an adversary who knows the method, but not proven to be the best"
    return f"{why}: nothing scores below {bound}, {gap}{part} less"
