"""Releases: checked against the database, written in one transaction, verified by other code, then looked for."""

from tableveil.release.approval import check_pending, decide
from tableveil.release.disclosure import check_disclosure
from tableveil.release.erase import Erased, erase
from tableveil.release.ledger import check_ledger, check_readers, releases_of_same_people
from tableveil.release.own_levels import check_one_meaning, mixed_levels
from tableveil.release.plan import ReleasePlan
from tableveil.release.publish import Evidence, publish, rehearse, writing
from tableveil.release.standing import place_of, require_current, require_here, require_public
from tableveil.release.swap import recover
from tableveil.release.target import check_existing, check_target
from tableveil.release.together import JointFigures, find_earlier, joint_figures, shown_releases
from tableveil.release.withdraw import withdraw

__all__ = [
    "Erased",
    "Evidence",
    "JointFigures",
    "ReleasePlan",
    "check_disclosure",
    "check_existing",
    "check_ledger",
    "check_one_meaning",
    "check_pending",
    "check_readers",
    "check_target",
    "decide",
    "erase",
    "find_earlier",
    "joint_figures",
    "mixed_levels",
    "place_of",
    "publish",
    "recover",
    "rehearse",
    "releases_of_same_people",
    "require_current",
    "require_here",
    "require_public",
    "shown_releases",
    "withdraw",
    "writing",
]
