"""The capabilities of Spark, and the refusal of all else by the name of its field."""

from __future__ import annotations

from collections.abc import Iterator

from tableveil.errors import Fault
from tableveil.policy import Policy, ReleaseKind, methods_of

_INSTEAD = (
    "Leave it out, or load the table into the server's own database "
    "(docs/explanations/scale.md has a table of what works)."
)


def unsupported(policy: Policy) -> list[Fault]:
    """A fault for each wish of a policy that needs more of its rows than counts."""
    return list(_faults(policy))


def _faults(policy: Policy) -> Iterator[Fault]:
    for method in methods_of(policy):
        if not method.warehouses:
            actual, expected = f"{method.called}, which Spark does not support", "labels of hierarchies"
            yield from (Fault(field, actual, expected, _INSTEAD) for field in method.fields(policy))
    if policy.source_query:
        hint = "Name a view: Spark reads it as it reads tables."
        yield Fault("source_query", "a query", "a table or view of the warehouse", hint)
    if policy.person_column is not None and not policy.no_person_digests:
        hint = "Digests of people are kept in the server's own database, one for each row."
        yield Fault("no_person_digests", "false", "true over tables in Spark", hint)
    for i, attribute in enumerate(policy.attributes):
        if attribute.listed_elements is not None:
            hint = "Judge whole cells, with elements: NONE, or copy the table into the server's own database."
            yield Fault(f"attributes[{i}].elements", "lists", "nothing or NONE over tables in Spark", hint)
    if policy.also_count:
        yield Fault("also_count", "columns", "nothing over tables in Spark", "Name one of them as person_column.")
    release = policy.release
    if release.kind is not ReleaseKind.TABLE:
        yield Fault("release.kind", str(release.kind), "TABLE", "Spark's views keep no snapshot.")
    if release.publish:
        yield Fault("release.publish", "targets", "none", "Readers of the lake read the released tables themselves.")
    if release.estimates:
        yield Fault("release.estimates", "true", "false over tables in Spark", _INSTEAD)
    if release.left_behind is not None:
        yield Fault("release.left_behind", str(release.left_behind), "nothing over tables in Spark", _INSTEAD)
