"""Hierarchies as the service offers them: what is stored, read and compared, and which field is at fault if not."""

import pytest

from tableveil.backend import Database
from tableveil.control import Control, Stopped
from tableveil.dictionary import PreviewRequest
from tableveil.errors import InvalidError, NotFoundError
from tableveil.hierarchy import InlineLevels, StoredLevels
from tableveil.lookups import Hierarchies

ROWS = [("a", "x", "*"), ("b", "x", "*")]


def test_what_is_stored_is_read_and_compared(database: Database) -> None:
    hierarchies = Hierarchies(database)
    hierarchies.create("zip", ROWS, "zip.csv")
    hierarchies.create("zip", ROWS[:1])
    with hierarchies.read(StoredLevels("zip", 1)) as (stored, batches):
        assert (stored.reference, stored.origin) == ("zip@1", "zip.csv")
        assert [row for batch in batches for row in batch] == ROWS
    found = hierarchies.compare(StoredLevels("zip", 1), StoredLevels("zip"), 1)
    assert (found.later.reference, found.removed, found.removed_examples) == ("zip@2", 1, ("b",))


def test_what_is_not_there(database: Database) -> None:
    hierarchies = Hierarchies(database)
    hierarchies.create("zip", ROWS)
    for earlier, later, field in (
        (StoredLevels("zap"), StoredLevels("zip"), "earlier.name"),
        (StoredLevels("zip"), StoredLevels("zip", 2), "later.version"),
    ):
        with pytest.raises(NotFoundError) as raised:
            hierarchies.compare(earlier, later, 0)
        assert [fault.field for fault in raised.value.faults] == [field]
    with pytest.raises(NotFoundError) as raised, hierarchies.read(StoredLevels("zap")):
        pass
    assert raised.value.faults[0].field == "hierarchy.name"
    assert raised.value.faults[0].hint == "Did you mean 'zip'?"


def test_an_origin_is_a_name_and_no_document(database: Database) -> None:
    with pytest.raises(InvalidError) as raised:
        Hierarchies(database).create("zip", ROWS, "x" * 1001)
    assert [fault.field for fault in raised.value.faults] == ["origin"]
    assert Hierarchies(database).page(("", 0), 10) == []


def test_a_preview_that_nobody_waits_for_any_more_stops(database: Database) -> None:
    control = Control()
    control.cancel()
    request = PreviewRequest(StoredLevels("zip"))
    with pytest.raises(Stopped):
        Hierarchies(database).preview(request, control)
    rows = tuple(ROWS)
    found = Hierarchies(database).preview(PreviewRequest(InlineLevels(rows)), Control())
    assert found.domain_size == 2
