"""The store of hierarchies: each version's rows in a table of their own, from which nobody but erased people go."""

import hashlib
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Ledger, column, create_table, table
from tableveil.errors import Fault, NotFoundError, nearest, shortened
from tableveil.hierarchy import escaped
from tableveil.state.jobs import now
from tableveil.state.mapper import Table
from tableveil.state.seen import as_folded

SCHEMA = "tableveil"

INLINE = "a policy"
"""The origin of rows that a policy brought."""

# Rows that are hashed or read at once: enough that Python's share is small, few enough to need little memory.
_AT_ONCE = 10_000

# One process owns the file, so a lock is enough to give each version one number.
_creating = threading.Lock()


@dataclass(frozen=True, slots=True)
class Stored:
    """A version of a hierarchy: `levels` counts level 0, too; `origin` says where its rows were first stored from."""

    number: int
    name: str
    version: int
    levels: int
    row_count: int
    created_at: datetime
    origin: str = ""

    @property
    def reference(self) -> str:
        """Its name in evidence and messages."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class NewHierarchy:
    """Checked rows, which are to be a version of `name`; `origin` says where they come from."""

    name: str
    rows: Sequence[Sequence[str]]
    origin: str = ""


_Key = tuple[str, str]
"""A name, and the digest of rows."""

_HIERARCHIES = Table("hierarchies", Stored, "digest")

# The schema in a name, escaped.
_SCHEMA = "CASE WHEN contains(name, '/') THEN split_part(name, '/', 1) ELSE 'main' END"


def create(ledger: Ledger, name: str, rows: Sequence[Sequence[str]], origin: str = "") -> Stored:
    """Stores checked rows as the next version of `name`, or returns the version that holds exactly these rows.

    `origin` says where they come from; an existing version keeps its origin.
    """
    (stored,) = create_all(ledger, [NewHierarchy(name, rows, origin)])
    return stored


def create_all(ledger: Ledger, wanted: Sequence[NewHierarchy]) -> list[Stored]:
    """`create` for several; the store is asked and changed once for all."""
    keys = [(one.name, _digest(one.rows)) for one in wanted]
    with _creating:
        earlier = _HIERARCHIES.keyed(ledger, "list_contains(?::VARCHAR[], name)", [[one.name for one in wanted]])
        by_digest = {(stored.name, digest): stored for (digest,), stored in earlier}
        new = {key: one for key, one in zip(keys, wanted, strict=True) if key not in by_digest}
        if new:
            newest = Counter[str]()
            for _, stored in earlier:
                newest[stored.name] = max(newest[stored.name], stored.version)
            with ledger.transaction():
                by_digest |= _insert(ledger, new, newest)
    return [by_digest[key] for key in keys]


def _insert(ledger: Ledger, new: Mapping[_Key, NewHierarchy], newest: Counter[str]) -> dict[_Key, Stored]:
    numbers = ledger.rows(f"SELECT nextval('tableveil.hierarchy_numbers') FROM range({len(new):d})")
    inserted, by_digest = {}, defaultdict(list)
    for ((name, digest), one), (number,) in zip(new.items(), numbers, strict=True):
        newest[name] += 1
        levels = len(one.rows[0])
        columns = {f"l{level}": pa.array([row[level] for row in one.rows], pa.string()) for level in range(levels)}
        with ledger.relation("hierarchy_rows", pa.table(columns)):
            select = exp.select(*(column(name) for name in columns)).from_(table("hierarchy_rows"))
            ledger.execute(create_table(_table(number), select))
        stored = inserted[name, digest] = Stored(number, name, newest[name], levels, len(one.rows), now(), one.origin)
        by_digest[digest,].append(stored)
    _HIERARCHIES.insert_all(ledger, by_digest)
    return inserted


def version_of(ledger: Ledger, reference: str) -> Stored:
    """The version with that reference in the evidence of a release, to which it belongs: any schema may have it."""
    name, _, version = reference.rpartition("@")
    (version_row,) = _HIERARCHIES.where(ledger, "name = ? AND version = ?", [name, int(version)])
    return version_row


def find(ledger: Ledger, name: str, version: int) -> Stored:
    """The version of that name, if the ledger shows it; version 0 is the newest.

    Raises:
        NotFoundError: there is none; its fault's field is `name` or `version`.
    """
    seen, values = _seen(ledger)
    versions = _HIERARCHIES.where(ledger, f"name = ? AND {seen}", [name, *values], "ORDER BY version DESC")
    if not versions:
        query = f"SELECT DISTINCT name FROM tableveil.hierarchies WHERE {seen}"
        names = [held_value for (held_value,) in ledger.rows(query, values)]
        fault = Fault("name", shortened(name), "a stored hierarchy", nearest(name, names))
        raise NotFoundError("HIERARCHY_NOT_FOUND", str(fault), [fault])
    matching = [read_version for read_version in versions if version in (0, read_version.version)]
    if not matching:
        fault = Fault(
            "version",
            str(version),
            f"a version of {shortened(name)} from 1 to {versions[0].version}, or 0 for the newest",
        )
        raise NotFoundError("HIERARCHY_NOT_FOUND", str(fault), [fault])
    return matching[0]


def rows(ledger: Ledger, stored: Stored) -> tuple[tuple[str, ...], ...]:
    """The version's rows, in the order in which they were stored; equal labels are one object."""
    read = ledger.batches(exp.select("*").from_(_table(stored.number)), _AT_ONCE).read_all()
    columns = []
    for labels in read.columns:
        encoded = labels.combine_chunks().dictionary_encode()
        distinct = np.array(encoded.dictionary.to_pylist(), dtype=np.object_)
        columns.append(distinct[encoded.indices.to_numpy()].tolist())
    return tuple(zip(*columns, strict=True))


def batches(ledger: Ledger, stored: Stored) -> Iterator[list[tuple[str, ...]]]:
    """The version's rows in batches; to be read before the ledger's next statement."""
    for batch in ledger.batches(exp.select("*").from_(_table(stored.number)), _AT_ONCE):
        yield list(zip(*(labels.to_pylist() for labels in batch.columns), strict=True))


def page(ledger: Ledger, after: tuple[str, int], size: int) -> list[Stored]:
    """The next `size` versions after (name, version), ordered by name and, within it, newest first."""
    name, version = after
    seen, values = _seen(ledger)
    condition = f"(name > ? OR (name = ? AND version < ?)) AND {seen}"
    order = f"ORDER BY name, version DESC LIMIT {size:d}"
    return _HIERARCHIES.where(ledger, condition, [name, name, version, *values], order)


def holding(ledger: Ledger, values: str) -> list[str]:
    """The shown versions that list a value of that table, by their references; its column is `value`."""
    seen, parameters = _seen(ledger)
    listing = []
    for version in _HIERARCHIES.where(ledger, seen, parameters, "ORDER BY name, version"):
        rows = f"SELECT 1 FROM {SCHEMA}.hierarchy_{version.number} SEMI JOIN {values} ON l0 = value LIMIT 1"
        listing += [f"hierarchies/{version.reference}"] if ledger.rows(rows) else []
    return listing


def forget_typed(ledger: Ledger, values: str, references: Collection[str]) -> None:
    """Deletes the rows of values of that table from versions that policies brought; call it in a transaction.

    Versions that somebody stored stay: other tables may need them. So does one that would have no row.
    """
    brought = [one for one in _HIERARCHIES.where(ledger, "origin = ?", [INLINE]) if one.reference in references]
    for version in brought:
        forget_rows(ledger, version, values)


def forget_rows(ledger: Ledger, version: Stored, values: str) -> int:
    """Deletes the rows of values of that table from a version, and returns how many others there are.

    Nothing is deleted if there are none. Call it in a transaction.
    """
    name = f"{SCHEMA}.hierarchy_{version.number}"
    others = int(ledger.value(f"SELECT count(*) FROM {name} ANTI JOIN {values} ON l0 = value"))
    if 0 < others < version.row_count:
        ledger.execute(f"DELETE FROM {name} WHERE l0 IN (SELECT value FROM {values})")
        ledger.execute(
            "UPDATE tableveil.hierarchies SET row_count = ?, digest = ? WHERE number = ?",
            [others, _digest(rows(ledger, version)), version.number],
        )
    return others


def _seen(ledger: Ledger) -> tuple[str, list[object]]:
    owned = ledger.visibility.owned
    if owned.everything:
        return "true", []
    schemas = [escaped(schema) for schema in owned.schemas]
    return f"list_contains(?::VARCHAR[], {as_folded(_SCHEMA)})", [schemas]


def table_of(stored: Stored) -> exp.Table:
    """The version's rows: columns `l0`, `l1`, … with the value and its labels."""
    return _table(stored.number)


def _table(number: int) -> exp.Table:
    return table(f"hierarchy_{number}", SCHEMA)


def _digest(rows: Sequence[Sequence[str]]) -> str:
    digest = hashlib.sha256()
    for start in range(0, len(rows), _AT_ONCE):
        texts = (repr(tuple(row)) for row in rows[start : start + _AT_ONCE])
        digest.update("".join(texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
