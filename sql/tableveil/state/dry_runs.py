"""The store of dry runs, which are the owner's: they show what releases would lose and reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import chain
from typing import Any

from tableveil.backend import Ledger, Visibility, folded
from tableveil.errors import Warned
from tableveil.policy import TableReference
from tableveil.privacy.exposure.found import Exposure
from tableveil.privacy.guarantees import Guarantee
from tableveil.risk import ProsecutorRisk
from tableveil.state import joint_texts
from tableveil.state.joint_texts import JointText
from tableveil.state.mapper import NumberedTable, Table
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.release_explanations import Alternative
from tableveil.state.release_risks import SuppressedLabel
from tableveil.state.releases import Proof, Release
from tableveil.state.seen import Audience, Condition, as_folded, results


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row as texts by column, in the columns' order; None for NULL. Long texts are cut, and end with `…`."""

    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class DryRun:
    """The evidence of a release that was taken back; `refusals` say why one would be refused at the moment.

    `policy` is the document as JSON. The proof has no runners-up. The audience is that of the ledger's principal.
    `rows` are a few of those that it would have released: only owners of all tables that it read see them.
    """

    number: int
    job: int
    created_at: datetime
    source: TableReference
    source_fingerprint: str
    records: int
    suppressed_records: int
    classes: int
    score: float
    quality_model: str
    proof: Proof
    attributes: tuple[AttributeResult, ...]
    risk_before: ProsecutorRisk
    risk_after: ProsecutorRisk
    risk_by_size: ProsecutorRisk
    guarantees: tuple[Guarantee, ...]
    seconds: float
    warnings: tuple[Warned, ...]
    refusals: tuple[str, ...]
    policy: str
    suppressed_labels: tuple[SuppressedLabel, ...] = ()
    audience: Audience = Audience.OWNER
    joint: tuple[JointText, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    rows: tuple[ShownRow, ...] = ()
    exposures: tuple[Exposure, ...] = ()

    @classmethod
    def of(cls, release: Release, number: int, refusals: Sequence[JointText], rows: Sequence[ShownRow] = ()) -> DryRun:
        """The dry run that made this release."""
        stored = {field.name for field in fields(Release)}
        shared = {field.name: getattr(release, field.name) for field in fields(cls) if field.name in stored}
        texts, joint = tuple(one.text for one in refusals), tuple(one for one in refusals if one.releases)
        joint = (*release.joint, *joint)
        return cls(**{**shared, "number": number, "refusals": texts, "joint": joint, "rows": tuple(rows)})


class _DryRuns(NumberedTable[DryRun]):
    """Dry runs, some of whose texts are not for all."""

    def insert_all(self, ledger: Ledger, rows: Mapping[Any, Sequence[DryRun]]) -> None:
        """With the releases that their texts depend on."""
        super().insert_all(ledger, rows)
        for dry_run in chain.from_iterable(rows.values()):
            joint_texts.insert(ledger, dry_run.job, dry_run.joint)

    def _for_reader(self, ledger: Ledger, rows: list[DryRun]) -> list[DryRun]:
        """The dry runs without the texts that depend on releases of which the ledger's reader may not see all."""
        hidden = joint_texts.hidden(ledger, [one.job for one in rows])
        return [
            replace(
                one,
                warnings=joint_texts.shown(one.warnings, hidden[one.job]),
                refusals=tuple(text for text in one.refusals if text not in hidden[one.job]),
                guarantees=joint_texts.reached(one.guarantees, hidden[one.job]),
                exposures=() if joint_texts.WHOLE in hidden[one.job] else one.exposures,
                # Nothing is released: no row and no label of one is anywhere else.
                rows=one.rows if one.audience is Audience.OWNER else (),
                suppressed_labels=one.suppressed_labels if one.audience is Audience.OWNER else (),
            )
            for one in super()._for_reader(ledger, rows)
        ]


def _seen(visibility: Visibility) -> Condition:
    """A dry run that was judged together with releases is seen only if all of these are: each figure tells of them."""
    (of_results, values), (of_all, others) = results(visibility), joint_texts.judged_with_seen(visibility)
    return f"({of_results} AND {of_all})", [*values, *others]


DRY_RUNS = _DryRuns(
    "dry_runs",
    DryRun,
    "dry_run_numbers",
    names={"proof.seconds": "search_seconds", "proof.searched.runners_up": None},
    document=(
        *("attributes", "guarantees", "exposures", "alternatives"),
        *("risk_before", "risk_after", "risk_by_size"),
    ),
    parts={
        "suppressed_labels": Table(
            "dry_run_suppressions", SuppressedLabel, "dry_run", position=True, names={"column": "column_name"}
        ),
        "rows": Table("dry_run_rows", ShownRow, "dry_run", position=True, names={"values": '"values"'}),
    },
    seen=_seen,
    reviewed=True,
)


def forget_rows(ledger: Ledger, read: TableReference) -> None:
    """Deletes the rows of all dry runs that read the table, which its removed rows may be among."""
    named = f"{as_folded('source_schema')} = ? AND {as_folded('source_table')} = ?"
    dry_runs = f"SELECT number FROM tableveil.dry_runs WHERE job IN (SELECT job FROM tableveil.job_reads WHERE {named})"
    names = [folded(read.schema), folded(read.table)]
    ledger.execute(f"DELETE FROM tableveil.dry_run_rows WHERE dry_run IN ({dry_runs})", names)
