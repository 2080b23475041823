"""The release whose classes a policy uses again: whether it may, by what shows without reading rows."""

from tableveil.backend import Session
from tableveil.errors import Fault, TableveilError, shortened
from tableveil.lifecycle import require_public
from tableveil.pipelines.released_rows import current_release
from tableveil.policy import Policy


def check_known_classes(session: Session, policy: Policy) -> list[Fault]:
    """The faults of the release whose classes are used again, as the caller sees it."""
    number = policy.classes_of
    if number is None:
        return []
    field, hint = f"{policy.method.field}.classes_of", "Take a release of the same columns, or form all classes anew."
    try:
        release = current_release(session, number)
        require_public(release)
    except TableveilError as error:
        return [Fault(field, fault.found, fault.expected, fault.hint) for fault in error.faults]
    if any(attribute.aggregation for attribute in release.attributes):
        return [Fault(field, f"releases/{number}, whose values are aggregated", "a release of labels", hint)]
    wanted = {attribute.column for attribute in policy.quasi_identifiers}
    there = {attribute.column for attribute in release.attributes}
    if wanted != there:
        parts = (("the policy", wanted - there), (f"releases/{number}", there - wanted))
        differ = "; ".join(
            f"{', '.join(map(shortened, sorted(some)))} only in {where}" for where, some in parts if some
        )
        return [Fault(field, f"a release of other quasi-identifiers: {differ}", "the policy's quasi-identifiers", hint)]
    return []
