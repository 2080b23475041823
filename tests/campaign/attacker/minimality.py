"""The extra knowledge of an adversary who knows all quasi-identifiers and runs the algorithm: measured on tiny tables.

The product promises nothing about this (docs/explanations/threats.md, "Minimality"). The algorithm is written again
here; a difference from the product's choice is a finding.
"""

import itertools
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.campaign.attacker import values
from tests.campaign.attacker.campaign import Attacked
from tests.campaign.attacker.campaign import Report as Attacks
from tests.campaign.attacker.cases import TAG, Case, Method, SensitiveColumn
from tests.campaign.attacker.columns import Document, Ladders, QuasiIdentifier, Text, tree
from tests.migrated import opened

LETTERS = "ABCDEF"
ILLNESSES = ("burn", "cold", "flu")
MOST_WORLDS = 3_000

Levels = tuple[int, ...]
World = tuple[str, ...]
"""A sensitive value per record."""


@dataclass(slots=True)
class Report:
    """How many releases with models of sensitive columns reveal more to the adversary, and the largest gain."""

    releases: int = 0
    more: int = 0
    certain: int = 0
    worst: tuple[float, float, int] = (0.0, 0.0, 0)
    broken: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield (
            f"{self.releases} tiny releases: running the algorithm tells more than the classes in {self.more}, and "
            f"somebody's value for certain in {self.certain} where the classes do not; {len(self.broken)} broken"
        )
        naive, learned, seed = self.worst
        yield f"at most: a probability of {learned:.2f} instead of {naive:.2f} (seed {seed})"
        yield from self.broken


def measure(seed: int, seconds: float, releases: int) -> Report:
    """Releases tiny tables from the seed on."""
    report, attacks, until = Report(), Attacks(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as directory:
        for database in opened(Path(directory) / "tiny.duckdb"):
            attacked = Attacked(database, attacks)
            while report.releases < releases and time.monotonic() < until:
                drawn, model = _tiny(seed)
                number = attacked.release(drawn)
                chosen = _choose(drawn, model, tuple(str(row["s0"]) for row in drawn.rows))
                if (number is None) != (chosen is None):
                    report.broken.append(f"seed {seed}: a release of {chosen} is feasible, or not")
                elif number is not None and chosen is not None:
                    with database.session() as session:
                        levels = session.rows(
                            "SELECT level FROM tableveil.release_attributes WHERE release = ? ORDER BY position",
                            [number],
                        )
                    if tuple(level for (level,) in levels) != chosen:
                        report.broken.append(f"seed {seed}: {levels} was chosen instead of {chosen}")
                    _note(report, drawn, model, chosen)
                seed += 1
            attacked.close()
    report.broken += attacks.broken
    return report


def _note(report: Report, drawn: Case, model: Document, chosen: Levels) -> None:
    worlds = list(itertools.islice(_worlds(drawn, chosen), MOST_WORLDS + 1))
    if len(worlds) > MOST_WORLDS:
        return
    report.releases += 1
    naive = _most_likely(worlds)
    learned = _most_likely([world for world in worlds if _choose(drawn, model, world) == chosen])
    report.more += learned > naive + 1e-9
    report.certain += learned == 1 > naive
    if learned - naive > report.worst[1] - report.worst[0]:
        report.worst = (naive, learned, drawn.seed)


def _tiny(seed: int) -> tuple[Case, Document]:
    """A table of two quasi-identifiers and one sensitive column, k-anonymity and one model more."""
    random = Random(seed)
    columns = []
    for j in range(2):
        ladders: Ladders = tree(random, list(LETTERS))
        rows = {"inline": {"rows": [list(row) for row in ladders.values()]}}
        columns.append(QuasiIdentifier(f"q{j}", "VARCHAR", rows, ladders))
    few = [random.sample(LETTERS, 2) for _ in columns]
    illness = SensitiveColumn("s0", "VARCHAR", ILLNESSES, (3, 1, 1), ILLNESSES, tree(random, ILLNESSES))
    people: tuple[dict[str, Text], ...] = tuple(
        {
            TAG: str(i),
            **{column.name: random.choice(letters) for column, letters in zip(columns, few, strict=True)},
            "s0": random.choices(illness.values, illness.weights)[0],
        }
        for i in range(random.randint(5, 9))
    )
    model: Document = random.choice(
        [
            {"distinct_l_diversity": {"column": "s0", "l": 2}},
            {"probabilistic_l_diversity": {"column": "s0", "l": "1.5"}},
            {"beta_likeness": {"column": "s0", "beta": "1", "enhanced": False}},
            {"t_closeness": {"column": "s0", "t": "0.3", "distance": "EQUAL"}},
        ]
    )
    policy = {
        "source": {"table": "people"},
        "rows_are_people": True,
        "attributes": [
            {"column": TAG, "role": "IDENTIFYING"},
            *({"column": c.name, "role": "QUASI_IDENTIFIER", "hierarchy": c.hierarchy} for c in columns),
            illness.document,
        ],
        "privacy_models": [{"k_anonymity": {"k": 2}}, model],
        "quality_model": {"height": {}},
        "release": {"name": f"tiny_{seed}"},
        "repeat_reason": f"case {seed}",
    }
    types = {TAG: "INTEGER", "q0": "VARCHAR", "q1": "VARCHAR", "s0": "VARCHAR"}
    drawn = Case(seed, Method.FULL_DOMAIN, tuple(columns), (), (illness,), ("s0",), people, None, types, policy)
    return drawn, model


def _choose(drawn: Case, model: Document, world: World) -> Levels | None:
    """The algorithm: among transformations that hold without suppression, the least sum of levels, then the first."""
    ((name, parameters),) = model.items()
    whole = values.spread_of([*world])
    for levels in sorted(_lattice(drawn), key=lambda levels: (sum(levels), levels)):
        classes = _classes(drawn, levels)
        if all(
            len(records) >= 2
            and values.holds(name, parameters, values.spread_of([world[i] for i in records]), whole, drawn.sensitive[0])
            for records in classes
        ):
            return levels
    return None


def _lattice(drawn: Case) -> Iterator[Levels]:
    return itertools.product(*(range(column.top + 1) for column in drawn.quasi_identifiers))


def _classes(drawn: Case, levels: Levels) -> list[list[int]]:
    classes: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(drawn.rows):
        columns = zip(drawn.quasi_identifiers, levels, strict=True)
        classes[tuple(column.label(row[column.name], level) for column, level in columns)].append(i)
    return list(classes.values())


def _worlds(drawn: Case, levels: Levels) -> Iterator[World]:
    """All worlds that fit the values that the release shows."""
    classes = _classes(drawn, levels)
    arrangements = [sorted(set(itertools.permutations(str(drawn.rows[i]["s0"]) for i in of))) for of in classes]
    for arranged in itertools.product(*arrangements):
        world = [""] * len(drawn.rows)
        for records, those in zip(classes, arranged, strict=True):
            for i, value in zip(records, those, strict=True):
                world[i] = value
        yield tuple(world)


def _most_likely(worlds: Sequence[World]) -> float:
    """The highest probability of any person's value, all worlds being equally likely."""
    counts = [Counter(world[i] for world in worlds) for i in range(len(worlds[0]))]
    return max(max(count.values()) for count in counts) / len(worlds)
