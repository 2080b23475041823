"""A session of Spark: it reads and writes rows, and leaves everything small to the embedded database."""

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyspark
from numpy.typing import NDArray
from pyspark.sql.connect import session as spark_connect
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.functions import lit
from pyspark.sql.connect.plan import SQL
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType
from sqlglot import exp

from tableveil.backend import Ledger, Listed, Session, Traits, Visibility, drop, identifier, render, sql, table
from tableveil.backend.redacted import without_literals
from tableveil.control import Control
from tableveil.errors import Fault, InvalidError, TableveilError
from tableveil.policy import Policy, TableReference
from tableveil.spark.connection import SparkConnection
from tableveil.spark.dialect import rendered
from tableveil.spark.types import column_type, lent, unsupported

logger = logging.getLogger("tableveil.spark")

T = TypeVar("T")

Statement = exp.Expr | str
"""A tree, or text in DuckDB's dialect."""

BROADCAST_BYTES = 64 * 2**20
"""Lent tables up to this size are sent to all executors; larger ones are joined as Spark sees fit."""

ROWS_OF_ONE_FILE = 1_000_000
"""Sorted tables of up to so many rows are one file: Spark bounds several by a sample of rows as they come."""

INSERTED_ROWS = 500_000
"""Rows that reach the embedded database at once: Spark's batches have some ten thousand."""


TRAITS = Traits(
    collects=True,
    transactional=False,
    keeps_ledger=False,
    views_keep_rows=False,
    reads_views=True,
    comments=False,
    knows_readers=False,
    shared=True,
    names_collations=True,
)


class SparkSession:
    """Runs statements in Spark, and keeps what it collects in the `embedded` session. Use it from one thread at a time.

    While `control` is set, a statement that runs when it says to stop ends with `Stopped`.
    """

    traits = TRAITS

    def __init__(self, warehouse: str, url: str, embedded: Session, most_collected: int) -> None:
        """Connects; see `SparkConnection` for the errors. A job may collect `most_collected` bytes at a time."""
        self.catalog = self.warehouse = warehouse
        self.embedded = embedded
        self.control: Control | None = embedded.control
        self.memory = embedded.memory
        self.most_collected = most_collected
        self.token = secrets.token_hex(8)
        self._lent: dict[str, pa.Table] = {}
        self._connection = SparkConnection(warehouse, url, self.token, self.control)
        self.hashes = "xxhash64"
        self.versions: Mapping[str, str] = {"spark": self._connection.version, "pyspark": pyspark.__version__}

    @property
    def ledger(self) -> Ledger:
        """The access to the ledger, which is in the embedded database."""
        return self.embedded.ledger

    @property
    def visibility(self) -> Visibility:
        """The names that are found."""
        return self.embedded.visibility

    @property
    def id(self) -> str:
        """The server's name for the session, by which its operator finds it."""
        return self._connection.id

    def end(self, token: str) -> None:
        """Ends the session of an earlier process, whose statements Spark goes on with."""
        self._connection.end(token)

    def close(self) -> None:
        """Ends the session on the server; its views and what was lent go with it."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # --- results ----------------------------------------------------------------------------------------------------

    def execute(self, statement: Statement, parameters: Sequence[object] = ()) -> None:
        """Runs a statement without reading its result."""
        spark_sql = rendered(statement, parameters, self.catalog)
        self._send_lent(spark_sql.text)
        with _logged(statement):
            self._connection.run(
                lambda spark: spark.sql(spark_sql.text, args=spark_sql.arguments or None), self.control
            )

    def rows(self, statement: Statement, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The result's rows; for small results only."""
        result = self._run(statement, parameters, _fetched)
        return list(zip(*(_values(source_column) for source_column in result.columns), strict=True))

    def row(self, statement: Statement, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        """The single row of a result that has exactly one."""
        (row,) = self.rows(statement, parameters)
        return row

    def value(self, statement: Statement, parameters: Sequence[object] = ()) -> Any:
        """The single value of a result of one row and one column."""
        (value,) = self.row(statement, parameters)
        return value

    def arrays(self, statement: Statement, parameters: Sequence[object] = ()) -> dict[str, NDArray[Any]]:
        """The result as one numpy array per column, without NULLs."""
        result = self._run(statement, parameters, _fetched)
        return {name: np.asarray(result.column(i)) for i, name in enumerate(result.column_names)}

    def described(self, query: Statement) -> list[tuple[str, str]]:
        """The names and types of a query's columns, in the common vocabulary; the query is bound and not run."""
        fields = self._run(query, (), lambda frame: frame.schema)
        return [(field.name, column_type(field.dataType.simpleString())) for field in fields]

    def described_tables(self, tables: Sequence[exp.Table]) -> list[list[tuple[str, str]]]:
        """The names and types of the columns of each table or view."""
        return [self.described(exp.select("*").from_(one.copy())) for one in tables]

    def noted(self, target: exp.Table) -> list[str]:
        """The columns of a table that have comments or other metadata."""
        fields = self._run(exp.select("*").from_(target.copy()), (), lambda frame: frame.schema)
        return [field.name for field in fields if field.metadata]

    # --- between both databases -------------------------------------------------------------------------------------

    def view(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> None:
        """Names the rows of a query for the session's next statements; Spark computes them each time."""
        self._run(query, parameters, lambda frame: frame.createOrReplaceTempView(name))

    def forget(self, name: str) -> None:
        """Drops a view, or what was lent under that name."""
        self._lent.pop(name, None)
        self.execute(drop("VIEW", table(name), if_exists=True))

    def collect(self, name: str, query: Statement, parameters: Sequence[object] = ()) -> int:
        """Keeps the rows of a query in a temporary table of the embedded session, and returns their number.

        Raises:
            InvalidError: they take more than `most_collected` bytes, or hold text that is not UTF-8.
        """
        schema, stream = self._run(query, parameters, _streamed)
        types = [(field.name, column_type(field.dataType.simpleString())) for field in schema]
        columns = [exp.ColumnDef(this=identifier(of), kind=exp.DataType.build(type_, "duckdb")) for of, type_ in types]
        target = table(name)
        self.embedded.execute(drop("TABLE", target, if_exists=True))
        temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
        schema_of = exp.Schema(this=target.copy(), expressions=columns)
        self.embedded.execute(exp.Create(this=schema_of, kind="TABLE", properties=temporary))
        rows = size = 0
        for some in self._drained(query, stream):
            rows, size = rows + some.num_rows, size + some.nbytes
            if size > self.most_collected:
                self.embedded.execute(drop("TABLE", target))
                raise self._too_much()
            with self.embedded.relation(f"collected_{name}", some):
                self.embedded.execute(exp.insert(exp.select("*").from_(table(f"collected_{name}")), target.copy()))
        return rows

    def lend(self, name: str) -> None:
        """Makes a temporary table of the embedded session, as it is now, readable here under its name.

        It is sent with the first statement that names it: a check of a policy names few.
        """
        self._lent[name] = self._embedded_rows(exp.select("*").from_(table(name)))

    def create(self, target: exp.Table, query: exp.Query) -> None:
        """Creates a table from a query of the embedded session, in one file that has the order of its rows."""
        name = f"created_{secrets.token_hex(8)}"
        self._lend(name, self._embedded_rows(query), lambda frame: frame.coalesce(1))
        self.write(target, exp.select("*").from_(table(name)))

    # --- tables -----------------------------------------------------------------------------------------------------

    def write(self, target: exp.Table, query: exp.Query, parameters: Sequence[object] = ()) -> None:
        """Creates a table, in the order of the query's rows within and across its files; there must be none.

        It is created empty, and then its rows are written: a killed CREATE TABLE AS leaves files that no DROP finds. It
        also takes over what is noted of the source's columns: comments, and lists of values of models (`ml_attr`).
        """
        query = query.copy()
        ordered = next((node for node in query.find_all(exp.Select) if node.args.get("order")), None)
        if ordered is not None:
            rows = sql("SELECT count(*) FROM $rows", rows=ordered.args["from_"].this)
            if self.value(rows, parameters) <= ROWS_OF_ONE_FILE:
                ordered.set("hint", exp.Hint(expressions=[exp.var("REPARTITION(1)")]))
        fields = self._run(query.copy().limit(0), parameters, lambda frame: frame.schema)
        types = [(field.name, exp.DataType.build(field.dataType.simpleString(), dialect="spark")) for field in fields]
        columns = [exp.ColumnDef(this=identifier(name), kind=type_) for name, type_ in types]
        self.execute(exp.Create(this=exp.Schema(this=target.copy(), expressions=columns), kind="TABLE"))
        self.execute(exp.insert(query, target.copy()), parameters)

    def rename(self, written: exp.Table, to: exp.Table) -> None:
        """Gives a table another name in its schema."""
        self.execute(exp.Alter(this=written, kind="TABLE", actions=[exp.AlterRename(this=to)]))

    def schemas(self) -> list[str]:
        """The schemas, which Spark calls databases."""
        return [name for (name,) in self._shown("DATABASES")]

    def listed(self, schema: str | None = None) -> list[Listed]:
        """The tables and views, temporary ones aside, of the schema or of all; by schema and name."""
        tables: list[Listed] = []
        for each in sorted(self.schemas()):
            if schema in (None, each):
                views = {name for _, name, *_ in self._shown("VIEWS", each)}
                names = sorted(name for _, name, temporary in self._shown("TABLES", each) if not temporary)
                tables += [Listed(each, name, "view" if name in views else "table", None, None) for name in names]
        return tables

    def scope(self, schema: str) -> str:
        """The schema's name in rights and in the ledger: the warehouse's before it."""
        return f"{self.catalog}.{schema}"

    def recorded(self, table_reference: TableReference) -> TableReference:
        """The table without a catalog: the name of the warehouse is before that of its schema."""
        return TableReference("", self.scope(table_reference.schema), table_reference.table)

    def unsupported(self, policy: Policy) -> list[Fault]:
        """A fault for each wish of a policy that this engine cannot fulfil."""
        return unsupported(policy)

    def reading(self) -> AbstractContextManager[None]:
        """Nothing: Spark has none over several statements. Fingerprints before and after find changes."""
        return nullcontext()

    # --- how statements run -----------------------------------------------------------------------------------------

    def _run(self, statement: Statement, parameters: Sequence[object], read: Callable[[DataFrame], T]) -> T:
        """Reads the result of a query, in one call: PySpark's own way takes one more to analyze it, and one to bind."""
        spark_sql = rendered(statement, parameters, self.catalog)
        self._send_lent(spark_sql.text)

        def run(spark: spark_connect.SparkSession) -> T:
            given = spark_sql.arguments
            names = {name: lit(value) for name, value in given.items()} if isinstance(given, dict) else {}
            places = [lit(value) for value in given] if isinstance(given, list) else []
            return read(DataFrame(SQL(spark_sql.text, places, names), spark))

        with _logged(statement):
            return self._connection.run(run, self.control)

    def _shown(self, what: str, schema: str = "") -> list[tuple[Any, ...]]:
        # sqlglot renders no SHOW for Spark.
        within = f" IN `{schema.replace('`', '``')}`" if schema else ""
        names = self._connection.run(lambda spark: spark.sql(f"SHOW {what}{within}").toArrow(), self.control)
        return list(zip(*(_values(each) for each in names.columns), strict=True))

    def _drained(self, statement: Statement, stream: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The batches of a stream, put together to some hundred thousand rows."""
        held: list[pa.Table] = []
        while True:
            with _logged(statement):
                some = self._connection.run(lambda _: next(stream, None), self.control)
            if some is not None:
                held.append(some)
            if held and (some is None or sum(each.num_rows for each in held) >= INSERTED_ROWS):
                yield self._checked(pa.concat_tables(held))
                held = []
            if some is None:
                return

    def _checked(self, some: pa.Table) -> pa.Table:
        """Spark takes any bytes for text, and DuckDB does not."""
        try:
            some.validate(full=True)
        except pa.ArrowInvalid:
            actual = "text that is not UTF-8 in a column"
            raise InvalidError.of("TEXT_INVALID", self.catalog, actual, "UTF-8; decode() makes it of bytes") from None
        return some

    def _too_much(self) -> InvalidError:
        return InvalidError.of(
            "COLLECTS_TOO_MUCH",
            self.catalog,
            f"more than {self.most_collected:,} bytes of values or combinations",
            "few enough to search in the server's memory",
            "Raise the least levels of columns with many values, leave such columns out, or raise --memory-limit.",
        )

    def _embedded_rows(self, query: exp.Query) -> pa.Table:
        return lent(self.embedded.batches(query, INSERTED_ROWS).read_all())

    def _send_lent(self, text: str) -> None:
        for name in [name for name in self._lent if name in text]:
            rows = self._lent.pop(name)
            self._lend(name, rows, _broadcast if rows.nbytes <= BROADCAST_BYTES else _as_it_is)

    def _lend(self, name: str, rows: pa.Table, shaped: Callable[[DataFrame], DataFrame]) -> None:
        # With a schema of Spark's: without, a time without a zone would be taken to be one of a zone.
        schema = from_arrow_schema(rows.schema, prefer_timestamp_ntz=True)
        self._connection.run(
            lambda spark: shaped(spark.createDataFrame(rows, schema)).createOrReplaceTempView(name), self.control
        )


def _broadcast(frame: DataFrame) -> DataFrame:
    return frame.hint("broadcast")


def _as_it_is(frame: DataFrame) -> DataFrame:
    return frame


def _fetched(frame: DataFrame) -> pa.Table:
    rows, _ = frame._to_table()
    return rows


def _streamed(frame: DataFrame) -> tuple[StructType, Iterator[pa.Table]]:
    """The columns, and the rows as they come; PySpark's own way to them collects everything first."""
    client = frame.sparkSession.client
    batches = iter(client.to_table_as_iterator(frame._plan.to_proto(client), {}))
    schema = next(batches)
    return schema, (some for some in batches if isinstance(some, pa.Table))


def _values(chunked_array: pa.ChunkedArray) -> list[Any]:
    """The values as Python has them; whole decimals, which sums of hashes are, as int."""
    values: list[Any] = chunked_array.to_pylist()
    if pa.types.is_decimal(chunked_array.type) and chunked_array.type.scale == 0:
        return [int(value) if isinstance(value, Decimal) else value for value in values]
    return values


@contextmanager
def _logged(statement: Statement) -> Iterator[None]:
    """Logs a statement that fails, without its literals: they may be values."""
    try:
        yield
    except TableveilError as error:
        text = statement if isinstance(statement, str) else render(statement)
        logger.warning("statement failed: %s: %s", error.code, without_literals(text))
        raise
