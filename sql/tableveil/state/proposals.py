"""The store of proposals, which are the owner's alone: they show values of the source, and what releases would lose."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tableveil.backend import Ledger
from tableveil.policy import TableReference
from tableveil.source.doubtful import DoubtfulValues
from tableveil.state import joint_texts
from tableveil.state.joint_texts import JointText
from tableveil.state.mapper import NumberedTable
from tableveil.state.seen import by_reads


@dataclass(frozen=True, slots=True)
class ColumnLeft:
    """The rest of a quasi-identifier: its different labels, and the share of released records at its top level."""

    column: str
    labels: int
    hidden: float
    erased: bool
    loss: float


@dataclass(frozen=True, slots=True)
class TriedPolicy:
    """A policy that was tried, as JSON; without a score it makes no release, and `failure` says why.

    `decisions` are needed before it can be recommended; `highest_risk` is that of a row to be a given person's. The
    `notes` say what is left of events.
    """

    policy: str
    method: str
    k: int
    score: float | None = None
    suppressed_records: int = 0
    highest_risk: float | None = None
    columns: tuple[ColumnLeft, ...] = ()
    decisions: tuple[str, ...] = ()
    failure: str = ""
    recommended: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForecastWay:
    """A way to release the same people again and again, and how many releases it lasts in `futures` that were played.

    A release covers `months_each`. Unless the next one was `refused` in every future, more may follow. `columns` are
    those of the last release in the future of the fewest; `policy` has other least levels, and is empty without.
    """

    way: str
    fewest_releases: int
    most_releases: int
    months_each: int
    futures: int
    refused: bool
    columns: tuple[ColumnLeft, ...] = ()
    policy: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal; `request` is the request as JSON, `seconds` are those from the job's start.

    The recommended alternative comes first. `decisions` are those that all of them need. The alternatives depend on
    the `releases`, and are for readers of all of them, as are the `ways` and the `forecast`, which says what these are
    made of.
    """

    number: int
    job: int
    created_at: datetime
    source: TableReference
    records: int
    notes: tuple[str, ...]
    decisions: tuple[str, ...]
    repair_query: str
    recommendation: str
    seconds: float
    request: str
    findings: tuple[DoubtfulValues, ...]
    alternatives: tuple[TriedPolicy, ...]
    releases: tuple[int, ...] = ()
    forecast: str = ""
    ways: tuple[ForecastWay, ...] = ()


LEFT_OUT = "The policies were tried beside other releases, of which you may not see all: they are left out."


class _Proposals(NumberedTable[Proposal]):
    """Proposals, some of which depend on other releases."""

    def insert_all(self, ledger: Ledger, rows: Mapping[Any, Sequence[Proposal]]) -> None:
        """With the releases that they depend on."""
        super().insert_all(ledger, rows)
        for one in itertools.chain.from_iterable(rows.values()):
            if one.releases:
                joint_texts.insert(ledger, one.job, [JointText(joint_texts.WHOLE, one.releases)])

    def _for_reader(self, ledger: Ledger, rows: list[Proposal]) -> list[Proposal]:
        """The proposals, without alternatives where these depend on a release that the ledger's reader may not see."""
        hidden = joint_texts.hidden(ledger, [one.job for one in rows])
        return [
            replace(one, alternatives=(), recommendation=LEFT_OUT, forecast="", ways=()) if hidden[one.job] else one
            for one in super()._for_reader(ledger, rows)
        ]


PROPOSALS = _Proposals(
    "proposals",
    Proposal,
    "proposal_numbers",
    names={"releases": None},
    document=("findings", "alternatives", "ways"),
    seen=lambda visibility: by_reads(visibility.owned),
)
