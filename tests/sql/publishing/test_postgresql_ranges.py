"""The ranges beside labels in PostgreSQL: native, right at their ends, and kept when rows are replaced."""

import pytest

from tableveil.backend import Session
from tableveil.errors import ConflictError
from tests.postgresql import Cluster
from tests.sql.publishing.test_postgresql import database, edition, publish, session, url

__all__ = ["database", "session", "url"]

LABELS = """
CREATE OR REPLACE TABLE source.released AS SELECT label AS "a""ge", low::{0} AS "a""ge_from", high::{0} AS "a""ge_to",
  1::INTEGER AS "a""ge_rank", day, NULL::DATE AS day_from, NULL::DATE AS day_to, 1::INTEGER AS day_rank, 7 AS day_range
FROM (VALUES ('[10, 20)', 10, 20, NULL), ('[20, 30]', 20, 30, '*'), ('>= 90', 90, NULL, NULL), ('40', 40, 40, NULL),
  ('*', NULL, NULL, NULL), (NULL, NULL, NULL, NULL)) AS v(label, low, high, day)
"""


def ranges(postgresql: Cluster, url: str) -> dict[str | None, str | None]:
    rows = postgresql.rows(url, 'SELECT "a""ge", "a""ge_range"::text FROM released')
    return dict(rows)


def test_ranges_end_as_their_labels_do(session: Session, postgresql: Cluster, url: str) -> None:
    session.execute(LABELS.format("DOUBLE"))
    publish(session, url, edition(session))
    bounded = {"[10, 20)": "[10,20)", "[20, 30]": "[20,30]", ">= 90": "[90,)", "40": "[40,40]"}
    assert ranges(postgresql, url) == bounded | {"*": "(,)", None: None}
    # A column of the source keeps its name.
    assert postgresql.rows(url, "SELECT DISTINCT day_range FROM released") == [(7,)]
    possible = 'SELECT count(*) FROM released WHERE "a""ge_range" @> 20.0'
    assert postgresql.rows(url, possible) == [(2,)]
    told = "SELECT col_description('released'::regclass, attnum) FROM pg_attribute WHERE attname = 'a\"ge_range'"
    assert "as a range" in postgresql.rows(url, told)[0][0]


def test_bounds_of_another_type_have_another_range(session: Session, postgresql: Cluster, url: str) -> None:
    session.execute(LABELS.format("DOUBLE"))
    publish(session, url, edition(session))
    session.execute(LABELS.format("BIGINT"))
    for number in (8, 9):
        publish(session, url, edition(session, number=number))
        assert ranges(postgresql, url)["[20, 30]"] == "[20,31)"
    postgresql.rows(url, 'CREATE VIEW read AS SELECT "a""ge_range" FROM released')
    publish(session, url, edition(session, number=10))
    session.execute(LABELS.format("DOUBLE"))
    with pytest.raises(ConflictError, match="others depend on"):
        publish(session, url, edition(session, number=11))
    assert ranges(postgresql, url)["[20, 30]"] == "[20,31)"
