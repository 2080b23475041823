"""Questions that people ask of a release, as statements for its own columns: docs/guides/analyst.md explains them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_NUMBERS = ("whole numbers", "numbers")
_NUMERIC = re.compile("(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL.*|FLOAT|DOUBLE)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the statement that answers it."""

    text: str
    statement: str


@dataclass(frozen=True, slots=True)
class _Labels:
    """A column of labels, with the columns beside it; empty where there are none. All names are quoted."""

    name: str
    rank: str
    low: str
    high: str
    unit: str

    @property
    def function_arguments(self) -> str:
        return f"{self.name}, {self.low}, {self.high}"


def questions(
    rows: str,
    columns: str,
    about: str,
    meanings: Sequence[Mapping[str, object]],
    estimated: str = "",
    events: Sequence[str] = (),
) -> list[Question]:
    """The questions that the columns allow, at most ten.

    Args:
        rows: The table of rows, as a statement names it.
        columns: The table of columns.
        about: The table of facts.
        meanings: The rows of the table of columns.
        estimated: The table of estimated values, if there is one.
        events: The tables of these people's events.
    """
    valued = {quoted(str(one["column_name"])) for one in meanings if estimated and one["estimated_share"] is not None}
    labels = [_labels(one, meanings) for one in meanings if one["role"] == "QUASI_IDENTIFIER"]
    others = [one for one in meanings if one["role"] in ("SENSITIVE", "INSENSITIVE")]
    measured = [quoted(str(one["column_name"])) for one in others if _NUMERIC.fullmatch(str(one["type"]))]
    kinds = [quoted(str(one["column_name"])) for one in others if one["type"] == "VARCHAR"]
    ranked = [one for one in labels if one.rank]
    by = [one.name for one in labels if not one.low]
    made: list[Question] = []
    if ranked:
        made += _by_label(rows, ranked[0], kinds[:1])
    for numbers in [one for one in labels if one.low and one.unit in _NUMBERS][:1]:
        made += _by_number(rows, estimated if numbers.name in valued else "", numbers, measured[:1], by[:1])
    for dates in [one for one in labels if one.name in valued and one.unit not in ("", *_NUMBERS)][:1]:
        made.append(_by_quarter(estimated, dates))
    for name in (kinds or by)[:1]:
        made.append(_joined(rows, name))
    for key in [quoted(str(one["column_name"])) for one in meanings if one["role"] == "KEY"]:
        made += [_of_events(rows, each, key, ranked[:1]) for each in events]
    return [*made, *_of_all(columns, about)]


def quoted(name: str) -> str:
    """A name in a statement, whatever it is."""
    return '"' + name.replace('"', '""') + '"'


def _labels(one: Mapping[str, object], meanings: Sequence[Mapping[str, object]]) -> _Labels:
    name = str(one["column_name"])
    beside = {str(other["role"]): other for other in meanings if other["describes"] == name}

    def named(role: str) -> str:
        return quoted(str(beside[role]["column_name"])) if role in beside else ""

    unit = str(beside["LOWER_BOUND"]["unit"]) if "LOWER_BOUND" in beside else ""
    return _Labels(quoted(name), named("RANK"), named("LOWER_BOUND"), named("UPPER_BOUND"), unit)


def _by_label(rows: str, labels: _Labels, kinds: Sequence[str]) -> Iterator[Question]:
    name, rank = labels.name, labels.rank
    yield Question(
        f"How many records has each {name}, in order?",
        f"SELECT {name}, count(*) AS records FROM {rows} GROUP BY {name}, {rank} ORDER BY {rank}",
    )
    for kind in kinds:
        yield Question(
            f"Which are the five commonest {kind} of each {name}?",
            f"SELECT {name}, {kind}, records FROM (\n  SELECT {name}, {rank} AS place_of_label, {kind}, count(*) AS "
            f"records,\n    row_number() OVER (PARTITION BY {name} ORDER BY count(*) DESC, {kind}) AS place\n  "
            f"FROM {rows} GROUP BY {name}, {rank}, {kind}) AS counted\nWHERE place <= 5 ORDER BY place_of_label, place",
        )


def _by_number(
    rows: str, estimated: str, labels: _Labels, measured: Sequence[str], by: Sequence[str]
) -> Iterator[Question]:
    name, arguments = labels.name, labels.function_arguments
    share, mean, median = (f"({which}({arguments}{more}))" for which, more in _OF_NUMBERS)
    yield Question(
        f"Which share has a {name} of 50 or more, without any assumption?",
        f"SELECT {share}.certain AS at_least, {share}.estimated AS about, {share}.possible AS at_most\nFROM {rows}",
    )
    group, grouped = (f"{by[0]}, ", f" GROUP BY {by[0]} ORDER BY {by[0]}") if by else ("", "")
    of = f"How high are the mean and the median of {name}{f' by {by[0]}' if by else ''}"
    if not estimated:
        yield Question(
            f"{of}?",
            f"SELECT {group}{mean}.low AS mean_from, {mean}.high AS mean_to,\n  {median}.low AS median_from, "
            f"{median}.high AS median_to\nFROM {rows}{grouped}",
        )
        return
    yield Question(
        f"{of}, as estimated?",
        f"SELECT {group}avg({name}) AS mean, median({name}) AS median\nFROM {estimated}{grouped}",
    )
    band = f"floor({name} / 10.0) * 10 AS band"
    yield Question(
        f"How is {name} spread, in estimated bands of ten?",
        f"SELECT {band}, count(*) AS records\nFROM {estimated} GROUP BY band ORDER BY band",
    )
    for one in measured:
        yield Question(
            f"How high is the mean of {one} by estimated bands of {name}?",
            f"SELECT {band}, avg({one}) AS mean, count(*) AS records\nFROM {estimated} GROUP BY band ORDER BY band",
        )


_OF_NUMBERS = (("tv_share_between", ", 50, NULL"), ("tv_mean", ""), ("tv_median", ""))


def _by_quarter(estimated: str, dates: _Labels) -> Question:
    return Question(
        f"How many records has each quarter of {dates.name}, as estimated?",
        f"SELECT date_trunc('quarter', {dates.name}) AS quarter, count(*) AS records\nFROM {estimated} "
        "GROUP BY quarter ORDER BY quarter",
    )


def _joined(rows: str, name: str) -> Question:
    return Question(
        f"How many records has each group of {name} by a list of your own?",
        f"WITH groups (value, name) AS (VALUES ('a value', 'its group'), ('another', 'its group'))\n"
        f"SELECT groups.name, count(*) AS records FROM {rows} AS r LEFT JOIN groups ON groups.value = r.{name}\n"
        "GROUP BY groups.name ORDER BY groups.name",
    )


def _of_events(rows: str, events: str, key: str, by: Sequence[_Labels]) -> Question:
    """The people without any row count, too: they are in the table of people alone."""
    group, grouped, named = "", "", ""
    if by:
        name, rank = f"p.{by[0].name}", f"p.{by[0].rank}"
        group, grouped, named = f"{name}, ", f"\nGROUP BY {name}, {rank} ORDER BY {rank}", f" by {by[0].name}"
    return Question(
        f"How many rows has {events}{named}, and of how many people?",
        f"SELECT {group}count(e.{key}) AS events, count(DISTINCT e.{key}) AS people_with_any, "
        f"count(DISTINCT p.{key}) AS people\nFROM {rows} AS p LEFT JOIN {events} AS e ON e.{key} = p.{key}{grouped}",
    )


def _of_all(columns: str, about: str) -> Iterator[Question]:
    yield Question(
        "How many records are missing? Totals lack them.",
        f"SELECT fact, value FROM {about}\nWHERE fact IN ('source_records', 'records', 'suppressed_records') "
        "OR fact LIKE 'suppressed_by %' OR fact LIKE 'removed_rows %' ORDER BY fact",
    )
    yield Question(
        "What does the table promise, what do its columns mean, and how is it cited?",
        f"SELECT fact AS name, value AS meaning FROM {about} WHERE fact IN ('cite', 'privacy_model')\n"
        f"UNION ALL SELECT column_name, description FROM {columns}",
    )
