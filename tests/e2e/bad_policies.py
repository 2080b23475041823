"""Policies with something wrong: each change of a valid one, the tables that it needs, and the refusal."""

from dataclasses import dataclass
from typing import Any

from tests.e2e import samples
from tests.e2e.samples import Document

# Tables beside the people of `samples`, by name.
TABLES = {
    "people": samples.PEOPLE,
    "released_before": f"{samples.PEOPLE} LIMIT 200",
    "empty": f"{samples.PEOPLE} LIMIT 0",
    "one_row": f"{samples.PEOPLE} LIMIT 1",
    "visits": f"SELECT * REPLACE (id // 3 AS id) FROM ({samples.PEOPLE})",
    "partly_nobody": f"SELECT * REPLACE (nullif(id, 5) AS id) FROM ({samples.PEOPLE})",
    "with_numbers": f"SELECT *, 'no. ' || id AS room FROM ({samples.PEOPLE})",
    "with_homes": f"SELECT * REPLACE ('0000' || zip[5] AS zip), 'in ' || zip[5] AS home FROM ({samples.PEOPLE})",
    "without_ages": f"SELECT * REPLACE (NULL::INTEGER AS age) FROM ({samples.PEOPLE})",
    "with_lists": f"SELECT *, [diagnosis] AS history FROM ({samples.PEOPLE})",
    "with_spans": f"SELECT *, to_days(id) AS stay FROM ({samples.PEOPLE})",
    "taken": "SELECT 1 AS mine",
    "half_taken_risk": "SELECT 1 AS mine",
    "strangers": f"SELECT * REPLACE (50 AS age) FROM ({samples.PEOPLE})",
    "sexes": "SELECT * FROM (VALUES ('F', '*'), ('M', '*')) AS rows(sex, anyone)",
    "sexes_with_null": "SELECT * FROM (VALUES ('F', '*'), ('M', '*'), (NULL, '*')) AS rows(sex, anyone)",
}

INVALID, INFEASIBLE, CONFLICT, BUSY = "INVALID", "INFEASIBLE", "CONFLICT", "BUSY"
EXIT_CODES = {INVALID: 2, INFEASIBLE: 3, CONFLICT: 6, BUSY: 7}

GONE = object()
"""Instead of a value: the field is left out."""

Change = dict[str, Any]
"""Values by their path in the valid policy of `samples`; `x[+]` appends to a list."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A change to a valid policy and its expected refusal."""

    change: Change
    kind: str
    code: str
    field: str
    words: str


def invalid(change: Change, field: str, words: str) -> Bad:
    return Bad(change, INVALID, "POLICY_INVALID", field, words)


def exists(change: Change, words: str) -> Bad:
    return Bad(change, CONFLICT, "TARGET_EXISTS", "release.name", words)


def inline(*rows: list[str]) -> Document:
    return {"inline": {"rows": list(rows)}}


def intervals(**fields: object) -> Document:
    return {"intervals": {"minimum": "0", "maximum": "99", "widths": ["5", "10"], **fields}}


QI = "attributes[4]"
SEX = f"{QI}.hierarchy"
AGE = "attributes[2].hierarchy"
K = "privacy_models[0].k_anonymity.k"
YEAR = {"dates": {"minimum": "2024-01-01", "maximum": "2024-12-31", "units": ["MONTH"]}}
HOME = samples.attribute("home", "INSENSITIVE")
LONG = "x" * 10_000
STAKES = {"publisher_benefit": "1200", "publisher_loss": "300", "adversary_gain": "300", "adversary_cost": "4"}


def game(model: Document, /, **stakes: str) -> Change:
    return {"privacy_models[+]": model, "game": STAKES | stakes}


BAD: dict[str, Bad] = {
    # --- What is not there ---
    "unknown table": invalid({"source.table": "peopel"}, "source.table", "'peopel' 'people'"),
    "unknown schema": invalid({"source.schema": "mian"}, "source.schema", "'mian' 'main'"),
    "unknown catalog": invalid({"source.catalog": "other"}, "source.catalog", "'other' 'clinic'"),
    "a view instead of a table": invalid({"source.table": "a_view"}, "source.table", "view 'a_view' table"),
    "the server's own tables": invalid(
        {"source": {"schema": "tableveil", "table": "secrets"}}, "source.schema", "'tableveil' own state"
    ),
    "unknown column": invalid({"attributes[2].column": "agee"}, "attributes[2].column", "'agee' 'age'"),
    "unknown person column": invalid({"person_column": "ids"}, "person_column", "'ids' 'id'"),
    "unknown role": invalid({"attributes[6].role": "INSENSITIV"}, "attributes[6].role", "'INSENSITIV' INSENSITIVE"),
    "unknown field": invalid({"supression_limit": "0.1"}, "supression_limit", "suppression_limit"),
    "unknown stored hierarchy": invalid({SEX: {"stored": {"name": "sex"}}}, f"{SEX}.stored.name", "'sex' stored"),
    "unknown version of a hierarchy": invalid(
        {SEX: {"stored": {"name": "known", "version": 7}}}, f"{SEX}.stored.version", "7 from 1 to 1"
    ),
    "unknown table with a hierarchy": invalid(
        {SEX: {"table": {"table": {"table": "sexs"}}}}, f"{SEX}.table.table.table", "'sexs' 'sexes'"
    ),
    "unknown column of that table": invalid(
        {SEX: {"table": {"table": {"table": "sexes"}, "columns": ["sex", "any"]}}},
        f"{SEX}.table.columns[1]",
        "'any' column",
    ),
    "missing file with a hierarchy": invalid(
        {SEX: {"csv": {"path": "no.csv"}}}, f"{SEX}.csv.path", "no.csv' No such file"
    ),
    # --- Columns and roles ---
    "the same column twice": invalid({"attributes[5].column": "ward"}, "attributes[5].column", "'ward' more than once"),
    "the same column in another case": invalid(
        {"attributes[5].column": "WARD"}, "attributes[6].column", "'ward' more than once case"
    ),
    "a column without a role": invalid({"attributes[6]": GONE}, "source.'ward'", "no role default_role"),
    "no quasi-identifier": invalid(
        {f"attributes[{i}]": samples.attribute(c, "SENSITIVE") for i, c in ((2, "age"), (3, "zip"), (4, "sex"))},
        "attributes",
        "no column QUASI_IDENTIFIER",
    ),
    "a quasi-identifier without a hierarchy": invalid({SEX: GONE}, SEX, "nothing suppression_only"),
    "a hierarchy for another role": invalid(
        {"attributes[6].hierarchy": {"suppression_only": {}}}, "attributes[6].hierarchy", "INSENSITIVE"
    ),
    # --- Privacy models ---
    "a model of an unknown column": invalid(
        {"privacy_models[+]": {"distinct_l_diversity": {"column": "diagnosi", "l": 2}}},
        "privacy_models[1].distinct_l_diversity.column",
        "'diagnosi' 'diagnosis'",
    ),
    "a model of a column that is not sensitive": invalid(
        {"privacy_models[+]": {"t_closeness": {"column": "ward", "t": "0.2"}}},
        "privacy_models[1].t_closeness.column",
        "'ward' INSENSITIVE SENSITIVE",
    ),
    "a t that is a percentage": invalid(
        {"privacy_models[+]": {"t_closeness": {"column": "diagnosis", "t": "20"}}},
        "privacy_models[1].t_closeness.t",
        "20 0 1",
    ),
    "no t": invalid(
        {"privacy_models[+]": {"t_closeness": {"column": "diagnosis"}}}, "privacy_models[1].t_closeness.t", "nothing"
    ),
    "a hierarchical distance without a hierarchy": invalid(
        {
            "privacy_models[+]": {
                "t_closeness": {"column": "diagnosis", "t": "0.2", "distance": "DISTANCE_HIERARCHICAL"}
            }
        },
        "privacy_models[1].t_closeness.distance",
        "hierarchy",
    ),
    "k-map of nobody": invalid({"privacy_models[+]": {"k_map": {"k": 3}}}, "population", "k_map"),
    "an unknown population": invalid(
        {"privacy_models[+]": {"k_map": {"k": 3}}, "population": {"table": {"table": "peopel"}}},
        "population.table.table",
        "'peopel' 'people'",
    ),
    "a population without the quasi-identifiers": invalid(
        {"privacy_models[+]": {"k_map": {"k": 3}}, "population": {"table": {"table": "sexes"}}},
        "population.table",
        "age",
    ),
    "an order that lacks a value": invalid(
        {"attributes[5].order": {"values": ["A01"]}}, "attributes[5].order.values", "1 value 'diagnosis'"
    ),
    "an order of numbers that are none": invalid(
        {"attributes[5].order": {"by": "ORDER_BY_NUMBER"}}, "attributes[5].order.by", "2 values 'diagnosis'"
    ),
    "more diversity than there is": Bad(
        {"privacy_models[+]": {"distinct_l_diversity": {"column": "diagnosis", "l": 5}}},
        INFEASIBLE,
        "INFEASIBLE",
        "privacy_models[1]",
        "distinct 5-diversity l = 4 nearest",
    ),
    # --- The game ---
    "a game that is missing": invalid(
        {"privacy_models[+]": {"profitability": {}}, "quality_model": {"publisher_payout": {}}},
        "game",
        "nothing profitability publisher_payout",
    ),
    "attacks for nothing": invalid(
        game({"no_attack": {}}, adversary_cost="0"), "game.adversary_cost", "0 above 0 nine places"
    ),
    "attacks that never pay": invalid(
        game({"profitability": {}}, adversary_gain="3.5"), "game.adversary_gain", "3.5 cost of 4 more"
    ),
    "a gain in another currency": invalid(
        game({"profitability": {}}, adversary_gain="300 EUR"), "game.adversary_gain", "'300 EUR' decimal"
    ),
    "a population without the people of the source": invalid(
        {**game({"profitability": {"success": "SUCCESS_JOURNALIST"}}), "population": {"table": {"table": "strangers"}}},
        "population.table",
        "too few people records combinations",
    ),
    "an attack that pays whatever is released": Bad(
        {**game({"no_attack": {}}, adversary_gain="964"), "suppression_limit": "0.5"},
        INFEASIBLE,
        "INFEASIBLE",
        "privacy_models[1]",
        "no attack adversary_gain = 960",
    ),
    "k-anonymity at the record level": invalid(
        {
            "privacy_models": [{"k_anonymity": {"k": 4}}],
            "quality_model": {"publisher_payout": {"success": "SUCCESS_JOURNALIST"}},
            "game": STAKES,
            "record_level": {},
        },
        "privacy_models[0]",
        "k_anonymity one transformation record_level",
    ),
    # --- Suppressed records, and types ---
    "a marker that is a column": invalid(
        {"suppressed_records": {"handling": "BLANK", "marker_column": "Sex"}},
        "suppressed_records.marker_column",
        "'Sex' column of the source",
    ),
    "blank rows without a marker": invalid(
        {"suppressed_records": {"handling": "BLANK"}}, "suppressed_records.marker_column", "marker"
    ),
    "a type that cannot be released": invalid(
        {"source.table": "with_lists", "attributes[+]": samples.attribute("history", "SENSITIVE")},
        "source.'history'",
        "VARCHAR[] scalar",
    ),
    "a type with two spellings of a value": invalid(
        {"source.table": "with_spans", "attributes[+]": samples.attribute("stay", "SENSITIVE")},
        "source.'stay'",
        "INTERVAL cast",
    ),
    # --- Numbers ---
    "k = 1": invalid({K: 1}, K, "1 from 2 promise nothing"),
    "k = 0": invalid({K: 0}, K, "0 from 2"),
    "k < 0": invalid({K: -5}, K, "-5 from 2"),
    "k is no number": invalid({K: "five"}, K, "'five' whole number"),
    "k is beyond all numbers": invalid({K: 10**30}, K, "whole number"),
    "k is a fraction": invalid({K: 2.5}, K, "2.5 whole number"),
    "k is above the number of rows": Bad({K: 241}, INFEASIBLE, "TOO_FEW_RECORDS", "privacy_models[0]", "241 240"),
    "no privacy model": invalid({"privacy_models": []}, "privacy_models", "none at least one"),
    "the same privacy model twice": invalid(
        {"privacy_models[+]": {"k_anonymity": {"k": 5}}}, "privacy_models[1]", "same model privacy_models[0]"
    ),
    "a limit above 1": invalid({"suppression_limit": "1.01"}, "suppression_limit", "1.01 from 0 to 1"),
    "a limit below 0": invalid({"suppression_limit": "-0.01"}, "suppression_limit", "-0.01 from 0 to 1"),
    "a limit that is not finite": invalid({"suppression_limit": "NaN"}, "suppression_limit", "'NaN' decimal"),
    "an infinite time limit": invalid(
        {"search": {"time_limit_seconds": "inf"}}, "search.time_limit_seconds", "'inf' decimal"
    ),
    "no time at all": invalid({"search": {"time_limit_seconds": "0"}}, "search.time_limit_seconds", "0 above 0"),
    "a weight that is not a number": invalid({"attributes[2].weight": "NaN"}, "attributes[2].weight", "NaN finite"),
    "an infinite weight": invalid({"attributes[2].weight": "Infinity"}, "attributes[2].weight", "Infinity finite"),
    "a negative weight": invalid({"attributes[2].weight": -1}, "attributes[2].weight", "-1 from 0"),
    "a threshold that is not finite": invalid({"risk_thresholds": ["nan"]}, "risk_thresholds[0]", "'nan' decimal"),
    "a threshold of 1": invalid({"risk_thresholds": ["0.2", "1"]}, "risk_thresholds[1]", "1 below 1"),
    "a level above the top": invalid(
        {"attributes[4].maximum_level": 9}, "attributes[4].maximum_level", "9 from 0 to 1"
    ),
    "a level below 0": invalid({f"{QI}.minimum_level": -1}, f"{QI}.minimum_level", "-1 at least 0"),
    # --- People ---
    "several records of one person, judged together": invalid(
        {"source.table": "visits", "release.left_behind": "REPORT"}, "release.left_behind", "people several records"
    ),
    "records of nobody": invalid({"source.table": "partly_nobody"}, "person_column", "1 rows without a person"),
    "nothing said about people": invalid({"person_column": GONE}, "person_column", "nothing rows_are_people"),
    "a person column that would be released": invalid(
        {"attributes[0].role": "INSENSITIVE"}, "attributes[0].role", "INSENSITIVE IDENTIFYING"
    ),
    # --- Columns that would give people away ---
    "a nearly unique insensitive column": invalid(
        {"source.table": "with_numbers", "attributes[+]": samples.attribute("room", "INSENSITIVE")},
        "attributes[7].role",
        "'room' 240 distinct values acknowledged",
    ),
    "an insensitive column that determines a quasi-identifier": Bad(
        {"source.table": "with_homes", "attributes[+]": HOME, "attributes[3].minimum_level": 4},
        INVALID,
        "COLUMN_DISCLOSES",
        "attributes[7].role",
        "'home' 'zip' 100% acknowledged",
    ),
    # --- Tables without much in them ---
    "an empty table": invalid({"source.table": "empty"}, "source.table", "empty at least one row"),
    "one row": Bad({"source.table": "one_row"}, INFEASIBLE, "TOO_FEW_RECORDS", "privacy_models[0]", "4 1"),
    "a column without values": invalid(
        {"source.table": "without_ages", "attributes[2].nulls": "ERROR"}, "attributes[2].nulls", "240 NULLs 'age'"
    ),
    "records that are all withheld": Bad(
        {"source.table": "without_ages", "attributes[2].nulls": "SUPPRESS"},
        INFEASIBLE,
        "INFEASIBLE",
        "attributes[2].nulls",
        "240 of 240 suppression_limit",
    ),
    "nothing that is private": Bad(
        {K: 200, "attributes[4].maximum_level": 0},
        INFEASIBLE,
        "INFEASIBLE",
        "attributes[4].maximum_level",
        "240 of 240 maximum_level = 1 privacy_models[0] k = 120",
    ),
    # --- Targets ---
    "a table in the way": exists({"release.name": "taken"}, "table 'taken' REPLACE"),
    "a view in the way": exists({"release.name": "a_view"}, "view 'a_view'"),
    "a name that differs in case only": exists({"release.name": "Taken"}, "'taken'"),
    "something in the way of a companion": exists({"release.name": "half_taken"}, "'half_taken_risk'"),
    "something in the way that no release wrote": exists(
        {"release": {"name": "taken", "if_exists": "REPLACE"}}, "'taken' no release"
    ),
    "another release's companion in the way": exists(
        {"release": {"name": "first_classes", "if_exists": "REPLACE"}}, "'first_classes'"
    ),
    "an earlier release in the way": exists({"release.name": "first"}, "'first' REPLACE"),
    "the source as target": invalid({"release.name": "people"}, "release.name", "'people' source"),
    "the source as target in another case": invalid({"release.name": "PEOPLE"}, "release.name", "source"),
    "the source as companion of the target": invalid(
        {"source.table": "half_taken_risk", "release.name": "half_taken"}, "release.name", "'half_taken_risk' source"
    ),
    "the source as target to replace": invalid(
        {"release": {"name": "people", "if_exists": "REPLACE"}}, "release.name", "'people' source"
    ),
    "a missing target schema": invalid(
        {"release": {"schema": "public", "name": "released"}}, "release.schema", "'public' schemas create"
    ),
    "the server's schema as target": invalid(
        {"release": {"schema": "TableVeil", "name": "released"}}, "release.schema", "'TableVeil' own tables"
    ),
    "no name for the target": invalid({"release.name": ""}, "release.name", "nothing name"),
    "a second release without a reason": Bad(
        {"source.table": "released_before", "repeat_reason": GONE},
        INVALID,
        "REPEATED_RELEASE",
        "repeat_reason",
        "releases/1 reason",
    ),
    "a second release for a reason that nobody can see": invalid(
        {"source.table": "released_before", "repeat_reason": " \n\u200b"}, "repeat_reason", "3 characters reason"
    ),
    # --- Names of tables that do not exist, and of targets that cannot ---
    "a name that ends the statement": invalid(
        {"source.table": "people; DROP TABLE people"}, "source.table", "'people; DROP TABLE people'"
    ),
    "a name that ends its quotes": invalid(
        {"attributes[2].column": 'age"; DROP TABLE people; --'}, "attributes[2].column", "DROP TABLE"
    ),
    "a name of 10,000 characters": invalid({"source.table": LONG}, "source.table", "10,000 characters"),
    "a target with a null character": invalid({"release.name": "a\0b"}, "release.name", "null character"),
    "a marker with a null character": invalid(
        {"suppressed_records": {"handling": "BLANK", "marker_column": "a\0b"}},
        "suppressed_records.marker_column",
        "null character",
    ),
    # --- Hierarchies ---
    "a hierarchy that misses values": invalid({SEX: inline(["F", "*"])}, SEX, "1 value 'sex'"),
    "a hierarchy that repeats a value": invalid(
        {SEX: inline(["F", "*"], ["M", "*"], ["F", "*"])}, f"{SEX}.inline.rows[2].labels[0]", "rows[0] repeated"
    ),
    "a ragged hierarchy": invalid(
        {SEX: inline(["F", "x", "*"], ["M", "*"], ["X", "x", "*"])}, f"{SEX}.inline.rows[1]", "2 columns 3 columns"
    ),
    "a hierarchy that ends in two values": invalid(
        {SEX: inline(["F", "women"], ["M", "men"])}, f"{SEX}.inline.rows[1].labels[1]", "2 labels one label"
    ),
    "a hierarchy whose levels do not nest": invalid(
        {SEX: inline(["F", "a", "b", "*"], ["M", "a", "c", "*"])}, f"{SEX}.inline.rows[1].labels[2]", "level 1 rows[0]"
    ),
    "a hierarchy without rows": invalid({SEX: inline()}, f"{SEX}.inline.rows", "no rows"),
    "a hierarchy without levels": invalid({SEX: inline(["F"], ["M"])}, f"{SEX}.inline.rows", "1 column"),
    "a table's hierarchy with a NULL": invalid(
        {SEX: {"table": {"table": {"table": "sexes_with_null"}}}}, f"{SEX}.table.rows[2].labels[0]", "NULL"
    ),
    "widths that do not nest": invalid({AGE: intervals(widths=["4", "10"])}, f"{AGE}.intervals.widths[1]", "10 4"),
    "a width of nothing": invalid({AGE: intervals(widths=["0"])}, f"{AGE}.intervals.widths[0]", "0"),
    "a range that ends before it starts": invalid(
        {AGE: intervals(minimum="100")}, f"{AGE}.intervals.maximum", "99 100"
    ),
    "a range that misses values": invalid({AGE: intervals(maximum="60")}, AGE, "9 values 'age'"),
    "intervals of texts": invalid({SEX: intervals()}, f"{SEX}.intervals", "TEXT INTEGER"),
    "dates that are numbers": invalid(
        {AGE: {"dates": {"minimum": "2024-01-01", "maximum": "2024-12-31", "units": ["MONTH"]}}},
        f"{AGE}.dates",
        "INTEGER DATE",
    ),
    "a mask that is too short": invalid(
        {"attributes[3].hierarchy": {"redaction": {"length": 4, "alphabet_size": 10}}},
        "attributes[3].hierarchy",
        "90 values 'zip'",
    ),
}
