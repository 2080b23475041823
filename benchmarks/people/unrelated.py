"""Section: pairs of random tables of other people, which have numbers, dates, towns and whole columns in common."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.operate.same_people import asked, forget, opened, remember
from benchmarks.section import Section, verdict

PAIRS = 1_000
_MOST_COLUMNS = 8

Column = Callable[[np.random.Generator, int], Any]
"""Makes the values of a column of so many rows."""

_TOWNS = [
    f"{a}{b}" for a in ("Ash", "Brook", "Clay", "Dun", "East", "Fair", "Glen") for b in ("ton", "ford", "ham", "by")
]
_DAY = np.datetime64("2020-01-01")


def _codes(prefix: str, of: int, skew: float = 1.0) -> Column:
    shares = np.arange(1, of + 1) ** -skew
    return lambda rng, rows: [f"{prefix}{i}" for i in rng.choice(of, rows, p=shares / shares.sum())]


def _whole(low: int, high: int) -> Column:
    return lambda rng, rows: rng.integers(low, high, rows)


def _amounts(step: float) -> Column:
    return lambda rng, rows: np.round(rng.lognormal(7, 1.2, rows) / step) * step


def _every(step: int) -> Column:
    """Days by equal steps, or working days."""

    def days(rng: np.random.Generator, rows: int) -> Any:
        return np.busday_offset(_DAY, np.arange(rows), roll="forward") if step == 0 else _DAY + np.arange(rows) * step

    return days


def _born(form: str) -> Column:
    def born(rng: np.random.Generator, rows: int) -> Any:
        days = np.datetime64("1930-01-01") + rng.integers(0, 29_000, rows)
        if form == "date":
            return days
        texts = [str(day) for day in days]
        return [int(text.replace("-", "")) for text in texts] if form == "number" else texts

    return born


def _functions_of_towns(rng: np.random.Generator, rows: int) -> Any:
    return rng.choice(_TOWNS, rows)


NUMBERS: dict[str, Column] = {
    "from 1": lambda rng, rows: np.arange(1, rows + 1),
    "from 0": lambda rng, rows: np.arange(rows),
    "from 1, gaps": lambda rng, rows: np.sort(rng.choice(np.arange(1, 2 * rows + 2), rows, replace=False)),
    "many gaps": lambda rng, rows: np.sort(rng.choice(np.arange(1, 9 * rows + 2), rows, replace=False)),
    "in tens": lambda rng, rows: 10 * np.arange(1, rows + 1),
    "as text": lambda rng, rows: [f"P{i:04}" for i in range(1, rows + 1)],
    "shuffled": lambda rng, rows: rng.permutation(rows) + 1,
    "six digits": lambda rng, rows: rng.choice(900_000, rows, replace=False) + 100_000,
    "none": lambda rng, rows: np.zeros(rows),
}
"""How rows are numbered."""

COLUMNS: dict[str, Column] = {
    "age": lambda rng, rows: rng.normal(45, 18, rows).clip(0, 99).astype(int),
    "sex": lambda rng, rows: rng.choice(["F", "M"], rows, p=[0.55, 0.45]),
    "ill": lambda rng, rows: rng.choice(["no", "yes"], rows, p=[0.95, 0.05]),
    "ward": _codes("ward ", 6),
    "doctor": _codes("Dr. ", 40),
    "town": _functions_of_towns,
    "product": _codes("A-", 400),
    "diagnosis": _codes("E", 90),
    "pay": _amounts(100),
    "dollars": _amounts(1),
    "cents": _amounts(0.01),
    "score": _whole(0, 10),
    "measured": lambda rng, rows: rng.normal(5, 1, rows),
    "rounded": lambda rng, rows: np.round(rng.normal(5, 1, rows), 1),
    "born": _born("date"),
    "born_number": _born("number"),
    "born_text": _born("text"),
    "day": _every(1),
    "week": _every(7),
    "working_day": _every(0),
    "time": lambda rng, rows: 1974 + np.arange(rows) / 12,
    "year": lambda rng, rows: 1950 + np.arange(rows) % 60,
    "month": lambda rng, rows: np.arange(rows) % 12 + 1,
    "group": lambda rng, rows: np.arange(rows) % 4,
    "sorted": lambda rng, rows: np.sort(rng.integers(0, 5, rows)),
    "halves": lambda rng, rows: np.where(np.arange(rows) < rows / 2, "a", "b"),
    "blocks": lambda rng, rows: np.arange(rows) // 10,
    "constant": lambda rng, rows: ["DE"] * rows,
    "half_empty": lambda rng, rows: pa.array(rng.integers(0, 50, rows), mask=rng.random(rows) < 0.5),
    "surname": _codes("name ", 3_000, 0.8),
}


def unrelated(pairs: int = PAIRS) -> Section:
    """How often a reason is asked for."""
    alarms: list[str] = []
    with opened() as session:
        for seed in range(pairs):
            rng = np.random.default_rng(seed)
            forget(session)
            first, second = _pair(rng)
            person = "id" if rng.random() < 0.5 else None
            remember(session, first, person)
            if found := asked(session, second, person):
                alarms.append(f"pair {seed}: {found}")
    told = "Rows are numbered in one of {} ways, and have up to {} columns of {} kinds: {}.".format(
        len(NUMBERS), _MOST_COLUMNS, len(COLUMNS), ", ".join(COLUMNS)
    )
    goal = f"False alarms: {len(alarms)} of {pairs:,}; goal 0: {verdict(not alarms)}."
    return Section("Tables of other people", (told, goal, *alarms[:20]), sound=not alarms)


def _pair(rng: np.random.Generator) -> Iterator[pa.Table]:
    """Two tables that have some of their columns by one name, and sometimes one column as it is."""
    names = list(COLUMNS)
    common = rng.choice(names, rng.integers(0, 5), replace=False).tolist()
    sizes = [int(10 ** rng.uniform(0.7, 3.5)) for _ in range(2)]
    if rng.random() < 0.4:
        sizes[1] = sizes[0]
    equal = rng.random() < 0.3 and sizes[0] == sizes[1]
    # A list of towns, say, or a design: the same in both.
    kind = str(rng.choice(["town", "group", "ward", "born", "day", "sorted"]))
    shared = np.asarray(COLUMNS[kind](rng, sizes[0]))
    number = str(rng.choice(list(NUMBERS)))
    for i, rows in enumerate(sizes):
        mine = [*common, *rng.choice(names, rng.integers(1, _MOST_COLUMNS - len(common)), replace=False).tolist()]
        values = {"id": NUMBERS[number](rng, rows)} | {name: COLUMNS[name](rng, rows) for name in mine}
        if equal:
            # Drawn values in the same rows would be the same people.
            values["equal"] = rng.permutation(shared) if i and kind in ("town", "ward", "born") else shared
        if rng.random() < 0.3:
            number = str(rng.choice(list(NUMBERS)))
        table = pa.table(
            {name: each if isinstance(each, pa.Array) else pa.array(each) for name, each in values.items()}
        )
        # Many files are sorted by one of their columns, and numbered then.
        by = str(rng.choice(list(values)))
        ordered = table if rng.random() < 0.5 else table.sort_by(by).set_column(0, "id", table["id"])
        yield ordered
