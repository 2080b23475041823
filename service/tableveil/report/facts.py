"""The closed list of facts that the public edition of a report is made of.

All of them are public objects of the release, follow from these, or are statements that the policy makes for readers.
Nothing else reaches `public.py`: its functions take these facts alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tableveil import wording
from tableveil.lookups.reports import BesideLedger, ToldColumn
from tableveil.policy import Anchor, RelativeTime
from tableveil.policy.aggregation import without_codings
from tableveil.privacy.among_released import RELEASED
from tableveil.report.words import HANDLINGS, columns_of_lists, known_facts, method_of, role_of
from tableveil.v1 import policy_pb2
from tableveil.v1.release_service_pb2 import AttributeResult, Exposure, Guarantee, Release, Risk
from tableveil.wording.methods import method_promise

PUBLIC_STATEMENTS = ("purpose", "legal_basis", "recipient", "contact", "context")


@dataclass(frozen=True, slots=True)
class PublicColumn:
    """A released column: its role, its treatment in words, the labels that most records have, and what days mean."""

    name: str
    role: str
    treatment: str
    labels: tuple[str, ...]
    days: str = ""


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """The closed list; `records` are the released ones, whose `risk` is that of rows as if everybody had one.

    So many suppressed records are `shown`, without labels. Cells of the columns `lists` are lists.
    `among_released` are figures of models that anybody can compute from the released rows.
    """

    name: str
    target: str
    state: str
    day: str
    records: int
    suppressed: int
    handling: str
    risk: Risk
    sizes: tuple[tuple[int, int], ...]
    method: str
    models: tuple[policy_pb2.PrivacyModel, ...]
    columns: tuple[PublicColumn, ...]
    statements: policy_pb2.Documentation
    objects: tuple[tuple[str, int], ...]
    versions: tuple[tuple[str, str], ...]
    checksum: str
    promised: str = ""
    shown: int = 0
    lists: tuple[str, ...] = ()
    among_released: tuple[Guarantee, ...] = ()
    exposures: tuple[Exposure, ...] = ()

    @property
    def known_facts(self) -> int:
        """How many facts about a person's events the promise holds for; 0 unless tables are related by people."""
        return max((known_facts(one) for one in self.models), default=0)

    @property
    def highest_risk(self) -> float:
        """The highest risk as if everybody had one record: who knows that somebody was suppressed looks among those."""
        return max(self.risk.highest, 1 / self.shown if self.shown else 0.0)


def public_facts(release: Release, beside_ledger: BesideLedger, *, name: str, state: str) -> PublicFacts:
    """The closed list of a release or a dry run, out of everything that the server knows of it."""
    policy = release.policy
    statements = policy_pb2.Documentation(
        **{field: getattr(policy.documentation, field) for field in PUBLIC_STATEMENTS}
    )
    return PublicFacts(
        name=name,
        target=wording.target_name(release.target),
        state=state,
        day=wording.moment(release.create_time)[:10],
        records=release.records - release.suppressed_records,
        suppressed=release.suppressed_records,
        handling=HANDLINGS[policy.suppressed_records.handling],
        risk=release.risk_by_size,
        sizes=beside_ledger.sizes_after,
        method=method_of(policy),
        models=tuple(policy.privacy_models),
        columns=tuple(_columns(release, beside_ledger)),
        statements=statements,
        objects=tuple((item.name, item.rows) for item in release.objects),
        versions=tuple((part, release.versions[part]) for part in ("tableveil", "duckdb") if part in release.versions),
        checksum=beside_ledger.checksum,
        promised=method_promise(policy),
        lists=columns_of_lists(policy),
        among_released=tuple(one for one in release.guarantees if one.model.endswith(f"{RELEASED})")),
        shown=release.suppressed_records
        if policy.suppressed_records.handling == policy_pb2.SUPPRESSED_RECORDS_HANDLING_KEEP
        else 0,
        # The rows do not tell what follows of them, nor whose they are.
        exposures=tuple(one for one in release.exposures if not one.knows and not one.counts_people),
    )


def _columns(release: Release, beside_ledger: BesideLedger) -> Iterator[PublicColumn]:
    results = {result.column: result for result in release.attributes}
    for listed_table in beside_ledger.columns or _listed(release.policy):
        result = results.get(listed_table.name)
        treatment = "as it is in the source" if result is None else without_codings(treatment_of(result))
        days = f"; {_days(release.policy.tables.relative_time)}" if listed_table.unit else ""
        yield PublicColumn(listed_table.name, listed_table.role, treatment, listed_table.labels, days)


def _days(time: policy_pb2.RelativeTime) -> str:
    """The meaning of days that replace dates of events."""
    name = policy_pb2.Anchor.Name(time.anchor).removeprefix("ANCHOR_")
    return RelativeTime(Anchor(name) if time.anchor else Anchor.COLUMN, time.column).means


def _listed(policy: policy_pb2.Policy) -> Iterator[ToldColumn]:
    """The columns that the policy names, where the tables that explain the release are gone or were not written."""
    for attribute in policy.attributes:
        role = role_of(attribute, policy)
        if role != "IDENTIFYING":
            yield ToldColumn(wording.named_column(attribute, policy), "", role)


def treatment_of(result: AttributeResult) -> str:
    """How the values of a quasi-identifier were replaced: by labels of a level, or by aggregates."""
    if result.aggregation:
        return f"aggregated: {result.aggregation}"
    levels = [str(one.level) for one in result.levels] or [str(result.level)]
    if levels == ["0"]:
        return "as it is in the source, level 0"
    return f"generalized to level{'s' if len(levels) > 1 else ''} {', '.join(levels)}"
