"""Turns reference cases into policies over loaded tables, and runs them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.cases import Case
from benchmarks.datasets import Dataset
from benchmarks.expected import Expected, differences
from benchmarks.models import Models, distances_of, read_models
from benchmarks.oddities import known_difference
from benchmarks.problems import NotThereYetError, UnusableError
from benchmarks.service import TARGET, LocalService, Run
from tableveil.hierarchy import InlineLevels
from tableveil.policy import (
    AttributePolicy,
    Distance,
    Policy,
    Population,
    Role,
    SearchOptions,
    TableReference,
    ValueOrder,
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case with its policy over the table that `Tables` loads for its dataset: every so many rows one, None: all."""

    case: Case
    expected: Expected
    columns: tuple[str, ...]
    policy: Policy
    every: int | None


@dataclass(frozen=True, slots=True)
class NotThereYet:
    """A case that cannot be run yet, and why."""

    case: Case
    what: str


@dataclass(frozen=True, slots=True)
class Result:
    """A case that was run, and how the outcome differs from the expected one; `known` gives a known reason."""

    case: Case
    expected: Expected
    run: Run
    differences: tuple[str, ...]
    known: str


class Tables:
    """The datasets of a folder, each opened, and loaded into the service, when it is first needed."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._datasets: dict[str, Dataset] = {}
        self._loaded: set[str] = set()

    def prepare(self, cases: Sequence[Case]) -> list[Prepared | NotThereYet]:
        """The policies of all cases.

        Raises:
            UnusableError: with everything that is wrong with the cases and the folder.
        """
        prepared: list[Prepared | NotThereYet] = []
        faults: list[str] = []
        for case in cases:
            try:
                prepared.append(self._prepare(case))
            except NotThereYetError as error:
                prepared.append(NotThereYet(case, str(error)))
            except UnusableError as error:
                faults.append(f"{case.id}: {error}")
        if faults:
            raise UnusableError("\n".join(faults))
        return prepared

    def load(self, prepared: Prepared, service: LocalService) -> None:
        """Loads the case's rows, and its population's, into the service unless they are there."""
        dataset = prepared.case.dataset
        for every in {None, prepared.every}:
            name = self._table_name(dataset, every)
            if name not in self._loaded:
                rows = self._datasets[dataset].table()
                service.load(name, rows.take(np.arange(0, len(rows), every)) if every else rows)
                self._loaded.add(name)

    def _prepare(self, case: Case) -> Prepared:
        try:
            models = read_models(case.settings)
        except ValueError as error:
            raise UnusableError(f"{case.place}: {error}") from None
        dataset = self._open(case.dataset)
        policy = Policy(
            source=self._table(case.dataset, models.every),
            attributes=_attributes(case, dataset, models),
            person_column=None,
            privacy_models=models.privacy,
            release=TARGET,
            suppression_limit=models.suppression_limit,
            quality_model=models.quality,
            search=SearchOptions(models.time_limit),
            population=self._population(case.dataset, models),
            game=models.game,
        )
        expected = Expected.read(case.expected, case.place, to_beat=models.time_limit is not None)
        return Prepared(case, expected, dataset.columns, policy, models.every)

    def _population(self, dataset: str, models: Models) -> Population | None:
        """All rows if the case's rows are a sample of them, and the case's statements about the number of people."""
        table = self._table(dataset) if models.every else None
        population = Population(table, size=models.population_size, sampling_fraction=models.sampling_fraction)
        return population if population != Population() else None

    def _open(self, name: str) -> Dataset:
        if name not in self._datasets:
            self._datasets[name] = Dataset.open(self._data, name)
        return self._datasets[name]

    def _table(self, dataset: str, every: int | None = None) -> TableReference:
        return TableReference("", "main", self._table_name(dataset, every))

    def _table_name(self, name: str, every: int | None) -> str:
        # By position: dataset names differ by case, tables' names do not.
        return f"dataset_{list(self._datasets).index(name)}" + (f"_every_{every}" if every else "")


def run_case(prepared: Prepared, tables: Tables, service: LocalService) -> Result:
    """Runs a case as a job and compares its release with what is expected."""
    tables.load(prepared, service)
    run = service.run(prepared.policy)
    found = differences(prepared.expected, run, prepared.policy.quality_model, prepared.columns)
    known = known_difference(prepared.expected, run, prepared.policy) if found else ""
    return Result(prepared.case, prepared.expected, run, tuple(found), known)


def _attributes(case: Case, dataset: Dataset, models: Models) -> tuple[AttributePolicy, ...]:
    """The quasi-identifiers in the case's order, which the policy's author chose, then the other columns as they are.

    The order decides only ties, and if several transformations share the best score none of them is demanded; the
    reference tool uses the order of the file, and `Expected.parts` are compared in it.
    """
    quasi_identifiers = [
        AttributePolicy(name, Role.QUASI_IDENTIFIER, InlineLevels(dataset.levels(name)))
        for name in case.quasi_identifiers
    ]
    for name in models.sensitive:
        dataset.require(name)
    others = [
        _sensitive(name, dataset, models)
        if name in models.sensitive
        else AttributePolicy(name, Role.INSENSITIVE, acknowledged=True)
        for name in dataset.columns
        if name not in case.quasi_identifiers
    ]
    return (*quasi_identifiers, *others)


def _sensitive(column: str, dataset: Dataset, models: Models) -> AttributePolicy:
    """With the hierarchy and the order by which models measure distances."""
    attribute = AttributePolicy(column, Role.SENSITIVE)
    distances = distances_of(models.privacy, column)
    if Distance.HIERARCHICAL in distances:
        attribute = replace(attribute, hierarchy=InlineLevels(dataset.levels(column)))
    if Distance.ORDERED in distances:
        attribute = replace(attribute, order=ValueOrder(models.orders.get(column) or dataset.order(column)))
    return attribute
