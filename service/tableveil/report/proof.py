"""The proof of a release in words: the optimum, or how far from it the release may be."""

from tableveil import wording
from tableveil.v1.release_service_pb2 import Release
from tableveil.wording.methods import method_words


def verdict(release: Release) -> str:
    """Whether anything that meets the policy loses less."""
    proof, words = release.proof, method_words(release.policy)
    if words.verdict:
        return words.verdict
    if not proof.optimal and words.unbounded and not (words.others and proof.lower_bound):
        return words.unbounded
    if proof.lattice_size == "1" and (proof.optimal or not words.unbounded):
        return "the only transformation that the policy allows"
    if proof.optimal:
        return words.optimal
    bound = wording.score(proof.lower_bound)
    return f"{words.unproven}: {words.others} scores below {bound}, which is {_gap(release)} less"


def _gap(release: Release) -> str:
    """How much less than the score the bound is, as a share of the score."""
    return wording.share(release.proof.gap / release.score if release.score > 0 else 0.0)
