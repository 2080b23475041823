"""Dataclasses as rows of the state's tables: a field is the column of its name, and is read as its type says.

Texts, numbers, flags and times are stored as they are, an enum as its value, a decimal as its digits, a tuple as a
list, a mapping as a map, a warning with its rank before it. A field that is a dataclass takes a column for each of its
own fields; if it may be None, NULLs in all of them stand for None. A `TableReference` in `source` takes
`source_catalog`, `source_schema` and `source_table`. A tuple of dataclasses is no column: it is in the row's document,
which `codec.py` writes, or its elements have a table of their own, in which each begins with the key of its row.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from decimal import Decimal
from enum import Enum
from itertools import islice
from operator import itemgetter
from types import NoneType
from typing import Any, Generic, TypeVar, cast, get_args, get_origin, get_type_hints

from tableveil.backend import Ledger
from tableveil.errors import Warned
from tableveil.policy import TableReference
from tableveil.state import codec
from tableveil.state.seen import UNHIDDEN, Audience, Condition, Seen, by_reads

Row = TypeVar("Row")

SOURCE_COLUMNS = {part: f"source_{part}" for part in ("catalog", "schema", "table")}
"""The columns of a table whose rows are of `TableReference`."""


class Table(Generic[Row]):
    """A table of the state whose rows are of one dataclass."""

    def __init__(
        self,
        name: str,
        row: type[Row],
        *key: str,
        position: bool = False,
        names: Mapping[str, str | None] | None = None,
        parts: Mapping[str, Table[Any]] | None = None,
        beside: Sequence[Table[Any]] = (),
        document: Sequence[str] = (),
    ) -> None:
        """`key` are the columns before those of the dataclass, which say to which row of another table these belong.

        With a `position` the rows of a key are counted from 0. `names` has the columns that are not called as their
        fields, by path (`proof.seconds`), and None for fields that are no columns. `parts` has the tables of the fields
        that are tuples of dataclasses, by path. Their key is the number of the row here, and they have no parts.
        The tables `beside` have such keys too, but are written and read by others. The column `document` has the fields
        of this name, by path, each by its last name.
        """
        self.name = name
        self._key = key
        self._position = ("position",) if position else ()
        self._fields = _Fields(row, {**(names or {}), **dict.fromkeys(document)})
        self._parts = parts or {}
        self._beside = beside
        self._document = {path: (path.rpartition(".")[2], _hint(row, path)) for path in document}

    def insert(self, ledger: Ledger, rows: Sequence[Row], *key: object) -> None:
        """Appends the rows of one key, in their order, with their parts; call it in a transaction."""
        self.insert_all(ledger, {key: rows})

    def insert_all(self, ledger: Ledger, rows: Mapping[Any, Sequence[Row]]) -> None:
        """Appends the rows of several keys, which are tuples, in one statement: each statement takes a millisecond."""
        keyed = [
            ((*key, *((position,) if self._position else ())), row)
            for key, of_one in rows.items()
            for position, row in enumerate(of_one)
        ]
        if not keyed:
            return
        columns = (*self._key, *self._position, *self._columns)
        values = f"({', '.join('?' * len(columns))})"
        ledger.execute(
            f"INSERT INTO tableveil.{self.name} ({', '.join(columns)}) VALUES {', '.join([values] * len(keyed))}",
            [value for key, row in keyed for value in (*key, *self._fields.values(row), *self._documents(row))],
        )
        for path, part in self._parts.items():
            part.insert_all(ledger, {(_at(row, "number"),): _at(row, path) or () for _, row in keyed})

    def of(self, ledger: Ledger, numbers: Collection[int], only: str = "") -> defaultdict[int, list[Row]]:
        """The rows that belong to those numbers, in their order, by number.

        `only` may leave out rows, by QUALIFY.
        """
        return of_each(ledger, numbers, [self], only)[0]

    def where(self, ledger: Ledger, condition: str, parameters: Sequence[object], order: str = "") -> list[Row]:
        """The rows with a condition."""
        return [row for _, row in self.keyed(ledger, condition, parameters, order)]

    def delete(self, ledger: Ledger, number: int) -> None:
        """Deletes the rows that belong to that number, with their parts; call it in a transaction."""
        for part in (*self._parts.values(), *self._beside):
            part.delete(ledger, number)
        column = self._key[0] if self._key else "number"
        ledger.execute(f"DELETE FROM tableveil.{self.name} WHERE {column} = ?", [number])

    def names(self) -> Iterator[str]:
        """The name, and those of all tables of its parts."""
        yield self.name
        for part in (*self._parts.values(), *self._beside):
            yield from part.names()

    def keyed(
        self, ledger: Ledger, condition: str, parameters: Sequence[object], order: str = ""
    ) -> list[tuple[tuple[Any, ...], Row]]:
        """The rows with a condition, each with its key and position, or its number."""
        own = (*self._key, *self._position) or ("number",)
        columns = ", ".join((*own, *self._columns))
        read_rows = ledger.rows(f"SELECT {columns} FROM tableveil.{self.name} WHERE {condition} {order}", parameters)
        of_parts = of_each(ledger, {values[0] for values in read_rows}, list(self._parts.values()))

        def read(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Row]:
            given = {path: tuple(rows[values[0]]) for path, rows in zip(self._parts, of_parts, strict=True)}
            if self._document:
                parts = json.loads(values[-1])
                given |= {path: codec.typed(kind, parts[name]) for path, (name, kind) in self._document.items()}
            return values[: len(own)], self._fields.read(iter(values[len(own) :]), given)

        return [read(values) for values in read_rows]

    def read_part(self, values: Iterable[Any]) -> Row:
        """The row with these values of `part_columns`."""
        return cast(Row, self._fields.read(iter(values), {}))

    @property
    def part_columns(self) -> tuple[str, tuple[str, ...], str]:
        """The column of the number to which rows belong, those of their own, and that of their place among others."""
        return self._key[0], self._columns, self._position[0] if self._position else "rowid"

    @property
    def _columns(self) -> tuple[str, ...]:
        return (*self._fields.columns, *(("document",) if self._document else ()))

    def _documents(self, row: Row) -> Iterator[str]:
        if self._document:
            yield codec.written({name: _at(row, path) for path, (name, _) in self._document.items()})


def of_each(
    ledger: Ledger, numbers: Collection[int], tables: Sequence[Table[Any]], only: str = ""
) -> list[defaultdict[int, list[Any]]]:
    """The rows of several tables that belong to those numbers, as `Table.of` has them: statements take milliseconds."""
    found: list[defaultdict[int, list[Any]]] = [defaultdict(list) for _ in tables]
    if not (numbers and tables):
        return found
    selected, parameters, places = list[str](), list[object](), {"of_table": 0, "of_number": 1, "of_place": 2}
    for part, each in enumerate(tables):
        key, columns, place = each.part_columns
        condition, values = _among(key, numbers)
        wanted = ", ".join((f"{part} AS of_table, {key} AS of_number, {place} AS of_place", *columns))
        selected.append(f"SELECT {wanted} FROM tableveil.{each.name} WHERE {condition} {only}")
        parameters += values
        for column in columns:
            places.setdefault(column, len(places))
    of_table = [[places[column] for column in each.part_columns[1]] for each in tables]
    # DuckDB takes longer to plan an order of a few rows than Python to sort them.
    for row in sorted(ledger.rows(" UNION ALL BY NAME ".join(selected), parameters), key=itemgetter(2)):
        found[row[0]][row[1]].append(tables[row[0]].read_part(row[place] for place in of_table[row[0]]))
    return found


class NumberedTable(Table[Row]):
    """A table whose rows have a number of their own: its column `number`, from a sequence."""

    def __init__(
        self,
        name: str,
        row: type[Row],
        sequence: str,
        *,
        names: Mapping[str, str | None] | None = None,
        parts: Mapping[str, Table[Any]] | None = None,
        beside: Sequence[Table[Any]] = (),
        document: Sequence[str] = (),
        seen: Seen = lambda visibility: UNHIDDEN,
        reviewed: bool = False,
    ) -> None:
        """The numbers come from `sequence`. Rows that are not `seen` are neither found nor listed.

        If rows are `reviewed`, their field `audience` says whether the reader owns all tables that their jobs read.
        """
        names = {**(names or {}), "audience": None} if reviewed else names
        super().__init__(name, row, names=names, parts=parts, beside=beside, document=document)
        self._reviewed = reviewed
        self._sequence = sequence
        self._seen = seen

    def next_number(self, ledger: Ledger) -> int:
        """A number that no row has."""
        number: int = ledger.value(f"SELECT nextval('tableveil.{self._sequence}')")
        return number

    def find(self, ledger: Ledger, number: int) -> Row | None:
        """The row of that number."""
        if not self.shows(ledger, number):
            return None
        return next(iter(self._for_reader(ledger, self.among(ledger, [number]))), None)

    def shows(self, ledger: Ledger, number: int) -> bool:
        """Whether the row of that number is seen, if there is one; the time does not tell whether there is one.

        As a condition of the row's query it would only be computed for rows that are there.
        """
        seen, values = self._seen(ledger.visibility)
        wanted = f"(SELECT ?::BIGINT AS number) LEFT JOIN tableveil.{self.name} USING (number)"
        return bool(ledger.value(f"SELECT coalesce({seen}, false) FROM {wanted}", [*values, number]))

    def seen_where(self, ledger: Ledger, condition: str, parameters: Sequence[object], order: str = "") -> list[Row]:
        """The rows with a condition that the ledger shows; the order has no parameters."""
        seen, values = self._seen(ledger.visibility)
        return self._for_reader(ledger, self.where(ledger, f"{condition} AND {seen}", [*parameters, *values], order))

    def found(self, ledger: Ledger, numbers: Collection[int]) -> dict[int, Row]:
        """The rows of these numbers that the ledger shows, as `seen_where` has them, by number."""
        if not numbers:
            return {}
        rows = cast(list[Any], self.seen_where(ledger, *_among("number", numbers)))
        return {row.number: row for row in rows}

    def among(self, ledger: Ledger, numbers: Collection[int]) -> list[Row]:
        """The rows with these numbers that exist, in any order; they say nothing of who reads them."""
        return self.where(ledger, *_among("number", numbers))

    def numbers_of(self, ledger: Ledger, job: int) -> list[int]:
        """The numbers of the rows that a job stored."""
        return [number for (number,) in ledger.rows(f"SELECT number FROM tableveil.{self.name} WHERE job = ?", [job])]

    def page(self, ledger: Ledger, before: int | None, size: int, only: Condition = UNHIDDEN) -> list[Row]:
        """The next `size` rows with numbers below `before` that meet a condition, newest first."""
        below = before if before is not None else 2**62
        text, values = only
        order = f"ORDER BY number DESC LIMIT {size:d}"
        return self.seen_where(ledger, f"number < ? AND {text}", [below, *values], order)

    def _for_reader(self, ledger: Ledger, rows: list[Row]) -> list[Row]:
        """The rows, each with the audience that the ledger's reader is if rows are reviewed."""
        if not (self._reviewed and rows):
            return rows
        results = cast(list[Any], rows)
        owned, values = by_reads(ledger.visibility.owned)
        listed, numbers = _among("number", [row.number for row in results])
        query = f"SELECT number FROM tableveil.{self.name} WHERE {listed} AND {owned}"
        mine = {number for (number,) in ledger.rows(query, [*numbers, *values])}
        return [replace(row, audience=Audience.OWNER if row.number in mine else Audience.REVIEWER) for row in results]


class _Fields:
    """The columns of a dataclass, and of the dataclasses in it."""

    def __init__(self, row: type[Any], names: Mapping[str, str | None], path: str = "", prefix: str = "") -> None:
        self._row = row
        self._parts: dict[str, _Fields | _Value] = {}
        self._paths = {field.name: f"{path}{field.name}" for field in fields(row)}
        self._empty: list[str] = []
        self.columns: list[str] = []
        hints = get_type_hints(row)
        for field, inner in self._paths.items():
            kind = _kind(hints[field])
            column = names.get(inner, f"{prefix}{field}")
            if column is None or (get_origin(kind) is tuple and is_dataclass(get_args(kind)[0])):
                if _has_no_default(row, field):
                    self._empty.append(field)
                continue
            if is_dataclass(kind):
                own = f"{column}_" if kind is TableReference else ""
                part = self._parts[field] = _Fields(cast(type[Any], kind), names, f"{inner}.", own)
                self.columns += part.columns
            else:
                self._parts[field] = _Value(kind)
                self.columns.append(column)
        self._flat = [part.reader for part in self._parts.values() if isinstance(part, _Value)]
        self._is_stored = all(reader is None for reader in self._flat)
        self._is_flat = len(self._flat) == len(fields(row)) and not any(field.kw_only for field in fields(row))

    def values(self, row: object) -> Iterator[object]:
        """The row's values in the columns; NULLs if there is no row."""
        for field, part in self._parts.items():
            yield from part.values(None if row is None else getattr(row, field))

    def read(self, values: Iterator[Any], given: Mapping[str, tuple[Any, ...]]) -> Any:
        """The dataclass that has the values, or None if there are none; `given` are the other fields, by path."""
        if self._is_flat:
            # Most rows of a list are such: every field is a column.
            taken = list(islice(values, len(self._flat)))
            if taken[0] is None and all(value is None for value in taken):
                return None
            if self._is_stored:
                return self._row(*taken)
            pairs = zip(self._flat, taken, strict=True)
            return self._row(*(value if value is None or read is None else read(value) for read, value in pairs))
        parts = {field: part.read(values, given) for field, part in self._parts.items()}
        if all(value is None for value in parts.values()):
            return None
        for field, path in self._paths.items():
            if path in given or field in self._empty:
                parts[field] = given.get(path, ())
        return self._row(**parts)


class _Value:
    """A single column."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        # A list of releases has thousands of values, nearly all of which are stored as they are.
        self.reader = _reader(kind)

    def values(self, value: object) -> Iterable[object]:
        """It as the database takes it."""
        return (_stored(self._kind, value),)

    def read(self, values: Iterator[Any], given: Mapping[str, tuple[Any, ...]]) -> Any:
        """The next value as the field's type."""
        value = next(values)
        return value if value is None or self.reader is None else self.reader(value)


def _among(column: str, numbers: Collection[int]) -> tuple[str, list[object]]:
    """A condition, with its parameters; DuckDB skips blocks by the range, and takes longer to bind the list."""
    if len(numbers) == 1:
        return f"{column} = ?", list(numbers)
    span = [min(numbers, default=0), max(numbers, default=0)]
    if span[1] - span[0] + 1 == len(set(numbers)):
        return f"{column} BETWEEN ? AND ?", list(span)
    return f"{column} BETWEEN ? AND ? AND list_contains(?::BIGINT[], {column})", [*span, list(numbers)]


def _has_no_default(row: type[Any], field: str) -> bool:
    (declared_field,) = (one for one in fields(row) if one.name == field)
    return declared_field.default is MISSING and declared_field.default_factory is MISSING


def _at(row: Any, path: str) -> Any:
    for field in path.split("."):
        row = None if row is None else getattr(row, field)
    return row


def _hint(row: type[Any], path: str) -> Any:
    field, _, inner = path.partition(".")
    hint = get_type_hints(row)[field]
    return _hint(_kind(hint), inner) if inner else hint


def _kind(hint: Any) -> Any:
    """The type of a field, without None."""
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    return kinds[0] if NoneType in get_args(hint) and len(kinds) == 1 else hint


def _stored(kind: Any, value: Any) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, tuple):
        return [_stored(get_args(kind)[0], one) for one in value]
    if isinstance(value, Warned) and kind is Warned:
        return value.stored
    if isinstance(value, Mapping):
        return {"key": list(value), "value": list(value.values())}
    return value


def _reader(kind: Any) -> Callable[[Any], Any] | None:
    """Makes the field's type of a stored value that is not NULL; None if it is stored as it is."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        one = _reader(arguments[0])
        return tuple if one is None else lambda values: tuple(None if value is None else one(value) for value in values)
    if origin is not None:
        return dict
    if issubclass(kind, Enum):
        return cast(Callable[[Any], Any], kind)
    if kind is Warned:
        return Warned.from_stored
    return _decimal if kind is Decimal else None


def _decimal(value: Any) -> Decimal:
    # A column of decimals fills them with zeros, a text does not.
    return Decimal(value) if isinstance(value, str) else value.normalize()
