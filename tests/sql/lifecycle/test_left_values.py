"""Values that nobody has any more are no labels in the documents of analyses of the releases that had them."""

from datetime import datetime

from tableveil.backend import Session, table
from tableveil.classification.model import Assessment, ClassMeasures, Measures
from tableveil.hierarchy import ValueKind
from tableveil.lifecycle.left_values import forget_left
from tableveil.policy import TableReference
from tableveil.source.model import Column
from tableveil.state.classifications import CLASSIFICATIONS, Classification
from tableveil.state.utility_reports import UTILITY_REPORTS, StoredUtility
from tableveil.usefulness import Bin, ColumnSpread, ColumnUtility, MovedRate, UtilityReport

AT = datetime(2026, 1, 2)


def report(number: int, release: int, gone: str) -> StoredUtility:
    spread = ColumnSpread(3, 0, 2, None, None, (), (Bin(gone, 1), Bin("other", 2), Bin(None, 0)))
    column = ColumnUtility('name"s', "VARCHAR", "a", "gone", 0.1, False, spread, spread)
    rates = (MovedRate("a", gone, "b", "other", 1, 1, 1, 1), MovedRate("a", None, "b", gone, 1, 1, 1, 1))
    return StoredUtility(number, number, AT, release, UtilityReport((column,), (), rates, ("gone",)), 0.5, "{}")


def assessed(number: int, release: int, gone: str) -> Classification:
    measures = Measures(0.5, 0.5, ((1, 0), (0, 2)), tuple(ClassMeasures(x, 1.0, 1.0, 1.0, ()) for x in (gone, "other")))
    assessment = Assessment("gone", ("a",), (gone, "other"), 3, 2, measures, ())
    source = TableReference("c", "s", "t")
    return Classification(number, number, AT, release, source, "f", 3, 3, 0, 2, "", 0.5, (), "{}", (assessment,))


def test_labels_of_documents_are_erased(session: Session) -> None:
    session.execute("CREATE TABLE people AS SELECT 'other' AS label")
    session.execute("CREATE TABLE erased AS SELECT unnest(['gone', 'other']) AS label")
    UTILITY_REPORTS.insert(session.ledger, [report(1, 7, "gone"), report(2, 8, "gone")])
    CLASSIFICATIONS.insert(session.ledger, [assessed(1, 7, "gone"), assessed(2, 8, "gone")])
    target = TableReference(session.catalog, "main", "people")
    with session.transaction():
        forget_left(session, target, [Column("label", "VARCHAR", ValueKind.TEXT)], table("erased"), [7])
    assert UTILITY_REPORTS.among(session.ledger, [1, 2]) == [report(1, 7, "(erased)"), report(2, 8, "gone")]
    assert CLASSIFICATIONS.among(session.ledger, [1, 2]) == [assessed(1, 7, "(erased)"), assessed(2, 8, "gone")]
