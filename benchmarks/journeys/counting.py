"""A command that also leaves, in `classes.csv`, the person and the class of each row of a release's source.

`python -m benchmarks.journeys.counting run visits-1.yaml …`: these are what a release is made of, and nowhere else.
"""

import csv
from importlib import import_module
from pathlib import Path

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, column
from tableveil.cli.main import main
from tableveil.release.plan import ReleasePlan

_publish = import_module("tableveil.lifecycle.publish")
_people_with_classes = _publish.people_with_classes


def _noted(session: WarehouseSession, plan: ReleasePlan, person: str) -> exp.Expr:
    numbered = plan.recoding.numbered(session, plan)
    assert numbered is not None, "the method has classes of labels"
    records, class_ = numbered
    rows = session.rows(records.select(alias(column(person, "source"), "person"), alias(class_, "class")))
    with Path("classes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    remembered: exp.Expr = _people_with_classes(session, plan, person)
    return remembered


if __name__ == "__main__":
    _publish.people_with_classes = _noted  # type: ignore[attr-defined]
    main()
