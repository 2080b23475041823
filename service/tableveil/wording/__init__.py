"""How names, numbers and times are shown to people."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from decimal import Decimal
from itertools import zip_longest

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from tableveil.v1 import faults_pb2, policy_pb2, release_service_pb2
from tableveil.wording.methods import method_words

LONGEST_SHOWN = 60

# More digits do not help.
_LONGEST_COUNT = 15


def printable(text: str) -> str:
    """The text with escapes for all characters that a terminal might obey, such as colour codes in a table's name."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def short(text: str) -> str:
    """The text, printable, and cut where it would fill the screen."""
    return printable(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…")


def table_name(reference: policy_pb2.TableReference) -> str:
    """A table by its name's non-empty parts; a source that is a query has only its database."""
    if reference.catalog and not reference.table:
        return "a query"
    return short(".".join(part for part in (reference.catalog, reference.schema, reference.table) if part))


def tables_read(release: release_service_pb2.Release) -> str:
    """The tables whose rows a release has, or the query."""
    return ", ".join(map(table_name, release.source_tables)) or table_name(release.source)


def named_column(attribute: policy_pb2.Attribute, policy: policy_pb2.Policy) -> str:
    """The column's name, after that of its table where it is an event table's."""
    is_event = attribute.table not in ("", policy.tables.people.table)
    return f"{attribute.table}.{attribute.column}" if is_event else attribute.column


def target_name(target: policy_pb2.ReleaseTarget) -> str:
    """A release's table or view."""
    return short(".".join(part for part in (target.schema, target.name) if part))


def has_evidence(release: release_service_pb2.Release) -> bool:
    """Whether the caller may see how a release was made; an analyst sees what is public, and no more."""
    return release.HasField("proof")


def standing(release: release_service_pb2.Release) -> str:
    """Whether a release is the public one of its target."""
    if release.current:
        return "yes"
    approved = release.state == release_service_pb2.RELEASE_STATE_APPROVED
    return "replaced" if approved else release_service_pb2.ReleaseState.Name(release.state)[14:].lower()


def price(release: release_service_pb2.Release) -> str:
    """Why the average risk of a method with classes as small as allowed is higher than that of another; or empty."""
    risk, why = release.risk_after, method_words(release.policy).price
    return why.format(average=share(risk.average), highest=share(risk.highest)) if risk.average else ""


def ranked(texts: Sequence[str], ranks: Sequence[int]) -> Iterator[tuple[int, str, str]]:
    """Each warning of a message as its rank, the rank in words, and the text."""
    for text, rank in zip_longest(texts, ranks[: len(texts)]):
        # Servers before there were ranks give none.
        known = rank or faults_pb2.WARNING_RANK_SHOULD_BE_LOOKED_AT
        yield (
            known,
            enum_word(faults_pb2.WarningRank.Name(faults_pb2.WarningRank.ValueType(known)), "WARNING_RANK_"),
            text,
        )


STATED = {
    "purpose": "purpose",
    "recipient": "recipient",
    "legal_basis": "legal basis",
    "risk_threshold": "highest risk that is accepted",
}
"""The statements that a release needs from a person, by their fields of a policy's documentation."""


def undecided(policy: policy_pb2.Policy, texts: Sequence[str], ranks: Sequence[int]) -> list[str]:
    """Everything that is open about a policy or its release: the warnings that must be decided, and what is unstated.

    Proposals, checks, accounts, the console and reports show this. Figures above a threshold are among the warnings.
    """
    must = [text for rank, _, text in ranked(texts, ranks) if rank == faults_pb2.WARNING_RANK_MUST_BE_DECIDED]
    return [*must, *unstated(policy)]


def unstated(policy: policy_pb2.Policy) -> list[str]:
    """A sentence about the statements that nobody has made, if there are such."""
    missing = not_stated(policy)
    return [f"Nobody has stated in documentation: {missing}."] if missing else []


def not_stated(policy: policy_pb2.Policy) -> str:
    """The statements that nobody has made."""
    return ", ".join(name for field, name in STATED.items() if not getattr(policy.documentation, field))


def matches(release: release_service_pb2.Release) -> list[str]:
    """Sentences about other releases of the same people, for a reader of both."""
    return [
        f"{match.release} and {match.other} are of the same people, and were not judged together: the submitter of one "
        f"could not see the other. {match.release}: {match.finding}."
        for match in release.matches
    ]


def change_of_labels(
    first: release_service_pb2.AttributeResult | None,
    second: release_service_pb2.AttributeResult | None,
    *,
    of_one_hierarchy: bool = True,
) -> str:
    """Says whether a column's labels became finer or coarser from one release to another, or differ otherwise.

    None stands for a column that is no quasi-identifier. Losses are compared within one hierarchy and loss range; else
    the numbers of labels that records have are.
    """
    if first is None or second is None:
        return "differs"
    if not of_one_hierarchy:
        more = second.distinct_after - first.distinct_after
        return "differs" if not more else "finer" if more > 0 else "coarser"
    if first.loss != second.loss:
        return "coarser" if second.loss > first.loss else "finer"
    return "" if _treatment(first) == _treatment(second) else "differs"


def _treatment(result: release_service_pb2.AttributeResult) -> tuple[str, list[int]]:
    return result.aggregation, [one.level for one in result.levels] or [result.level]


def count(number: int) -> str:
    """`12,345`."""
    return f"{number:,}"


def large_count(text: str) -> str:
    """A count that comes as a decimal because it may be huge."""
    if not text.isdecimal():
        return printable(text)
    return count(int(text)) if len(text) <= _LONGEST_COUNT else f"{Decimal(text):.1e}"


def share(part: float | Decimal) -> str:
    """`3.68 %`; never rounded to nothing or to everything."""
    percent = float(part) * 100
    shown = f"{percent:.2f}".rstrip("0").rstrip(".")
    if shown == "0" and percent > 0:
        return "< 0.01 %"
    if shown == "100" and percent < 100:
        return "> 99.99 %"
    return f"{shown} %"


def score(value: float) -> str:
    """A score or a bound: `0.2134`, `0.000412`."""
    return f"{value:.4f}" if abs(value) >= 0.01 or value == 0 else f"{value:.3g}"


def duration(found: Duration) -> str:
    """A duration in seconds."""
    return seconds(found.ToTimedelta().total_seconds())


def seconds(value: float) -> str:
    """`0.012 s`, `1.2 s`, `3 min 20 s`."""
    if value >= 60:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes:,} min {rest} s"
    return f"{value:.3f} s" if value < 1 else f"{value:.1f} s"


def moment(time: Timestamp) -> str:
    """A time in UTC, to the second."""
    return time.ToDatetime(tzinfo=UTC).strftime("%Y-%m-%d %H:%M:%SZ") if time.seconds else ""


def enum_word(name: str, prefix: str) -> str:
    """`JOB_STATE_QUEUED` as `queued`."""
    return name.removeprefix(prefix).replace("_", " ").lower()
