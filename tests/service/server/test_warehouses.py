"""The doctor's findings on warehouses."""

from pathlib import Path
from unittest.mock import MagicMock

from tableveil.backend import Database
from tableveil.errors import BusyError
from tableveil.operate import Level
from tableveil.server.warehouses import examine_warehouses
from tests.migrated import opened


def test_each_is_asked(tmp_path: Path) -> None:
    database: Database
    for database in opened(tmp_path / "clinic.duckdb"):
        gone = MagicMock()
        gone.session.side_effect = BusyError.of("WAREHOUSE_UNAVAILABLE", "gone", "no answer", "one", "Start it.")
        database.warehouses.update(lake=MagicMock(), gone=gone)
        found = [(each.level, each.subject, each.found, each.advice) for each in examine_warehouses(database)]
        database.warehouses.clear()
        assert found == [
            (Level.OK, "warehouse lake", "it answers", ""),
            (Level.PROBLEM, "warehouse gone", "no answer", "Start it."),
        ]
