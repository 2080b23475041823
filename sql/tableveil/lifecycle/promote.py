"""Promotes a trial: it becomes a release if all that it depends on is as it was, and is judged by what exists now."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace

from tableveil.backend import Database, Ledger, WarehouseSession
from tableveil.control import Control
from tableveil.errors import ConflictError, InternalError, InvalidError, by_rank, depending_on, note
from tableveil.lifecycle.gates import check_current
from tableveil.lifecycle.guards import check_guards, labels_of
from tableveil.lifecycle.moving import Steps, check_newest, move_elsewhere, move_in
from tableveil.lifecycle.publish import writing
from tableveil.lifecycle.related_again import Keyed
from tableveil.lifecycle.repeated import RepeatingRelease, joint_findings, stage_repeated, standing
from tableveil.lifecycle.target import check_target
from tableveil.loading import check_bound
from tableveil.policy import Policy
from tableveil.source import Fingerprint, Source, fingerprint, population_fingerprint, resolve_source
from tableveil.state import persons, rights, sketches
from tableveil.state.jobs import now
from tableveil.state.lineage import changing_rights
from tableveil.state.migrate import fingerprint_key
from tableveil.state.publications import PUBLICATIONS, Publication
from tableveil.state.releases import RELEASES, Release, ReleaseState
from tableveil.state.trials import TRIALS

_AGAIN = "Submit it again: jobs of the same policy are made of the rows and releases of today."
_WAITS = note(
    "By the rule of its schema, it waits for approval: a reason does not suffice for its joint classes. Only readers "
    "of all the releases are told the figures.",
    field="repeat_reason",
)


@dataclass(frozen=True, slots=True)
class Promotion:
    """The policy of a trial, with the reason that is given now, and its `document`.

    It `needs_approval` by its schema, or, with `unless_safe`, if it repeats people who do not all share joint classes
    of k. `policy_of` reads the policies of the ledger.
    """

    policy: Policy
    document: str
    needs_approval: bool
    unless_safe: bool
    policy_of: Callable[[str], Policy]


def promote(
    database: Database,
    number: int,
    asked: Promotion,
    control: Control | None = None,
    unused: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Makes a release of a trial in one transaction: its objects move to its target, or it waits for approval.

    In a warehouse the objects are copied first; see `swap`. The commit is inside of `unused`, as in `decide`.

    Raises:
        GuardedError: a guard keeps the release from its target.
        InvalidError: the policy does not fit the database any more, or its people were released meanwhile and there is
            no reason to release them again.
        ConflictError: it is no trial any more; the source, or the releases that it is judged together with, are not
            those of the trial; a later release of its target is public; or something is at its target.
        InternalError: the copy differs from what was verified, or the commit left nothing behind.
        Stopped: `control` said so before the commit.
    """
    with database.session() as embedded:
        embedded.control = control
        trial = _open_trial(embedded.ledger, number)
        with database.rows_session(embedded, trial.warehouse) as session:
            session.control = control
            admission = _Admission(session, number, asked)

            def enter() -> None:
                _enter(session.ledger, admission.release, session.visibility.principal, asked.policy)

            steps = Steps(admission.admit, enter, lambda: _look(session.ledger, number))
            if trial.warehouse and not asked.needs_approval:
                # A rule may still let it wait, which shows before it is copied.
                with session.embedded.transaction(elsewhere=True):
                    admission.admit()
                if not admission.release.needs_approval:
                    move_elsewhere(database, session, trial, asked.policy.release, steps, unused)
                    return
            changing = changing_rights(database.path, session.ledger)
            with ExitStack() as until_committed, writing(database, session), changing:
                admission.admit()
                if not admission.release.needs_approval:
                    move_in(session.embedded, trial, asked.policy.release)
                enter()
                until_committed.enter_context(unused())
            steps.look()


class _Admission:
    """The checks of a promotion; `release` is what becomes of the trial, once they are made."""

    def __init__(self, session: WarehouseSession, number: int, asked: Promotion) -> None:
        self._session = session
        self._asked = asked
        self._number = number
        self.release: Release

    def admit(self) -> None:
        session, policy = self._session, self._asked.policy
        trial = _open_trial(session.ledger, self._number)
        source = _unchanged(session, trial, policy)
        check_newest(session, trial, _AGAIN)
        mark = Fingerprint(trial.source_fingerprint, sketches.find(session.ledger, trial.number))
        together = tuple(sorted(persons.judged_together(session.ledger, [trial.number])[trial.number]))
        check_current(session, policy, source, mark, together, again=_AGAIN)
        with depending_on(together):
            check_guards(session, policy.release, trial.records, labels_of(trial.attributes))
            self.release = self._judged(trial, source, mark, together)

    def _judged(self, trial: Release, source: Source, mark: Fingerprint, together: tuple[int, ...]) -> Release:
        """The release, with what it tells together with those that it repeats by a reason."""
        session, asked = self._session, self._asked
        shown = standing(session, trial, asked.policy)
        if shown is None:
            raise _changed(f"the rows of releases/{trial.number}, which are gone")
        kept = trial.records - trial.suppressed_records
        new = RepeatingRelease(
            asked.policy, source, together, kept, shown, Keyed.released(asked.policy, trial.attributes)
        )
        repeated = stage_repeated(session, new, mark, asked.policy_of)
        joint = joint_findings(session, new, repeated, trial.number)
        waits = asked.needs_approval or (asked.unless_safe and not joint.safe)
        by_rule = (_WAITS,) if waits and not asked.needs_approval else ()
        assert trial.trial is not None, "it is one"
        return replace(
            trial,
            needs_approval=waits,
            repeat_reason=asked.policy.repeat_reason,
            policy=asked.document,
            warnings=by_rank((*joint.warnings, *by_rule, *trial.warnings)),
            guarantees=(*trial.guarantees, *joint.guarantees),
            joint=joint.joint,
            trial=replace(trial.trial, promoted_at=now()),
        )


def _unchanged(session: WarehouseSession, trial: Release, policy: Policy) -> Source:
    """The source, if it has the columns and rows of the trial; the policy still fits it and its target."""
    source, policy, faults = resolve_source(session, policy)
    faults = [*faults, *check_target(session, policy, source)]
    if source is None or faults:
        raise InvalidError.about("POLICY_INVALID", "the policy of the trial does not fit the database any more", faults)
    check_bound(session, policy, source)
    if policy.method.budgeted:
        # Its rows were drawn, and paid for. Whether the table changed since is nobody's to know.
        return source
    key = fingerprint_key(session.ledger)
    assert trial.trial is not None, "it is one"
    if fingerprint(session, source.with_all(), key) != trial.source_fingerprint:
        raise _changed(f"{source.shown}, changed since the trial was made")
    if population_fingerprint(session, source, key) != trial.trial.population_fingerprint:
        what = "the rows of event tables" if source.related else "the rows of the population"
        raise _changed(f"{what}, changed since the trial was made")
    return source


def _changed(found: str) -> ConflictError:
    return ConflictError.of("SOURCE_CHANGED", "name", found, "all that the trial was made of", _AGAIN)


def _enter(ledger: Ledger, release: Release, principal: str, policy: Policy) -> None:
    RELEASES.promote(ledger, release)
    # A trial is compared with nothing: the rights by which it was made say nothing of what was left out.
    rights.forget(ledger, release.job)
    rights.insert(ledger, release.job, ledger.visibility.compared)
    target = policy.release
    asked = [Publication(name, principal, now(), target.publish_repeat_reason) for name in target.publish]
    PUBLICATIONS.insert(ledger, asked, release.number)


def _open_trial(ledger: Ledger, number: int) -> Release:
    # As the ledger has it: texts that its reader is not told stay in it.
    (release,) = RELEASES.where(ledger, "number = ?", [number], whole=True)
    check_trial(release)
    return release


def check_trial(release: Release) -> None:
    """Raises `ConflictError` unless the release is a trial that has not expired."""
    if release.state is not ReleaseState.TRIAL:
        expected = "a trial: a release of submit --trial that nobody has promoted or withdrawn"
        actual = f"releases/{release.number}, which is {release.state.lower()}"
        raise ConflictError.of("NOT_A_TRIAL", "name", actual, expected)
    assert release.trial is not None, "it is one"
    if release.trial.expires_at <= now():
        actual = f"releases/{release.number}, expired at {release.trial.expires_at:%Y-%m-%d %H:%M} UTC"
        raise ConflictError.of("TRIAL_EXPIRED", "name", actual, "a trial that has not expired", _AGAIN)


def _look(ledger: Ledger, number: int) -> None:
    found = TRIALS.of(ledger, [number])[number]
    if not found or found[0].promoted_at is None:
        raise InternalError("COMMIT_LOST", f"the promotion of releases/{number} reported success but left nothing")
