"""The life of a release after its job: promoted, approved or rejected, withdrawn; while no job uses it."""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

from tableveil.backend import EVERYTHING, Database, present_visibility, seeing
from tableveil.control import Control
from tableveil.errors import ConflictError, InvalidError
from tableveil.lifecycle import Promotion, check_pending, check_trial, decide, promote, withdraw
from tableveil.lookups.releases import Releases
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.pipelines.work import waits_in
from tableveil.policy import Policy
from tableveil.policy.documentation import says_something
from tableveil.runtime.publishing import Publishing
from tableveil.runtime.uses import Uses, check_permitted
from tableveil.state import jobs as store
from tableveil.state import schema_rules
from tableveil.state.decisions import Decision

logger = logging.getLogger("tableveil.jobs")


class ReleaseLifecycle:
    """Changes releases, of which no job makes use meanwhile. May be used from any thread."""

    def __init__(
        self,
        database: Database,
        uses: Uses,
        publishing: Publishing,
        approval: Collection[str],
        policy_of: PolicyOf | None,
        made: Callable[[], None],
    ) -> None:
        """`made` is called after each promotion. Releases into the schemas `approval` wait for it."""
        self._database, self._uses, self._publishing = database, uses, publishing
        self._approval, self._policy_of, self._made = approval, policy_of, made

    def withdraw(self, number: int, reason: str, control: Control | None = None) -> None:
        """Drops the objects of a current release, and notes the reason in the ledger; once withdrawn, does nothing.

        Raises:
            InvalidError: there is no reason.
            NotFoundError: there is no such release.
            ConflictError: it was replaced, a job or a view reads it, or a job is about to replace it.
            Stopped: `control` said so before it was committed.
        """
        if not says_something(reason):
            raise InvalidError.of("REASON_MISSING", "reason", "none", "why the release is withdrawn, for the ledger")
        release = Releases(self._database).get(number)
        if release.withdrawal is not None:
            return
        self._uses.check_unused(release)
        withdraw(self._database, release, reason, control, partial(self._uses.unused, number))
        self._publishing.look()
        logger.info("releases/%d withdrawn", number)

    def decide(self, number: int, decision: Decision, policy_of: PolicyOf, control: Control | None = None) -> None:
        """Approves or rejects a release that waits for it.

        Raises:
            InvalidError: it gives no reason.
            NotFoundError: there is no such release.
            ConflictError: it does not wait, the decision is by its own steward, or it cannot take its target.
            Stopped: `control` said so before it was committed.
        """
        if not says_something(decision.note):
            decided = "approved" if decision.approved else "rejected"
            raise InvalidError.of("REASON_MISSING", "note", "none", f"why the release is {decided}, for the ledger")
        release = Releases(self._database).get(number)
        check_pending(release)
        visibility = present_visibility()()
        # An approver need not see the tables among which the objects are moved, nor the steward's job.
        with seeing(lambda: EVERYTHING):
            with self._database.ledger() as ledger:
                owner = store.owner_of(ledger, release.job)
            if owner == decision.by:
                raise ConflictError.of(
                    "OWN_RELEASE",
                    "name",
                    f"releases/{number}, which you made",
                    "a release that somebody else made",
                    "Another person decides about it. You can withdraw it.",
                )
            self._uses.check_unused(release)
            target = policy_of(release.policy).release
            decide(self._database, number, target, decision, control, partial(self._uses.unused, number), visibility)
        self._publishing.look()
        logger.info("releases/%d %s", number, "approved" if decision.approved else "rejected")

    def promote(self, number: int, policy: Policy, document: str, control: Control | None = None) -> None:
        """Makes a release of a trial, by its policy with the reason that is given now.

        Raises:
            NotFoundError: there is no such trial of the caller.
            TableveilError: see `lifecycle.promote`.
            DeniedError: the caller does not own all that the trial read, and that it would write, any more.
        """
        release = Releases(self._database).get(number)
        check_trial(release)
        with self._database.session() as session:
            reads = tuple(store.reads_of(session.ledger, number))
            unless_safe = schema_rules.asks_for_joint_k(session.ledger, release.target_schema)
        check_permitted(present_visibility(), reads, replace(policy.release, schema=release.target_schema))
        self._uses.check_unused(release)
        assert self._policy_of is not None, "a server reads the policies of the ledger"
        waits = waits_in(release.target_schema, self._approval)
        asked = Promotion(policy, document, waits, unless_safe, self._policy_of)
        promote(self._database, number, asked, control, partial(self._uses.unused, number))
        self._made()
        logger.info("releases/%d promoted", number)
