"""The public objects of a release and their columns in words, once, for docs/reference/objects.md."""

from collections.abc import Mapping
from dataclasses import dataclass

from tableveil.state.release_objects import ObjectKind


@dataclass(frozen=True, slots=True)
class Described:
    """An object: the end of its name, what each of its rows stands for, and the meaning of each column."""

    suffix: str
    row: str
    columns: Mapping[str, str]


OBJECTS = {
    ObjectKind.ROWS: Described(
        "",
        "a released record; also a suppressed one, unless they are dropped",
        {
            "<quasi-identifier>": "The label. Rows are sorted by all columns, labels by their ranks.",
            "<quasi-identifier>_from": "The least value that the label stands for.",
            "<quasi-identifier>_to": "The greatest value that the label stands for.",
            "<quasi-identifier>_rank": "The place of the label among all released ones, to sort by.",
            "<other column>": "The value of the source. Identifying columns are left out.",
            "<marker>": "True for suppressed records, if the policy names such a column.",
            "class_id": "The number of the record's class, in the order of labels, if the policy asks for it.",
        },
    ),
    ObjectKind.CLASSES: Described(
        "_classes",
        "a released class",
        {
            "<quasi-identifier>": "The label that all records of the class have.",
            "class_size": "The number of its records.",
            "risk": "The prosecutor's risk: 1 / size of the class.",
            "distinct_l_<sensitive>": "The number of different values of a sensitive column. NULL does not count.",
            "entropy_l_<sensitive>": "The largest l with which the class is entropy l-diverse; 0 if it has no value.",
            "class_id": "The number of the class, in the order of labels.",
        },
    ),
    ObjectKind.RISK: Described(
        "_risk",
        "a measure of risk",
        {
            "measure": (
                "`records`, `classes`, `highest_risk`, `average_risk`, `lowest_risk`, `unique_records`, "
                "`records_above_threshold` (one row per threshold) or `suppressed_records`."
            ),
            "threshold": "The threshold of the measure, as an exact decimal.",
            "value": "The measure.",
        },
    ),
    ObjectKind.RISK_HISTOGRAM: Described(
        "_risk_histogram",
        "a size of classes",
        {
            "class_size": "The size.",
            "classes": "The number of classes of this size.",
            "records": "The number of their records.",
            "risk": "1 / size.",
        },
    ),
    ObjectKind.COLUMNS: Described(
        "_columns",
        "a column of the rows",
        {
            "position": "Its place.",
            "column_name": "Its name.",
            "type": "Its type.",
            "role": "The role of its values: quasi-identifier, sensitive, insensitive, a bound, a rank or a marker.",
            "description": "Its meaning, in words.",
            "describes": "The column whose labels it bounds or ranks.",
            "levels": "The levels of its labels. Level 0 is the value itself.",
            "star_means": "The meaning of `*`.",
            "blank_means": "The meaning of an empty text.",
            "null_means": "The meaning of NULL.",
            "end_included": "Whether a bound is a value that occurs; NULL if that depends on the label.",
            "unit": "Its unit: whole numbers, numbers, days, or timestamps in UTC.",
            "estimated_share": "The share of rows whose value in `_estimated` is an estimate, if there is that table.",
            "typical_width": "Half of their labels are at most as wide: in units, days, or seconds of timestamps.",
        },
    ),
    ObjectKind.LABELS: Described(
        "_labels",
        "a label of a column",
        {
            "column_name": "The column.",
            "label": "The label.",
            "rank": "Its place among the labels of the column.",
            "records": "The number of released records that have it.",
            "number_from": "The least number that it stands for.",
            "number_to": "The greatest number that it stands for.",
            "time_from": "The first day or time that it stands for.",
            "time_to": "The last day or time that it stands for.",
            "to_included": "Whether the upper bound is one of its values.",
        },
    ),
    ObjectKind.ABOUT: Described(
        "_about",
        "a fact about the release",
        {
            "fact": "Its name, such as `records`, `privacy_model`, `tableveil_version` or `cite`.",
            "value": "Its value, as a text.",
        },
    ),
    ObjectKind.ESTIMATED: Described(
        "_estimated",
        "a released record, if the policy asks for estimates",
        {
            "<quasi-identifier>": (
                "One value that its label allows, in the source's type, or NULL; the label where no finer one is known."
            ),
            "<other column>": "The value of the rows.",
            "class_id": "The number of the class.",
            "estimated": "True.",
        },
    ),
    ObjectKind.SPREAD: Described(
        "_estimated_2",
        "the same record under another assumption; so do the rows of `_estimated_3` to `_estimated_5`",
        {"<column>": "As in `_estimated`."},
    ),
    ObjectKind.EVENTS: Described(
        "_<event>",
        "a released row of an event table, if the policy has related `tables`",
        {
            "<people's key>": "The key of the person in the rows of people.",
            "<quasi-identifier>": "The label, with its bounds and rank as in the rows of people.",
            "<other column>": "The value of the source. Identifying columns are left out.",
        },
    ),
    ObjectKind.EVENT_COLUMNS: Described(
        "_<event>_columns", "a column of these rows", {"<column>": "As in `_columns`."}
    ),
    ObjectKind.EVENT_LABELS: Described("_<event>_labels", "a label of these rows", {"<column>": "As in `_labels`."}),
    ObjectKind.KNOWN_ROWS: Described(
        "_known_rows",
        "a number of rows that somebody may know of a person",
        {
            "known_rows": "The number, from 1 to 5.",
            "people": "The people who have so many released rows.",
            "sample": "The people among them that were looked at.",
            "below_k": "The people of the sample to whose rows fewer than k keys fit.",
            "alone": "The people of the sample to whose rows one key fits.",
        },
    ),
    ObjectKind.CLASSIFICATION: Described(
        "_classification",
        "a figure of a classifier assessment that was published",
        {
            "class_column": "The column that was predicted.",
            "classifier": "The classifier; the baseline is `ZERO_R`.",
            "measure": "The measure.",
            "class": "The class that it is about; NULL for all of them.",
            "value": "The measure's value, if there is one.",
        },
    ),
}
"""By kind. A column in angle brackets stands for those that depend on the policy."""
