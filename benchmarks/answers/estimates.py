"""Section: random questions in ordinary SQL on estimated tables, with their spread, against the released people."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from benchmarks.answers.random_questions import LEAST_IN_GROUP, Asked, RandomQuestions, counts, groups, literal
from benchmarks.answers.released import RELEASED, Both, published
from benchmarks.answers.thirty import FAR, QUESTIONS, Outcome, ask
from benchmarks.datasets import Dataset
from benchmarks.discharges import demo_policy, discharges
from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from benchmarks.service import TARGET
from tableveil.answers import SPREAD_SCHEMAS
from tableveil.hierarchy import InlineLevels
from tableveil.policy import AttributePolicy, KAnonymity, Policy, Role
from tableveil.policy.methods.local_recoding import LocalRecoding

COUNTS, GROUPS = 2_400, 200
"""The median error of 300 counts differs by a third from one draw of questions to the next."""

MOST_FAR = 6
ROWS = {"demo, full domain": 100_000, "demo, local": 30_000}

_ESTIMATED = f"{RELEASED}_estimated"
_OTHERS = tuple(f"{schema}.{TARGET.name}_estimated" for schema in SPREAD_SCHEMAS)
_LEVELS = 5
"""The values of a text that have an effect in a regression, after the commonest."""

_SURE = 4.0
"""Coefficients of fewer standard errors say nothing that an estimate could miss."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Subject:
    """A table to release with estimates: its name, policy and columns, and what a regression explains.

    `explained` is a number, or a text whose commonest value is asked for.
    """

    name: str
    policy: Policy
    asked: Asked
    explained: str


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors of a table's answers; absolute ones of correlations. Empty where nothing can be asked."""

    counts: Floats
    held: float
    half_width: float
    groups: Floats
    percentiles: Floats
    correlations: Floats
    coefficients: Floats
    matched: float
    by_chance: float


def estimates(shared: Path, rows: dict[str, int] | None = None) -> Section:
    """Asks of each table that is there; those of the demo need nothing else."""
    found: dict[str, Errors] = {}
    outcomes: dict[str, list[Outcome]] = {}
    for name, number in (ROWS if rows is None else rows).items():
        with _demo(name, number) as (subject, both):
            found[name] = _errors(subject, both)
            outcomes[name] = ask(both, _TRUTH, number // 1_000)
    for name in _SHARED:
        if (shared / "data" / name).is_dir():
            with _shared(Dataset.open(shared / "data", name)) as (subject, both):
                found[name] = _errors(subject, both)
    goals = {name: _goals(name, of) for name, of in found.items()}
    missed = [f"{name}: {of}" for name, all_ in goals.items() for of, met in all_.items() if not met]
    return Section(
        "Ordinary SQL on estimated tables",
        (
            f"{COUNTS} random counts, and {GROUPS} random aggregates by group (at least {LEAST_IN_GROUP} people each), "
            "against the source's values of the released people. The spread is the mean of five tables ± 3 standard "
            "deviations.",
            table(
                ("", *found),
                [
                    ["counts: median and p90 of errors", *(_median_p90(of.counts) for of in found.values())],
                    ["counts inside the spread", *(_percent(of.held) for of in found.values())],
                    ["its median half width", *(_percent(of.half_width) for of in found.values())],
                    ["group means and medians", *(_median_p90(of.groups) for of in found.values())],
                    ["p90 per group", *(_median_p90(of.percentiles) for of in found.values())],
                    ["correlations: mean error", *(_mean(of.correlations) for of in found.values())],
                    ["coefficients of a regression", *(_median_p90(of.coefficients) for of in found.values())],
                    ["unique matches that are right", *(_percent(of.matched) for of in found.values())],
                    ["by chance", *(_percent(of.by_chance) for of in found.values())],
                ],
            ),
            "Goals: counts 3.5 %, p90 20 % (25 % full domain); inside the spread 90 %, half width 25 %; groups 3 %; "
            f"correlations 0.020; coefficients 20 %; matches no oftener than by chance: {verdict(not missed)}"
            + (f" ({'; '.join(missed)})." if missed else "."),
            *(_thirty(outcomes) if outcomes else ()),
        ),
    )


def _thirty(outcomes: dict[str, list[Outcome]]) -> tuple[str, ...]:
    """The answers to thirty questions, and whether they are as near as they should be."""
    far = {name: sum(of.is_far for of in all_) for name, all_ in outcomes.items()}
    silent = [
        f"{question.asked} ({name})"
        for name, all_ in outcomes.items()
        for question, of in zip(QUESTIONS, all_, strict=True)
        if of.is_far and not of.held
    ]
    met = max(far.values()) <= MOST_FAR and not silent
    return (
        "Thirty questions, each typed once at an endpoint: the median error of the answer's rows, of a wrong ranking "
        "100 %; not inside: with `--spread`, more than a tenth of the rows miss the truth.",
        table(
            ("question", *outcomes),
            [[one.asked, *(str(of[i]) for of in outcomes.values())] for i, one in enumerate(QUESTIONS)],
        ),
        f"Off by more than {FAR:.0%}: {', '.join(f'{number} ({name})' for name, number in far.items())}; goal: at most "
        f"{MOST_FAR}, each of them inside its spread or refused: {verdict(met)}"
        + (f" (not so: {', '.join(silent)})." if silent else "."),
    )


def _goals(name: str, of: Errors) -> dict[str, bool]:
    """Whether each goal is met."""
    return {
        "counts": _quantile(of.counts, 0.5) <= 0.035,
        "p90 of counts": _quantile(of.counts, 0.9) <= (0.25 if "full" in name else 0.2),
        "spread": of.held >= 0.9,
        "half width": of.half_width <= 0.25,
        "groups": _quantile(of.groups, 0.5) <= 0.03,
        "correlations": not len(of.correlations) or float(of.correlations.mean()) <= 0.02,
        "coefficients": _quantile(of.coefficients, 0.5) <= 0.2,
        "matches": of.matched <= of.by_chance,
    }


# --- tables -----------------------------------------------------------------------------------------------------------

_DEMO = Asked(
    ("age", "length_of_stay"), ("sex", "ethnicity", "county"), ("admission_date",), ("charge",), ("diagnosis",)
)
_SHARED: dict[str, tuple[Asked, str]] = {
    "adult": (
        Asked(
            ("age",),
            ("sex", "race", "marital-status", "education", "native-country", "workclass"),
            plain_texts=("occupation", "salary-class"),
        ),
        "salary-class",
    ),
    "fars": (
        Asked(
            ("iage",), ("irace", "isex", "ihispanic", "istatenum", "ideathmon"), plain_texts=("iinjury", "ideathday")
        ),
        "iinjury",
    ),
    "mach2019": (
        Asked(
            ("age", "familysize"),
            ("gender", "married", "race", "religion", "Q1A", "Q2A", "Q3A", "Q4A"),
            plain_texts=tuple(f"Q{i}A" for i in range(5, 11)),
        ),
        "Q5A",
    ),
}
"""Tables beside the project, by their folders; all other columns are texts with a listed hierarchy."""


@contextmanager
def _demo(name: str, rows: int) -> Iterator[tuple[Subject, Both]]:
    """The demo's policy on generated discharges, by full domain or local recoding."""
    policy = demo_policy()
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "copy.duckdb"
        shutil.copyfile(discharges(rows), database)
        policy = replace(policy, methods=(LocalRecoding(),) if "local" in name else ())
        with _released(Subject(name, policy, _DEMO, "charge"), database) as both:
            yield both


@contextmanager
def _shared(data: Dataset) -> Iterator[tuple[Subject, Both]]:
    """A table of texts, with the demo's intervals for its numbers, by local recoding with k = 5."""
    name = data.folder.name
    asked, explained = _SHARED[name]
    base = demo_policy()
    intervals = next(of.hierarchy for of in base.attributes if of.column == "age")
    attributes = [AttributePolicy(column, Role.QUASI_IDENTIFIER, intervals) for column in asked.numbers]
    attributes += [
        AttributePolicy(column, Role.QUASI_IDENTIFIER, InlineLevels(data.levels(column))) for column in asked.texts
    ]
    attributes += [AttributePolicy(column, Role.SENSITIVE, acknowledged=True) for column in asked.plain_texts]
    policy = replace(
        base,
        source=replace(base.source, table=name),
        attributes=tuple(attributes),
        methods=(LocalRecoding(),),
        person_column=None,
        privacy_models=(KAnonymity(5),),
        suppression_limit=Decimal(0),
    )
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "copy.duckdb"
        with duckdb.connect(database) as connection:
            rows = data.table()
            connection.execute(f"CREATE TABLE {name} AS FROM rows")
            for column in asked.numbers:
                connection.execute(f'ALTER TABLE {name} ALTER "{column}" TYPE BIGINT')
            del rows
        with _released(Subject(name, policy, asked, explained), database) as both:
            yield both


@contextmanager
def _released(subject: Subject, database: Path) -> Iterator[tuple[Subject, Both]]:
    """The release with estimates; the view `truth` has the source's values of its people, in the words it shows."""
    name = subject.policy.source.table
    with duckdb.connect(database) as connection:
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT row_number() OVER () AS rid, * FROM {name}")
    rid = AttributePolicy("rid", Role.INSENSITIVE, acknowledged=True)
    # By the default limit, a busy machine would measure a worse release.
    search = replace(subject.policy.search, time_limit_seconds=Decimal(600))
    policy = replace(subject.policy, attributes=(rid, *subject.policy.attributes), search=search)
    with published(policy, database, replace(TARGET, estimates=True)) as both:
        asked, told = subject.asked, both.connection.sql(f"FROM {_ESTIMATED}")
        known = dict(
            zip(
                told.columns,
                both.connection.sql(f"SELECT count(COLUMNS(*)) FROM {_ESTIMATED}").fetchall()[0],
                strict=True,
            )
        )
        valued = {name for name, type_ in zip(told.columns, told.types, strict=True) if str(type_) != "VARCHAR"}
        numbers, texts, dates = (
            tuple(name for name in names if known[name] and (name in valued) == are_valued)
            for names, are_valued in ((asked.numbers, True), (asked.texts, False), (asked.dates, True))
        )
        subject = replace(subject, asked=replace(asked, numbers=numbers, texts=texts, dates=dates))
        _tell_truth(subject, both.connection)
        yield subject, both


def _tell_truth(subject: Subject, connection: duckdb.DuckDBPyConnection) -> None:
    """Writes the finest label that the release shows for a text that it nowhere shows: nobody can ask for another."""
    shown = []
    for attribute in subject.policy.attributes:
        if attribute.column not in subject.asked.texts or not isinstance(attribute.hierarchy, InlineLevels):
            continue
        column = f'"{attribute.column}"'
        known = {label for (label,) in connection.sql(f"SELECT DISTINCT {column} FROM {_ESTIMATED}").fetchall()}
        named = {row[0]: next((of for of in row if of in known), None) for row in attribute.hierarchy.rows}
        pairs = ", ".join(f"({literal(value)}, {literal(of)})" for value, of in named.items())
        connection.execute(f'CREATE TABLE memory.main."shown {attribute.column}" AS FROM (VALUES {pairs}) AS t(v, l)')
        shown.append(f'(SELECT l FROM memory.main."shown {attribute.column}" WHERE v = s.{column}) AS {column}')
    replaced = f" REPLACE ({', '.join(shown)})" if shown else ""
    connection.execute(
        f"CREATE TABLE memory.main.truth AS SELECT *{replaced} FROM memory.main.source AS s "
        f"SEMI JOIN {_ESTIMATED} USING (rid)"
    )


# --- errors -----------------------------------------------------------------------------------------------------------

_TRUTH = "memory.main.truth"


def _errors(subject: Subject, both: Both) -> Errors:
    connection, questions = both.connection, RandomQuestions(both.connection, _TRUTH, subject.asked)
    conditions = questions.counts(COUNTS)
    true = np.array(counts(connection, _TRUTH, conditions), float)
    told = np.array([counts(connection, name, conditions) for name in (_ESTIMATED, *_OTHERS)], float)
    reach = 3 * told.std(0, ddof=1)
    by_group: dict[bool, list[float]] = {False: [], True: []}
    for question in questions.groups(GROUPS):
        truth, found = (groups(connection, name, question) for name in (_TRUTH, _ESTIMATED))
        large = {group: of for group, (of, rows) in truth.items() if rows >= LEAST_IN_GROUP}
        # A mean near 0 is not missed by a multiple of itself.
        least = 0.05 * abs(float(np.median(list(large.values())))) if large else 0.0
        by_group[question.aggregate == "p90"] += [
            abs(found[group][0] - of) / max(abs(of), least, 1e-9) if group in found else 1.0
            for group, of in large.items()
        ]
    return Errors(
        counts=abs(told[0] - true) / true,
        held=float(np.mean(abs(told.mean(0) - true) <= reach + 1e-9)),
        half_width=float(np.median(reach / true)),
        groups=np.array(by_group[False]),
        percentiles=np.array(by_group[True]),
        correlations=_correlations(subject.asked, connection),
        coefficients=_coefficients(subject, connection),
        **_matches(subject, connection),
    )


def _correlations(asked: Asked, connection: duckdb.DuckDBPyConnection) -> Floats:
    numbers = [*(f'"{name}"' for name in asked.numbers), *(f'epoch("{name}")' for name in asked.dates)]
    generalized = len(numbers)
    numbers += [f'"{name}"' for name in asked.plain_numbers]
    pairs = [(a, b) for i, j in combinations(range(len(numbers)), 2) if i < generalized
             for a, b in [(numbers[i], numbers[j])]]  # fmt: skip
    if not pairs:
        return np.zeros(0)
    listed = ", ".join(f"corr({a}, {b})" for a, b in pairs)
    true, told = (
        np.array(connection.sql(f"SELECT {listed} FROM {name}").fetchall(), float) for name in (_TRUTH, _ESTIMATED)
    )
    errors: Floats = np.abs(told - true)[0]
    return errors


def _coefficients(subject: Subject, connection: duckdb.DuckDBPyConnection) -> Floats:
    """Errors of the coefficients of all columns that the truth is sure of."""
    asked, explained = subject.asked, subject.explained
    terms = [*(f'"{name}"' for name in asked.numbers), *(f'epoch("{name}") / 86400' for name in asked.dates)]
    for name in asked.texts:
        common = connection.sql(
            f'SELECT "{name}" FROM {_TRUTH} WHERE "{name}" IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 '
            f"LIMIT {_LEVELS} OFFSET 1"
        ).fetchall()
        terms += [f"\"{name}\" = '{value}'" for (value,) in common]
    if explained in asked.plain_numbers:
        explained = f'"{explained}"'
    else:
        ((common_one,),) = connection.sql(f'SELECT mode("{explained}") FROM {_TRUTH}').fetchall()
        explained = f"\"{explained}\" = '{common_one}'"
    true, errors = _fitted(connection, _TRUTH, terms, explained)
    told, _ = _fitted(connection, _ESTIMATED, terms, explained)
    sure = np.abs(true) > _SURE * errors
    off: Floats = (np.abs(told - true) / np.abs(true))[sure]
    return off


def _fitted(
    connection: duckdb.DuckDBPyConnection, name: str, terms: Sequence[str], explained: str
) -> tuple[Floats, Floats]:
    """Ordinary least squares: the coefficients but the constant, and their standard errors."""
    listed = ", ".join(f"({term})::DOUBLE AS t{i}" for i, term in enumerate([*terms, explained]))
    rows = connection.sql(f"SELECT {listed} FROM {name}").fetchnumpy()
    columns = [np.array(of.tolist(), float) for of in rows.values()]
    x, y = np.stack([np.ones(len(columns[0])), *columns[:-1]], axis=1), columns[-1]
    there = ~np.isnan(x).any(1) & ~np.isnan(y)
    x, y = x[there], y[there]
    scale = np.maximum(np.abs(x).max(0), 1e-12)
    inverse = np.linalg.pinv((x / scale).T @ (x / scale))
    b = inverse @ ((x / scale).T @ y)
    variance = float(np.square(y - (x / scale) @ b).sum()) / max(len(y) - len(b), 1)
    return (b / scale)[1:], (np.sqrt(np.maximum(np.diag(inverse), 0) * variance) / scale)[1:]


def _matches(subject: Subject, connection: duckdb.DuckDBPyConnection) -> dict[str, float]:
    """How often the only row with all true values of a person is theirs, and how often it were by chance."""
    keys = ", ".join(f'"{name}"' for name in subject.asked.generalized)
    rows = connection.sql(
        f"WITH told AS (SELECT {keys}, count(*) AS n, min(rid) AS told FROM {_ESTIMATED} GROUP BY {keys}), "
        "sized AS (SELECT class_id, count(*) AS size FROM "
        f"{_ESTIMATED} GROUP BY class_id) SELECT avg((told.told = truth.rid)::INT), avg(1 / size) "
        f"FROM {_TRUTH} AS truth JOIN told USING ({keys}) JOIN {_ESTIMATED} AS own ON own.rid = truth.rid "
        "JOIN sized USING (class_id) WHERE n = 1"
    ).fetchall()
    matched, by_chance = rows[0]
    return {"matched": matched or 0.0, "by_chance": by_chance or 0.0}


# --- words ------------------------------------------------------------------------------------------------------------


def _quantile(of: Floats, share: float) -> float:
    return float(np.quantile(of, share)) if len(of) else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _median_p90(of: Floats) -> str:
    return f"{_percent(_quantile(of, 0.5))}, {_percent(_quantile(of, 0.9))}" if len(of) else "none"


def _mean(of: Floats) -> str:
    return f"{of.mean():.3f}" if len(of) else "none"
