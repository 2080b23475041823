"""Checks the numbers of suppressed records by label: counted again from the source, and safe beside their sum."""

from collections.abc import Mapping, Sequence

from tableveil.backend import WarehouseSession
from tableveil.policy import Policy
from tableveil.verification.text import near, quoted
from tableveil.verification.written import Written


def check_told(session: WarehouseSession, policy: Policy, marker: str, written: Written) -> list[str]:
    """Faults of the facts that `release.suppressed_by` asks for."""
    if not policy.release.suppressed_by or written.explained is None:
        return []
    catalog, schema, _ = written.explained
    about = near(session, "written_about", f"SELECT * FROM {quoted(catalog, schema, policy.release.about_name)}")
    facts: dict[str, str] = dict(
        session.embedded.rows(f"SELECT fact, value FROM {about} WHERE starts_with(fact, 'suppressed_by ')")
    )
    problems = []
    for name in policy.release.suppressed_by:
        stated = {fact: facts.pop(fact) for fact in [*facts] if _is_of(fact, name)}
        if fault := _fault(_suppressed(session, marker, written, name), stated, name, policy.k or 0):
            problems.append(f"suppressed records by {name}: {fault}")
    return [*problems, *(["the facts tell of suppressed records by other columns"] if facts else [])]


def _is_of(fact: str, name: str) -> bool:
    rest = fact.removeprefix("suppressed_by ")
    return rest == name or rest.startswith((f"{name} = ", f"{name} IS NULL"))


def _suppressed(session: WarehouseSession, marker: str, written: Written, name: str) -> Mapping[str | None, int]:
    """The suppressed records of each label that the source has at the released level."""
    j = next(j for j, labels in enumerate(written.labels) if labels.column == name)
    labels, joins, condition = written.released_labels("s")
    source = f"SELECT {labels[j]} FROM {written.source_rows} AS s {joins} WHERE {condition}"
    kept = f"WHERE NOT {quoted(marker)}" if marker else ""
    rows = f"SELECT {quoted(name)}, -1 FROM {quoted(*written.rows)} {kept}"
    counted = f"SELECT label, sum(one)::BIGINT FROM (SELECT *, 1 FROM ({source}) UNION ALL {rows}) AS b(label, one)"
    session.collect("counted_labels", f"SELECT * FROM ({counted} GROUP BY label) AS c(label, suppressed)")
    read_rows = session.embedded.rows("SELECT label::VARCHAR, suppressed FROM counted_labels")
    session.embedded.execute("DROP TABLE counted_labels")
    return dict(read_rows)


def _fault(suppressed: Mapping[str | None, int], told: Mapping[str, str], name: str, k: int) -> str:
    if dict(told) == {f"suppressed_by {name}": "not told"}:
        return ""
    expected = {
        f"suppressed_by {name} IS NULL" if label is None else f"suppressed_by {name} = {label}": count
        for label, count in suppressed.items()
    }
    if expected.keys() != told.keys():
        return "other labels than those of the source"
    if not all(_is_true(told[fact], count, k) for fact, count in expected.items()):
        return "other numbers than those of the source"
    if 0 < sum(suppressed.values()) < 2 * k:
        return "numbers of few records"
    hidden = [words for words in told.values() if not words.isdecimal()]
    total = sum(count for fact, count in expected.items() if not told[fact].isdecimal())
    return "" if _is_safe(hidden, total, k) else "numbers that follow from the others"


def _is_true(words: str, count: int, k: int) -> bool:
    if words.isdecimal():
        return int(words) == count and (count == 0 or count >= k)
    return words == "not told" or (words == f"fewer than {k}" and 0 < count < k)


def _is_safe(hidden: Sequence[str], total: int, k: int) -> bool:
    """Whether each number that is told as small may be any from 1 to k - 1, by the sum of the hidden ones.

    Another hidden number is 0 or at least k, or it would be told as small.
    """
    small = sum(words != "not told" for words in hidden)
    if not hidden:
        return True
    least, most = small - 1, (small - 1) * (k - 1)
    other = len(hidden) - small
    return small > 0 and all(
        least <= total - one <= most or (other > 0 and total - one - least >= k) for one in range(1, k)
    )
