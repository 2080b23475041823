"""Turns reference cases into policies over loaded tables, and runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.datasets import Dataset
from benchmarks.expected import Expected, differences
from benchmarks.models import read_models
from benchmarks.problems import NotThereYetError, UnusableError
from benchmarks.service import TARGET, LocalService, Run
from tableveil.hierarchy import InlineLevels
from tableveil.policy import AttributePolicy, Policy, Role, SearchOptions, TableReference


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case with its policy over the table that `Tables` loads for its dataset."""

    case: Case
    expected: Expected
    columns: tuple[str, ...]
    policy: Policy


@dataclass(frozen=True, slots=True)
class NotThereYet:
    """A case that cannot be run yet, and why."""

    case: Case
    what: str


@dataclass(frozen=True, slots=True)
class Result:
    """A case that was run, and how the outcome differs from what was expected."""

    case: Case
    expected: Expected
    run: Run
    differences: tuple[str, ...]


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
        """Loads the case's table into the service unless it is there."""
        name = prepared.case.dataset
        if name not in self._loaded:
            service.load(self._table_name(name), self._datasets[name].table())
            self._loaded.add(name)

    def _prepare(self, case: Case) -> Prepared:
        try:
            models = read_models(case.settings)
        except ValueError as error:
            raise UnusableError(f"{case.place}: {error}") from None
        dataset = self._open(case.dataset)
        policy = Policy(
            source=TableReference("", "main", self._table_name(case.dataset)),
            attributes=_attributes(case, dataset),
            person_column=None,
            privacy_models=models.privacy,
            release=TARGET,
            suppression_limit=models.suppression_limit,
            quality_model=models.quality,
            search=SearchOptions(models.time_limit),
        )
        expected = Expected.read(case.expected, case.place, to_beat=models.time_limit is not None)
        return Prepared(case, expected, dataset.columns, policy)

    def _open(self, name: str) -> Dataset:
        if name not in self._datasets:
            self._datasets[name] = Dataset.open(self._data, name)
        return self._datasets[name]

    def _table_name(self, name: str) -> str:
        # By position: datasets are told apart by case, tables are not.
        return f"dataset_{list(self._datasets).index(name)}"


def run_case(prepared: Prepared, tables: Tables, service: LocalService) -> Result:
    """Runs a case as a job and compares its release with what is expected."""
    tables.load(prepared, service)
    run = service.run(prepared.policy)
    found = differences(prepared.expected, run, prepared.policy.quality_model, prepared.columns)
    return Result(prepared.case, prepared.expected, run, tuple(found))


def _attributes(case: Case, dataset: Dataset) -> tuple[AttributePolicy, ...]:
    """The quasi-identifiers in the case's order, which the policy's author chose, then the other columns as they are.

    The order decides only ties, and where several transformations share the best score none of them is asked for; the
    reference tool takes the order of the file, in which `Expected.parts` are compared.
    """
    quasi_identifiers = [
        AttributePolicy(name, Role.QUASI_IDENTIFIER, InlineLevels(dataset.levels(name)))
        for name in case.quasi_identifiers
    ]
    sensitive = str(case.settings.get("sensitive", "")).split(",")
    others = [
        AttributePolicy(name, Role.SENSITIVE)
        if name in sensitive
        else AttributePolicy(name, Role.INSENSITIVE, acknowledged=True)
        for name in dataset.columns
        if name not in case.quasi_identifiers
    ]
    return (*quasi_identifiers, *others)
