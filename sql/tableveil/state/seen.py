"""Conditions that leave in the ledger's tables only the rows that it shows."""

from collections.abc import Callable
from enum import StrEnum
from string import ascii_lowercase, ascii_uppercase

from tableveil.backend import Scopes, Visibility

Condition = tuple[str, list[object]]
Seen = Callable[[Visibility], Condition]


class Audience(StrEnum):
    """How much of a result its reader may see: all, the evidence without values, or public objects alone."""

    OWNER = "OWNER"
    REVIEWER = "REVIEWER"
    PUBLIC = "PUBLIC"


UNHIDDEN: Condition = ("true", [])
HIDDEN: Condition = ("false", [])
"""The condition of empty scopes: nothing needs to be read for it."""

PUBLIC = "(NOT needs_approval OR number IN (SELECT release FROM tableveil.decisions WHERE approved))"
"""The condition for releases whose objects are, or were, public."""


TRIALS = "(SELECT release FROM tableveil.trials WHERE promoted_at IS NULL)"
"""The numbers of trials, which no release is compared with."""


def by_reads(scopes: Scopes) -> Condition:
    """Rows of jobs that read tables in the scopes, and no others; a job without a record of its tables is in none."""
    if scopes.everything:
        return UNHIDDEN
    if (found := _named("source_schema", "source_table", scopes)) == HIDDEN:
        return HIDDEN
    named, parameters = found
    others = f"SELECT job FROM tableveil.job_reads WHERE NOT {named}"
    return f"(job IN (SELECT job FROM tableveil.job_reads) AND job NOT IN ({others}))", parameters


def by_table(schema: str, table: str) -> Seen:
    """Rows about a table that is owned; the arguments are the columns that name it."""
    return lambda visibility: _named(schema, table, visibility.owned)


def by_owner(visibility: Visibility) -> Condition:
    """Rows of the principal's own jobs."""
    return UNHIDDEN if visibility.every_job else ("owner = ?", [visibility.principal])


def results(visibility: Visibility) -> Condition:
    """Results of jobs whose tables are owned, or whose releases are judged: auditors see releases alone."""
    return either(by_reads(visibility.owned), by_reads(visibility.judged))


def measured(release: str) -> Seen:
    """Results of jobs that may have measured a release, whose number is this expression; see `results`."""
    return lambda visibility: _but_trials_of_others(visibility, results(visibility), release)


def evidence(visibility: Visibility) -> Condition:
    """Releases that are owned: by their numbers, or by all tables that were read for them."""
    return _but_trials_of_others(visibility, by_rights(visibility.owned))


def compared(visibility: Visibility) -> Condition:
    """Releases that a new one is compared with: no other may change what becomes of the work."""
    return by_rights(visibility.compared)


def by_rights(scopes: Scopes) -> Condition:
    """Releases that somebody owns whose rights are on these scopes."""
    return either(by_reads(scopes), _numbered(scopes))


def reviewed(visibility: Visibility) -> Condition:
    """Releases whose evidence may be reviewed: as if owned, or by what they wrote."""
    return _but_trials_of_others(visibility, either(by_reads(visibility.reviewed), _by_target(visibility.reviewed)))


def waiting(visibility: Visibility) -> Condition:
    """Releases whose rows may be seen before they are public: owned or judged ones."""
    judged = _but_trials_of_others(visibility, either(by_reads(visibility.judged), _by_target(visibility.judged)))
    return either(evidence(visibility), judged)


def releases(visibility: Visibility) -> Condition:
    """Releases that are owned or reviewed, and public ones that are not suspended."""
    published = _by_target(visibility.published)
    if published != HIDDEN:
        text, parameters = published
        unsuspended = "number NOT IN (SELECT release FROM tableveil.suspended_releases)"
        published = (f"({text} AND {PUBLIC} AND {unsuspended})", parameters)
    return either(evidence(visibility), reviewed(visibility), published)


def either(*conditions: Condition) -> Condition:
    """Rows that meet any of the conditions."""
    if UNHIDDEN in conditions:
        return UNHIDDEN
    asked: list[Condition] = []
    for condition in conditions:
        if condition != HIDDEN and condition not in asked:
            asked.append(condition)
    if not asked:
        return HIDDEN
    return f"({' OR '.join(text for text, _ in asked)})", [value for _, values in asked for value in values]


def _but_trials_of_others(visibility: Visibility, condition: Condition, release: str = "number") -> Condition:
    """Rows with a condition, without those of trials of other principals; the server itself has no name."""
    if not visibility.principal or condition == HIDDEN:
        return condition
    text, values = condition
    others = f"{release} IN (SELECT release FROM tableveil.trials WHERE promoted_at IS NULL AND maker <> ?)"
    return f"({text} AND NOT {others})", [*values, visibility.principal]


def _by_target(scopes: Scopes) -> Condition:
    return either(_named("target_schema", "target_name", scopes), _numbered(scopes))


def _numbered(scopes: Scopes) -> Condition:
    if not scopes.releases:
        return HIDDEN
    return "list_contains(?::BIGINT[], number)", [sorted(scopes.releases)]


def _named(schema: str, table: str, scopes: Scopes) -> Condition:
    if scopes.everything:
        return UNHIDDEN
    schema, table = as_folded(schema), as_folded(table)
    tables = sorted(scopes.tables)
    whole: Condition = f"list_contains(?::VARCHAR[], {schema})", [sorted(scopes.schemas)]
    single: Condition = (
        f"({schema}, {table}) IN (SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]))",
        [[name for name, _ in tables], [name for _, name in tables]],
    )
    return either(whole if scopes.schemas else HIDDEN, single if tables else HIDDEN)


def as_folded(name: str) -> str:
    """The folded form of an SQL expression; `lower` would also fold letters that the database distinguishes.

    Most names are folded already. `lower` finds that out in a fraction of the time that `translate` takes.
    """
    translated = f"translate({name}, '{ascii_uppercase}', '{ascii_lowercase}')"
    return f"(CASE WHEN lower({name}) = {name} THEN {name} ELSE {translated} END)"
