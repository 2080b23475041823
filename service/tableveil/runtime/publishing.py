"""Publishing: brings releases to their targets and away from them, each target in a thread of its own."""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from tableveil import publishing
from tableveil.backend import Database
from tableveil.control import Control, Stopped
from tableveil.errors import ConflictError, Fault, InvalidError, TableveilError, nearest, shortened
from tableveil.policy import Policy
from tableveil.policy.documentation import says_something
from tableveil.runtime.model import Failure, FailureKind, Nobody, Observer
from tableveil.runtime.recorder import failure_of
from tableveil.source import Source
from tableveil.state import publications
from tableveil.state.jobs import now
from tableveil.state.publications import Publication, PublicationState, TargetUse

logger = logging.getLogger("tableveil.publishing")

LONGEST_BACKOFF_SECONDS = 600.0

_MOST_CHANGES = 10

Changed = TypeVar("Changed")

Done = Callable[[Publication], Publication]
"""Gives the publication after a step that succeeded."""


class Publishing:
    """Keeps the targets as the ledger wants them. May be used from any thread."""

    def __init__(
        self,
        database: Database,
        targets: Mapping[str, publishing.Target] = MappingProxyType({}),
        policy_of: publishing.PolicyOf | None = None,
        observer: Observer | None = None,
    ) -> None:
        """`policy_of` reads the policies of the ledger, if there are targets. Nothing is done before `start`."""
        self._database = database
        self._couriers: dict[str, _Courier] = {}
        for name, target in targets.items():
            assert policy_of is not None, "targets are told the models of policies"
            self._couriers[name] = _Courier(database, name, target, policy_of, observer or Nobody())

    @property
    def has_targets(self) -> bool:
        """Whether there is anything to keep."""
        return bool(self._couriers)

    def start(self) -> None:
        """Begins with what an earlier process left undone; the state is up to date."""
        for courier in self._couriers.values():
            courier.start()

    def look(self) -> None:
        """The ledger may have changed: releases were made, approved, withdrawn or asked for."""
        for courier in self._couriers.values():
            courier.look()

    def targets(self) -> list[tuple[TargetUse, bool]]:
        """The targets that the session may see, by name, each with whether this server has it."""
        with self._database.ledger() as ledger:
            used = {one.target: one for one in publications.used(ledger)}
            shown = {*used, *(self._couriers if publications.sees_targets(ledger.visibility) else ())}
        return [(used.get(name, TargetUse(name)), name in self._couriers) for name in sorted(shown)]

    def faults(self, names: Sequence[str]) -> list[Fault]:
        """A fault for each name in a policy that no target has."""
        unknown = [(i, name) for i, name in enumerate(names) if name not in self._couriers]
        if not unknown:
            return []
        hint = "The operator declares targets: tableveil serve --publish NAME=…"
        shown = [use.target for use, is_declared in self.targets() if is_declared]
        expected = "the name of a target of this server"
        return [
            Fault(f"release.publish[{i}]", shortened(name), expected, nearest(name, shown) or hint)
            for i, name in unknown
        ]

    def unfit(self, policy: Policy, source: Source) -> list[Fault]:
        """Faults for which one of the policy's targets, which are there, would refuse each of its releases."""
        targets = [self._couriers[name].target for name in policy.release.publish]
        # Two targets of one kind refuse the same.
        return list(
            dict.fromkeys(fault for target in targets for fault in publishing.planned_faults(target, policy, source))
        )

    def publish(self, number: int, target: str, repeat_reason: str, other_people: Sequence[int] = ()) -> None:
        """Asks for a release at a target, or once more if it was asked for; the principal is that of the session.

        The releases of `other_people` need no reason.

        Raises:
            NotFoundError: there is no such release.
            InvalidError: there is no such target, its readers have a release of the same people and no reason is given,
                or it can never take this one.
            ConflictError: the release was rejected, withdrawn or replaced.
        """
        # A caller who sees no such release is told of no target, whose name may tell a recipient.
        with self._database.session() as session:
            publishing.existing(session, number)
        if target not in self._couriers:
            (fault,) = self.faults([target])
            raise InvalidError.of("TARGET_UNKNOWN", "target", fault.found, fault.expected, fault.hint)
        if repeat_reason and not says_something(repeat_reason):
            expected = "the reason why readers of the target may have these people once more, or nothing"
            raise InvalidError.of("REASON_MISSING", "repeat_reason", shortened(repeat_reason), expected)
        with self._database.session() as session:
            publication = Publication(
                target, session.visibility.principal, now(), repeat_reason, other_people=tuple(other_people)
            )
            _until_free(lambda: publishing.ask(self._database, session, number, publication))
        self._couriers[target].look()

    def take_back(self, number: int, target: str) -> None:
        """Asks for the removal of a release from a target; `NotFoundError` if it was never asked for there."""
        with self._database.session() as session:
            _until_free(lambda: publishing.take_back(session, number, target))
        self.look()

    def close(self, grace_seconds: float) -> bool:
        """Stops what is being written, of which nothing stays, and returns whether all threads ended."""
        deadline = time.monotonic() + grace_seconds
        for courier in self._couriers.values():
            courier.stop()
        ended = [courier.join(deadline - time.monotonic()) for courier in self._couriers.values()]
        return all(ended)


class _Courier:
    """One target, and the thread that serves it."""

    def __init__(
        self,
        database: Database,
        name: str,
        target: publishing.Target,
        policy_of: publishing.PolicyOf,
        observer: Observer,
    ) -> None:
        self._database, self._name, self.target = database, name, target
        self._policy_of, self._observer = policy_of, observer
        self._control = Control()
        self._changed = threading.Event()
        self._not_before: dict[tuple[int, Done], float] = {}
        self._thread = threading.Thread(target=self._work, name=f"tableveil-publish-{name}")

    def start(self) -> None:
        self._thread.start()

    def look(self) -> None:
        self._changed.set()

    def stop(self) -> None:
        self._control.cancel()
        self._changed.set()

    def join(self, seconds: float) -> bool:
        if self._thread.ident is not None:
            self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    def _work(self) -> None:
        # Anything left is swept again before the next attempt.
        with suppress(TableveilError):
            self.target.sweep()
        while not self._control.cancelled:
            self._changed.clear()
            try:
                wait = self._round()
            except TableveilError as error:
                logger.error("publishing to %s is tried again later: %s", self._name, error.code)
                wait = LONGEST_BACKOFF_SECONDS
            self._changed.wait(wait)

    def _round(self) -> float | None:
        """Does what is due, and returns the seconds until the next attempt, None if there is nothing to try again."""
        with self._database.ledger() as ledger:
            due = publishing.due_at(ledger, self._name)
            read_publications = publications.at_target(ledger, self._name)
        steps = [(number, self._publish, publishing.published) for number in due.published]
        steps += [(number, self.target.remove, publishing.removed) for number in due.removed]
        later = []
        for number, step, done in steps:
            due_in = self._not_before.get((number, done), 0.0) - time.monotonic()
            # Asking once more begins anew.
            if due_in <= 0 or not read_publications[number].attempts:
                due_in = self._attempt(number, step, done)
                self._not_before[number, done] = time.monotonic() + due_in
            later.append(due_in)
        soonest = min(later, default=math.inf)
        return soonest if soonest < math.inf else None

    def _attempt(self, number: int, step: Callable[[int], None], done: Done) -> float:
        """Does a step, records that, and returns the seconds until the ledger is to be asked for the next one."""
        failure = None
        try:
            self._control.raise_if_stopped()
            step(number)
        except Stopped:
            return math.inf
        except Exception as error:
            failure = failure_of(error, f"releases/{number} at {self._name}")
        changed = _until_free(lambda: self._record(number, failure, done))
        outcome = changed.state.lower() if failure is None else f"failed ({failure.code})"
        logger.info("releases/%d at %s: %s", number, self._name, outcome)
        if failure is None:
            self._observer.publication_ended(self._name, changed.state)
            # A release that it replaced is to be removed now.
            return 0.0
        stays = not _passes(failure)
        self._observer.publication_ended(self._name, PublicationState.FAILED if stays else PublicationState.WAITING)
        if stays:
            return math.inf
        return min(2.0 ** min(changed.attempts - 1, 20), LONGEST_BACKOFF_SECONDS)

    def _record(self, number: int, failure: Failure | None, done: Done) -> Publication:
        with self._database.ledger() as ledger, ledger.transaction():
            publication = publications.find(ledger, number, self._name)
            assert publication is not None, "publications are never deleted"
            changed = (
                done(publication)
                if failure is None
                else publishing.failed(publication, failure.code, failure.message, _passes(failure))
            )
            publications.store(ledger, number, changed)
            return changed

    def _publish(self, number: int) -> None:
        with self._database.session() as session:
            session.control = self._control
            read = partial(publishing.read_edition, session, number, self._policy_of)
            self.target.publish(session, read, partial(_until_free, partial(self._confirm, number)))

    def _confirm(self, number: int) -> None:
        """Notes that readers may see the release from now on: a process that ends in between could not say so later.

        Raises:
            ConflictError: the release was taken back since it was read.
        """
        self._control.raise_if_stopped()
        with self._database.ledger() as ledger, ledger.transaction():
            publication = publications.find(ledger, number, self._name)
            if publication is None or number not in publishing.due_at(ledger, self._name).published:
                taken, expected = f"releases/{number}, which was taken back meanwhile", "one that is to be published"
                raise ConflictError.of("RELEASE_TAKEN_BACK", "release", taken, expected)
            publications.store(ledger, number, replace(publication, published_at=now()))


def _passes(failure: Failure) -> bool:
    """Whether an attempt with nothing changed in the release may succeed."""
    return failure.may_pass or failure.kind is FailureKind.INTERNAL


def _until_free(change: Callable[[], Changed]) -> Changed:
    """Makes a change of the ledger, again if a request and the target's thread change one publication at once."""
    for _ in range(_MOST_CHANGES):
        try:
            return change()
        except ConflictError as error:
            if error.code != "WRITE_CONFLICT":
                raise
    return change()
