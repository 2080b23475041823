"""The search in a release's proof, of releases that come from one."""

from tableveil.state.releases import Release, Searched


def searched(release: Release) -> Searched:
    """What the search did."""
    assert release.proof.searched is not None
    return release.proof.searched
