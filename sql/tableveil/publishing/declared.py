"""Targets as the operator declares them: `NAME=KIND:PLACE`."""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qsl

from tableveil.backend import check_path
from tableveil.errors import InvalidError, shortened
from tableveil.publishing.directory import DirectoryTarget
from tableveil.publishing.edition import Target
from tableveil.publishing.parquet import ParquetTarget
from tableveil.publishing.postgresql import PostgresqlTarget

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_EXPECTED = "NAME=directory:PATH, NAME=postgresql://… or NAME=parquet:PATH, with a name of letters, digits, '_' and '-'"


def declared_targets(declarations: Iterable[str]) -> dict[str, Target]:
    """The targets by name.

    Raises:
        InvalidError: a declaration cannot be understood, has the name of another one, or names no directory.
    """
    targets: dict[str, Target] = {}
    for declaration in declarations:
        name, _, place = declaration.partition("=")
        kind, _, rest = place.partition(":")
        if not (_NAME.fullmatch(name) and kind in ("directory", "postgresql", "postgres", "parquet") and rest):
            # A password may be in the rest.
            raise InvalidError.of("TARGET_INVALID", "publish", shortened(name), _EXPECTED)
        if name in targets:
            raise InvalidError.of("TARGET_INVALID", "publish", f"{shortened(name)} twice", "a name for each target")
        targets[name] = _target(kind, place, rest)
    return targets


def _target(kind: str, place: str, rest: str) -> Target:
    if kind == "directory":
        return DirectoryTarget(_directory(rest))
    if kind == "parquet":
        path, _, options = rest.partition("?")
        wanted = parse_qsl(options, keep_blank_values=True)
        if not all(option == "partition_by" and _PLAIN.fullmatch(column) for option, column in wanted) or (
            options and not wanted
        ):
            expected = "parquet:PATH?partition_by=COLUMN, again after '&', the columns of letters, digits and '_'"
            raise InvalidError.of("TARGET_INVALID", "publish", shortened(place), expected)
        return ParquetTarget(_directory(path), tuple(column for _, column in wanted))
    return PostgresqlTarget(place)


def directories_of(targets: Iterable[Target]) -> tuple[Path, ...]:
    """The directories that the database has to write for them."""
    return tuple(target.directory for target in targets if isinstance(target, (DirectoryTarget, ParquetTarget)))


def _directory(path: str) -> Path:
    directory = Path(path).resolve()
    check_path(directory, "publish")
    if not directory.is_dir():
        raise InvalidError.of("TARGET_INVALID", "publish", shortened(str(directory)), "an existing directory")
    return directory
