"""Two releases side by side, where tables of people and of events have columns of one name."""

from google.protobuf.json_format import ParseDict

from tableveil.report.comparison import Side, compared
from tableveil.report.words import column_of, promise
from tableveil.v1.policy_pb2 import PrivacyModel
from tableveil.v1.release_service_pb2 import Release


def release(number: int, of_patients: str, of_visits: str) -> Release:
    """Patients and visits have a column `ward` each, in intervals of these widths; the losses are equal."""
    attributes = [
        {"table": table, "column": "ward", "hierarchy": {"intervals": {"widths": [width]}}}
        for table, width in (("", of_patients), ("visits", of_visits))
    ]
    results = [
        {"column": column, "level": 1, "topLevel": 2, "loss": 0.5, "distinctAfter": 10 * number}
        for column in ("ward", "visits.ward")
    ]
    tables = {"people": {"table": "patients", "key": "pid"}, "events": [{"table": "visits"}]}
    policy = {"tables": tables, "attributes": attributes}
    sources = [{"schema": "main", "table": name} for name in ("patients", "visits")]
    objects = [{"name": "clinic_visits", "kind": "RELEASE_OBJECT_KIND_EVENTS", "rows": 100 * number}]
    found = {"attributes": results, "objects": objects, "source": sources[0], "sourceTables": sources}
    stated = {"name": f"releases/{number}", "policy": policy, "proof": {}, **found}
    return ParseDict(stated, Release())


def changes(first: Release, second: Release) -> dict[str, str]:
    """The change that the comparison tells, by column."""
    tables = compared(Side(first, None), Side(second, None)).tables
    (levels,) = (table for table in tables if table.caption == "Quasi-identifiers")
    return {str(row[0]): str(row[-1]) for row in levels.rows}


def test_columns_of_one_name_have_the_hierarchy_of_their_own_table() -> None:
    first = release(1, "5", "7")
    assert changes(first, release(2, "5", "7")) == {"ward": "", "visits.ward": ""}
    assert changes(first, release(2, "6", "7")) == {"ward": "finer", "visits.ward": ""}
    assert changes(first, release(2, "5", "8")) == {"ward": "", "visits.ward": "finer"}


def test_rows_of_events_and_all_tables_that_were_read_are_compared() -> None:
    tables = compared(Side(release(1, "5", "7"), None), Side(release(2, "5", "7"), None)).tables
    overview = {row[0]: row[1:3] for row in tables[0].rows}
    assert overview["released rows of events"] == ("100", "200")
    assert overview["tables read"] == ("main.patients, main.visits",) * 2


def test_a_share_protects_the_column_of_its_own_table() -> None:
    share = {"column": "code", "l": "2"}
    models = [ParseDict({"sensitiveShare": share | more}, PrivacyModel()) for more in ({}, {"table": "lab"})]
    assert [column_of(model) for model in models] == ["code", "lab.code"]
    assert promise(models[1]).endswith("has a sensitive value of lab.code.")
