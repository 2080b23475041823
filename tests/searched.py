"""The search in a release's proof, of releases that come from one."""

from tableveil.state.releases import Release, Searched


def searched(release: Release) -> Searched:
    """The evidence of the search."""
    assert release.proof.searched is not None
    return release.proof.searched
