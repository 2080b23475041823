"""Whether the records of a source were released before, and why it looks so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, partial

from tableveil.backend import Session
from tableveil.errors import InvalidError, shortened
from tableveil.policy import Policy
from tableveil.policy.reason import says_something
from tableveil.source import Source
from tableveil.source.facts import surprise, varying
from tableveil.source.fingerprint import Fingerprint
from tableveil.state import column_digests, releases

_ENOUGH_BITS = 14
"""What is less likely than one in 2^14 = 16,384 is no accident."""

_MOST_RELEASES = 5
_MOST_COLUMNS = 3
_MOST_REASONS = 3


def check_ledger(session: Session, policy: Policy, source: Source, fingerprint: Fingerprint | None) -> None:
    """Raises `InvalidError` if the records were released before and the policy gives no reason to do so again.

    They were if a table that is read was, or the same rows, or as many records that have the same values in columns in
    which that is no accident. Without a fingerprint nothing but tables are compared.
    """
    if says_something(policy.repeat_reason):
        return
    earlier = releases.earlier_releases(session, source.tables, fingerprint.rows if fingerprint else None)
    came = f"came from {'this source' if source.query is None else 'tables that it reads'}"
    why = [f"{_named(earlier)} {came}"] if earlier else []
    if fingerprint is not None:
        by_columns: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for release, columns in _alike(session, source.with_all(), fingerprint, earlier):
            by_columns[columns].append(release)
        why += [f"{_listed(columns)} as in {_named(alike)}" for columns, alike in by_columns.items()]
    if why:
        raise InvalidError.of(
            "REPEATED_RELEASE",
            "repeat_reason",
            f"none, although {'; '.join(why[:_MOST_REASONS])}{'; …' if len(why) > _MOST_REASONS else ''}",
            "the reason why these records are released once more",
            "Two releases of the same people can together tell apart what each alone hides: state the reason, or "
            "release something else.",
        )


def _alike(
    session: Session, source: Source, fingerprint: Fingerprint, known: Collection[int]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Other releases whose sources had such columns, each with the source's names of these that vary."""
    sharing = column_digests.releases_with(session, fingerprint.columns)
    others = {release: shared for release, shared in sharing.items() if release not in known}
    # Columns that are alike count once.
    names = {digest: found.name for digest, found in zip(fingerprint.columns, source.columns, strict=True)}
    anywhere = set().union(*others.values())
    vary = varying(session, source, [name for digest, name in names.items() if digest in anywhere])
    bits = cache(partial(surprise, session, source))
    for release, shared in others.items():
        columns = tuple(name for digest, name in names.items() if digest in shared and name in vary)
        if _is_no_accident(map(bits, columns)):
            yield release, columns


def _is_no_accident(bits: Iterable[float]) -> bool:
    """Whether the surprises of columns are enough together, as if they were independent; no more are asked for then.

    Columns of the same one have values that recur alike: one may be the other in another code, and tells nothing more.
    """
    different: set[float] = set()
    for found in bits:
        different.add(round(found, 3))
        if sum(different) >= _ENOUGH_BITS:
            return True
    return False


def _named(numbers: Sequence[int]) -> str:
    names = ", ".join(f"releases/{number}" for number in numbers[:_MOST_RELEASES])
    return f"{names}, …" if len(numbers) > _MOST_RELEASES else names


def _listed(columns: Sequence[str]) -> str:
    names = ", ".join(map(shortened, columns[:_MOST_COLUMNS]))
    more = f" and {len(columns) - _MOST_COLUMNS:,} more" if len(columns) > _MOST_COLUMNS else ""
    return f"the column {names} has the same values" if len(columns) == 1 else f"{names}{more} have the same values"
