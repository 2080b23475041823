"""Public objects of a release as files: all of them or none, never half of one."""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tableveil.answers import MACROS
from tableveil.backend import catalog, file_name, identifier, read_only, render
from tableveil.client.formats import ExportFormat
from tableveil.client.spreadsheets import write_csv
from tableveil.errors import ConflictError, InternalError, InvalidError, TableveilError, shortened

_PARTIAL = ".partial"
_VERSION = "storage_compatibility_version"
# Rows; as many as DuckDB's own row groups have.
_ROW_GROUP = 122_880

Read = Callable[[str], pa.RecordBatchReader]


def export_objects(
    names: Sequence[str],
    read: Read,
    path: Path,
    export_format: ExportFormat,
    overwrite: bool = False,
    storage_version: str = "",
) -> list[Path]:
    """Writes the objects `names`, each in the form in which `read` streams it.

    Everything is written beside `path` and moved there at the end. A database is one that DuckDB reads from
    `storage_version` on, such as `v1.0.0`; by default, as DuckDB here writes it.

    Returns:
        The files written: one per object, or the database.

    Raises:
        InvalidError: the storage version is none, or no database is written.
        ConflictError: `path` exists and `overwrite` is false, or it does not look like an export.
    """
    path = path.absolute()
    _require_free(path, export_format, overwrite)
    _require_version(storage_version, export_format)
    try:
        with _staging(path) as staging:
            content = staging / "content"
            if export_format is ExportFormat.DUCKDB:
                files = _write_duckdb(names, read, content, staging / "spill", storage_version)
            else:
                files = _write_files(names, read, content, export_format)
            _require_free(path, export_format, overwrite)
            if path.is_dir():
                path.rename(staging / "former")
            content.rename(path)
    except OSError as error:
        message = f"cannot write {shortened(str(path))}: {error.strerror or error}"
        raise InternalError("EXPORT_FAILED", message) from error
    except (duckdb.Error, pa.ArrowException) as error:
        raise InternalError("EXPORT_FAILED", f"cannot write {shortened(str(path))}: {error}") from error
    return [path / file for file in files] or [path]


def _write_files(names: Sequence[str], read: Read, target: Path, export_format: ExportFormat) -> list[str]:
    target.mkdir()
    files = [f"{file_name(name)}.{export_format}" for name in names]
    write = _write_parquet if export_format is ExportFormat.PARQUET else write_csv
    for name, file in zip(names, files, strict=True):
        with read(name) as reader:
            write(reader, target / file)
    return files


def _write_parquet(reader: pa.RecordBatchReader, path: Path) -> None:
    with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
        for chunk in _chunks(reader):
            writer.write_table(chunk)


def _require_version(version: str, export_format: ExportFormat) -> None:
    if not version:
        return
    if export_format is not ExportFormat.DUCKDB:
        raise _unfit_version(version, f"none with the format {export_format}")
    try:
        duckdb.connect(config={_VERSION: version}).close()
    except duckdb.Error:
        raise _unfit_version(version, f"a version from v1.0.0 to v{duckdb.__version__}") from None


def _unfit_version(version: str, expected: str) -> InvalidError:
    return InvalidError.of("STORAGE_VERSION_INVALID", "storage_version", shortened(version), expected)


def _write_duckdb(names: Sequence[str], read: Read, target: Path, spill: Path, version: str) -> list[str]:
    # While DuckDB works it swallows errors raised by signal handlers: so it has a thread of its own, and this one waits
    # for it.
    config: dict[str, str | bool | int | float | list[str]] = {"temp_directory": str(spill)}
    if version:
        config[_VERSION] = version
    with duckdb.connect(target, config=config) as connection, ThreadPoolExecutor(1) as worker:
        for name in names:
            table = render(identifier(name))
            with read(name) as reader:
                worker.submit(_create, connection, table, reader.schema).result()
                for chunk in _chunks(reader):
                    worker.submit(_append, connection, table, chunk).result()
                worker.submit(connection.commit).result()
        # Analysts find the functions in a published file, too.
        for macro in MACROS:
            worker.submit(connection.execute, macro.created()).result()
        # Closing would also move the log into the file, but would not report a failure.
        worker.submit(connection.execute, "CHECKPOINT").result()
    return []


def _create(connection: duckdb.DuckDBPyConnection, table: str, schema: pa.Schema) -> None:
    connection.begin()
    connection.from_arrow(schema.empty_table()).create(table)


def _append(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    connection.from_arrow(rows).insert_into(table)


def _chunks(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """The rows in chunks large enough for row groups that compress and read well."""
    batches: list[pa.RecordBatch] = []
    for batch in reader:
        batches.append(batch)
        if sum(held.num_rows for held in batches) >= _ROW_GROUP:
            yield pa.Table.from_batches(batches)
            batches = []
    if batches:
        yield pa.Table.from_batches(batches)


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    """A private directory beside `path`, so that moving to it is one step; removed at the end in any case.

    Files that a killed process left for this path are removed first: its lock ended with it.
    """
    # Not the name itself, which may be as long as names can be, or hold characters that DuckDB interprets in paths,
    # such as "?".
    prefix = f".tableveil-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}-"
    for leftover in path.parent.glob(f"{prefix}*{_PARTIAL}"):
        with _locked(leftover) as abandoned:
            if abandoned:
                shutil.rmtree(leftover, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix=prefix, suffix=_PARTIAL, dir=path.parent))
    try:
        with _locked(staging):
            yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _locked(directory: Path) -> Iterator[bool]:
    """Holds the directory's lock, if no other process does."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)


def _require_free(path: Path, export_format: ExportFormat, overwrite: bool) -> None:
    """Refuses to write over anything, or with `overwrite`, over anything but an export of the same format."""
    if not path.parent.is_dir():
        raise InvalidError.of("PATH_NOT_FOUND", "output", shortened(str(path)), "a path in a directory that exists")
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise _in_the_way("PATH_EXISTS", path, "nothing there", "Choose another path, or --overwrite it.")
    if export_format is ExportFormat.DUCKDB:
        if path.is_symlink() or not path.is_file() or not _is_closed_export(path):
            raise _in_the_way("PATH_NOT_AN_EXPORT", path, "a DuckDB file that nobody has open and no server works with")
    elif path.is_symlink() or not path.is_dir() or any(file.suffix != f".{export_format}" for file in path.iterdir()):
        raise _in_the_way("PATH_NOT_AN_EXPORT", path, f"a directory that holds nothing but {export_format} files")


def _is_closed_export(path: Path) -> bool:
    """Whether the file is a DuckDB database, not open elsewhere, and not one that a server keeps its state in."""
    # The log of a database that was not closed would be replayed into the file that replaces it.
    if path.with_name(f"{path.name}.wal").exists():
        return False
    try:
        with read_only(path) as session:
            return "tableveil" not in catalog.schemas(session)
    except TableveilError:
        return False


def _in_the_way(code: str, path: Path, expected: str, hint: str = "") -> TableveilError:
    return ConflictError.of(code, "output", shortened(str(path)), expected, hint)
