"""The judges of campaigns find broken promises: a promise that holds for one release, and fails for another."""

import pytest
import sqlglot

from tableveil.endpoint.grammar import AnalystSql
from tests.campaign.attacker.cases import Case, Method
from tests.campaign.attacker.columns import Document, QuasiIdentifier, Text
from tests.campaign.attacker.judges import Judge, ReleasedClass
from tests.campaign.expressions import compare

LETTERS = "ABCDEF"
COLUMN = QuasiIdentifier(
    "q", "VARCHAR", {"suppression_only": {}}, {letter: (letter, "*") for letter in LETTERS}, present=True
)


@pytest.mark.parametrize(
    ("model", "problems"),
    [
        ({"k_anonymity": {"k": 5}}, 0),
        ({"k_anonymity": {"k": 25}}, 1),
        ({"average_risk": {"threshold": "0.05"}}, 0),
        ({"average_risk": {"threshold": "0.04"}}, 1),
    ],
)
def test_judged(model: Document, problems: int) -> None:
    """One class of 24 records, with an insensitive column."""
    rows: tuple[dict[str, Text], ...] = tuple({"q": LETTERS[i % 6], "i": "xy"[i // 6 % 2]} for i in range(24))
    policy = {"attributes": [{"column": "i", "role": "INSENSITIVE"}], "privacy_models": [model]}
    case = Case(0, Method.FULL_DOMAIN, (COLUMN,), (), (), ("i",), rows, None, {}, policy)
    assert len(list(Judge(case, [ReleasedClass(("*",), (1,), tuple(range(24)))]).problems())) == problems


def test_another_text_than_was_written_is_noticed() -> None:
    """Expressions that sqlglot reads and writes are not those that were written."""
    report = compare(100, 60, 10, lambda text: sqlglot.parse_one(text, dialect=AnalystSql).sql(AnalystSql))
    assert report.broken
