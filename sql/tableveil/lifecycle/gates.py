"""The three gates of a release: it is admitted, it is read, and it is about to be committed.

Hours may lie between them, in which tables are loaded, targets taken and other releases made. So each gate asks again:
where the rows come from, where they go, and whom they repeat. The caller's rights are asked at each of them, too, by
the runtime. A trial passes the gates of its target and of other releases when it is promoted.
"""

from functools import partial

from tableveil.backend import WarehouseSession
from tableveil.errors import ConflictError, check_all
from tableveil.lifecycle.ledger import check_ledger
from tableveil.lifecycle.target import check_existing
from tableveil.loading import check_bound
from tableveil.policy import JobPart, Policy
from tableveil.source import Fingerprint, Source, fingerprint, population_fingerprint, resolve_source
from tableveil.state.migrate import fingerprint_key

AGAIN = "Submit the job again."


def check_admitted(session: WarehouseSession, policy: Policy, source: Source, *, is_trial: bool) -> None:
    """The first gate, before the job is queued: no row is read.

    Raises:
        InvalidError: the policy is bound to another load, or the table was released before and there is no reason.
        ConflictError: the load's rows changed, or something exists at the target.
    """
    place = partial(check_place, session, policy, source, is_trial=is_trial)
    if is_trial:
        place()
    else:
        check_all(place, lambda: check_ledger(session, policy, source, None))


def check_place(session: WarehouseSession, policy: Policy, source: Source, *, is_trial: bool) -> None:
    """The part of the first two gates that no transaction holds still; see `check_admitted`."""
    if JobPart.BINDING in policy.parts:
        check_bound(session, policy, source)
    if not is_trial:
        check_existing(session, policy.release)


def check_read(session: WarehouseSession, policy: Policy, source: Source, mark: Fingerprint) -> tuple[int, ...]:
    """The second gate, in the transaction that reads the rows, which their fingerprint identifies.

    It returns the releases that this one is judged together with. `check_place` comes before it, and the guards after
    it, once the records are counted.

    Raises:
        InvalidError: the records were released before, and there is no reason.
    """
    return check_ledger(session, policy, source, mark, reading=True)


def check_unchanged(
    session: WarehouseSession, policy: Policy, source: Source, mark: Fingerprint, of_population: str
) -> None:
    """The third gate, in the transaction that commits: the rows are those that were counted.

    Raises:
        ConflictError: rows or columns of the source changed, or rows of the population.
    """
    if JobPart.BINDING in policy.parts:
        check_bound(session, policy, source)
    if source.drawn is not None:
        # The rows were drawn from one state of the table: whether it changed since is nobody's to know.
        return
    # The fingerprint covers known columns: a missing one would fail, a new one would not show.
    present, _, _ = resolve_source(session, policy)
    key = fingerprint_key(session.ledger)
    if present != source.with_all() or fingerprint(session, source, key) != mark.rows:
        found = f"{source.shown}, changed since it was counted"
        raise ConflictError.of("SOURCE_CHANGED", policy.source_field, found, "the rows that were counted", AGAIN)
    if population_fingerprint(session, source, key) != of_population:
        found = "rows that changed since they were counted"
        raise ConflictError.of("SOURCE_CHANGED", "population", found, "the rows that were counted", AGAIN)


def check_current(
    session: WarehouseSession,
    policy: Policy,
    source: Source,
    mark: Fingerprint,
    together_with: tuple[int, ...],
    *,
    again: str = AGAIN,
) -> dict[str, str]:
    """The third gate: nobody else took the target, or released the same people. It returns the objects to replace.

    `check_unchanged` comes before it, and the guards after it, once the labels are counted.

    Raises:
        InvalidError: the records were released meanwhile, and there is no reason.
        ConflictError: other releases are to be judged with it now, or something exists at the target.
    """
    if check_ledger(session, policy, source, mark) != together_with:
        found = "another release of the same people, made since this one was counted"
        expected = "the releases that this one was judged together with"
        raise ConflictError.of("RELEASED_MEANWHILE", "release.together_with", found, expected, again)
    return check_existing(session, policy.release)
