"""The guards of a release, against the release that it would replace: a truncated extract must not take its place."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from tableveil.backend import Ledger, Visibility, WarehouseSession, folded
from tableveil.errors import Fault, GuardedError, shortened, undecided
from tableveil.policy import Guard, IfExists, ReleaseGuards, ReleaseTarget
from tableveil.policy.guards import FIELD
from tableveil.state.release_attributes import AttributeResult, attributes_of
from tableveil.state.release_objects import LATEST
from tableveil.state.seen import releases as seen_releases

_ERASED = "erased: it has one label in all released records"
_CHECK = "Look at the rows of the source first: a part of them may be missing."


def labels_of(attributes: tuple[AttributeResult, ...]) -> dict[str, int]:
    """The numbers of different labels in the released records, by column."""
    return {attribute.column: attribute.distinct_after for attribute in attributes}


def check_guards(
    session: WarehouseSession,
    target: ReleaseTarget,
    records: int,
    labels: Mapping[str, int] | None = None,
    visibility: Visibility | None = None,
) -> None:
    """Raises `GuardedError` if a release of so many records must not be written to its target.

    `labels` are the numbers of different labels by column, None as long as nobody knows them. The error says nothing of
    a replaced release that `visibility`, by default that of the session, does not show: then nothing is compared, and
    any guard that would have to compare holds the release back.
    """
    guards, faults = target.guards, []
    if records < guards.minimum_records:
        actual, expected = f"{records:,} records in the source", f"at least {guards.minimum_records:,}"
        faults.append(Fault(f"{FIELD}.minimum_records", actual, expected))
    for column in guards.keep_columns:
        if labels is not None and labels.get(column, 0) < 2:
            faults.append(Fault(f"{FIELD}.keep_columns", f"{shortened(column)}, {_ERASED}", "several labels", _CHECK))
    if target.if_exists is IfExists.REPLACE and (guards.compares_records or guards.compares_columns):
        place = session.scope(target.schema), target.name
        faults += _compared(session.ledger, place, guards, records, labels, visibility or session.visibility)
    if faults:
        raise GuardedError.about("GUARDED", "guards hold the release back", faults)


def check_decided(target: ReleaseTarget, warnings: Iterable[str]) -> None:
    """Raises `GuardedError` if the policy holds back what must be decided, and one of the warnings must be."""
    if target.guards.hold_undecided and (held := undecided(warnings)):
        hint = "Change the policy; or release it without this guard, once somebody has decided."
        faults = [Fault(f"{FIELD}.hold_undecided", text.rstrip("."), "nothing to be decided", hint) for text in held]
        raise GuardedError.about("UNDECIDED", "warnings that must be decided hold the release back", faults)


def _compared(
    ledger: Ledger,
    place: tuple[str, str],
    guards: ReleaseGuards,
    records: int,
    labels: Mapping[str, int] | None,
    visibility: Visibility,
) -> Iterator[Fault]:
    """Faults of the guards that compare with the release at a place, if one stands there."""
    seen, parameters = seen_releases(visibility)
    standing = ledger.rows(
        f"SELECT number, records, {seen} FROM tableveil.releases WHERE number IN ({LATEST} "
        "HAVING target_schema = ? AND lower(target_name) = lower(?)) "
        "AND number NOT IN (SELECT release FROM tableveil.withdrawals)",
        [*parameters, *place],
    )
    if not standing:
        return
    ((number, before, is_seen),) = standing
    if not is_seen:
        expected = "one that you may see: the guards compare with it"
        hint = f"If it may be replaced all the same, state nothing but {FIELD}: {{off: [{', '.join(Guard)}]}}."
        yield Fault(FIELD, "a release to be replaced that you may not see", expected, hint)
        return
    name = f"releases/{number}, which it would replace"
    if guards.compares_records:
        yield from _of_records(guards, records, before, name)
    if guards.compares_columns and labels is not None:
        earlier = labels_of(attributes_of(ledger, [number])[number])
        had = {folded(column): labels_before for column, labels_before in earlier.items() if labels_before > 1}
        for column, left in labels.items():
            if left < 2 and (before := had.get(folded(column))):
                actual = f"{shortened(column)}, {_ERASED}, and {before:,} in {name}"
                yield Fault(FIELD, actual, "several labels", _off(Guard.ERASED_COLUMNS))


def _of_records(guards: ReleaseGuards, records: int, before: int, name: str) -> Iterator[Fault]:
    limit = guards.maximum_record_change
    actual = f"{records:,} records in the source, against {before:,} of {name}"
    if limit is None:
        if 2 * records < before:
            yield Fault(FIELD, actual, "at most half fewer", _off(Guard.FEWER_RECORDS))
    elif Decimal(abs(records - before)) > limit * before:
        expected = f"a change of at most {limit:f} of them"
        yield Fault(f"{FIELD}.maximum_record_change", actual, expected, _CHECK)


def _off(guard: Guard) -> str:
    return f"{_CHECK} If they are right, switch the guard off: {FIELD}.off: [{guard}]."
