"""Only one module of each engine knows its functions, and one DuckDB's catalog, so that few places know an engine."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BACKEND = ROOT / "sql/tableveil/backend"
SPARK = ROOT / "sql/tableveil/spark/dialect.py"


@pytest.mark.parametrize(
    ("known", "only"),
    [
        (r"\bAnonymous(AggFunc)?\b|\bexp\.func\(", [BACKEND / "expressions.py", SPARK]),
        (r"\bduckdb_\w+\(\)|\bpragma_\w+\(|\b(information_schema|pg_catalog)\b", [BACKEND / "catalog.py"]),
    ],
)
def test_one_module_knows(known: str, only: list[Path]) -> None:
    sources = [path for root in ("sql", "service") for path in (ROOT / root / "tableveil").rglob("*.py")]
    # Endpoints serve files of DuckDB, whatever engine the tables are in.
    found = [path for path in sources if re.search(known, path.read_text()) and path.parent.name != "endpoint"]
    assert sorted(found) == only


def test_the_state_takes_the_ledger_and_no_session() -> None:
    modules = (ROOT / "sql/tableveil/state").glob("*.py")
    assert [path for path in modules if re.search(r"\b[Ss]ession\b", path.read_text())] == []
