"""Through whose eyes the database is seen: work sees only what its principal may see; all else is not there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


def folded(name: str) -> str:
    """A name as the database compares it: without regard to the case of ASCII letters."""
    return name.encode().lower().decode()


@dataclass(frozen=True, slots=True)
class Scopes:
    """Parts of the database: all of it, whole schemas, single tables, releases by their numbers; names are folded."""

    everything: bool = False
    schemas: frozenset[str] = frozenset()
    tables: frozenset[tuple[str, str]] = frozenset()
    releases: frozenset[int] = frozenset()

    def has_schema(self, schema: str) -> bool:
        """Whether all of a schema is here."""
        return self.everything or folded(schema) in self.schemas

    def has_table(self, schema: str, table: str) -> bool:
        """Whether a table is here, by itself or with its schema."""
        return self.has_schema(schema) or (folded(schema), folded(table)) in self.tables

    def reaches(self, schema: str) -> bool:
        """Whether a schema is here, or a table of it."""
        return self.has_schema(schema) or any(name == folded(schema) for name, _ in self.tables)


ALL = Scopes(everything=True)


@dataclass(frozen=True, slots=True)
class Visibility:
    """The view of one principal, by the roles that count for the running work.

    Tables, and the evidence made of them, are seen where they are `owned`; releases also where they are `reviewed`,
    without values, or `published`, as their public objects alone. Results of other jobs, and the rows of releases that
    wait for approval, are also seen where releases are `judged`. Jobs are the principal's own unless `every_job` is
    seen. Matches of releases that are seen are told if both are, or if `every_match` is. Work that was admitted keeps
    the `admitted` rights of then, by which it compares releases.
    """

    principal: str = ""
    owned: Scopes = Scopes()
    reviewed: Scopes = Scopes()
    judged: Scopes = Scopes()
    published: Scopes = Scopes()
    every_job: bool = False
    every_match: bool = False
    admitted: Scopes | None = None

    @property
    def compared(self) -> Scopes:
        """The parts of which releases are compared with a new one: what was owned at admission, or is owned now."""
        return self.owned if self.admitted is None else self.admitted


EVERYTHING = Visibility(owned=ALL, every_job=True)
"""The view of the server itself."""

VisibilityNow = Callable[[], Visibility]
"""Gives the view of one principal as it is now."""

_VISIBILITY: ContextVar[VisibilityNow] = ContextVar("visibility", default=lambda: EVERYTHING)


def present_visibility() -> VisibilityNow:
    """The visibility of the running work, for work that goes on in another thread."""
    return _VISIBILITY.get()


def see_from_now_on(visibility: VisibilityNow) -> None:
    """Lets the sessions that this context opens see what `visibility` gives: as of a call, with its own context."""
    _VISIBILITY.set(visibility)


@contextmanager
def seeing(visibility: VisibilityNow) -> Iterator[None]:
    """While the block runs, sessions that this thread opens see what `visibility` gives."""
    token = _VISIBILITY.set(visibility)
    try:
        yield
    finally:
        _VISIBILITY.reset(token)
