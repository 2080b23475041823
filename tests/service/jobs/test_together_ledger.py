"""The ledger of releases judged together: it is checked anew, and knows the figures of any set and of many."""

from collections import Counter
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from sqlglot import exp

from tableveil.backend import Database, Session
from tableveil.errors import InternalError, InvalidError, NotFoundError
from tableveil.lifecycle import joint_figures
from tableveil.lifecycle.together import MOST_SIZE
from tableveil.policy import DistinctLDiversity, LeftBehind, SearchOptions
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.state import persons
from tests.once import once
from tests.service.jobs import test_together
from tests.service.jobs.test_together import Run, chains, month, policy

register = test_together.register


@pytest.mark.parametrize("changes", once([{}, {"methods": (LocalRecoding(),)}]))
@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ("class % 2", "other numbers of classes"),
        # Sizes are the same, but each person has the class of another one.
        ("coalesce(lag(class) OVER (ORDER BY person), max_by(class, person) OVER ())", "of their labels"),
        ("CASE person WHEN 0 THEN -1 WHEN 61 THEN max(class) FILTER (person = 0) OVER () ELSE class END", "labels"),
    ],
)
def test_the_ledger_is_checked_again(
    database: Database,
    session: Session,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    wrong: str,
    found: str,
    changes: dict[str, Any],
) -> None:
    """A writer that leaves the classes of people wrong writes nothing."""
    session.execute("INSERT INTO register VALUES (61, 99, 1, 'of nobody else')")
    publishing = import_module("tableveil.lifecycle.publish")
    right = publishing.people_with_classes

    def mistaken(*arguments: Any) -> exp.Expr:
        return exp.select("person", f"{wrong} AS class").from_(right(*arguments)).subquery("wrong")

    monkeypatch.setattr(publishing, "people_with_classes", mistaken)
    with pytest.raises(InternalError, match=found):
        run(database, policy("first", **changes))


def test_values_of_joint_classes_are_counted_again(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both wards have two illnesses, but joint classes have one: a search that does not see it writes nothing."""
    session.execute("UPDATE register SET illness = CASE age % 2 WHEN 0 THEN 'a' ELSE 'b' END")
    by_age = SearchOptions(levels=(("age", 0), ("ward", 1)))
    run(database, policy("first", search=by_age))
    model = DistinctLDiversity("illness", 2)
    by_ward = policy("second", LeftBehind.REPORT, search=SearchOptions(levels=(("age", 1), ("ward", 0))))
    by_ward = replace(by_ward, privacy_models=(*by_ward.privacy_models, model))
    assert run(database, by_ward).suppressed_records == 60
    full_domain = import_module("tableveil.pipelines.full_domain")
    monkeypatch.setattr(full_domain, "choosing_models", lambda policy: policy.privacy_models[:1])
    monkeypatch.setattr(full_domain, "judging_models", lambda policy: ())
    blind = replace(by_ward, release=replace(by_ward.release, name="third"))
    with pytest.raises(InternalError, match=r"of joint classes, \d+ classes are not of distinct 2-diversity"):
        run(database, blind)


def test_any_set_on_demand(database: Database, session: Session, run: Run) -> None:
    """The figures are those of the chains, also of releases that were not judged together."""
    first = run(database, policy("first")).number
    month(session)
    second = run(database, policy("second", repeat_reason="a test")).number
    found, figures = chains(session, first, second), joint_figures(session, [second, first])
    joint = sorted(number for (_, now), number in found.items() if now != -1)
    left = sorted(number for (_, now), number in found.items() if now == -1)
    assert figures.releases == (first, second)
    assert (figures.people, figures.left_behind) == (sum(joint) + sum(left), sum(left))
    assert (figures.smallest, figures.smallest_left_behind) == (joint[0], left[0])
    assert list(figures.sizes) == [
        (size, joint.count(size), left.count(size)) for size in range(1, MOST_SIZE + 1) if size in {*joint, *left}
    ]


@pytest.mark.long
def test_sets_that_tell_nothing(database: Database, run: Run) -> None:
    run(database, policy("first"))
    run(database, policy("second", repeat_reason="a test", no_person_digests=True))
    for numbers in ([], [1], [1, 1], [1, 99], [1, 2]):
        with database.session() as session, pytest.raises((InvalidError, NotFoundError), match="releases"):
            joint_figures(session, numbers)


@pytest.mark.long
def test_fifty_earlier_releases(session: Session) -> None:
    """All at once: the people of fifty releases have the combinations that counting in Python finds."""
    people = range(40)
    session.execute("CREATE TABLE numbered AS SELECT range AS id FROM range(40)")
    classes = [[(person * (release + 3)) % 3 - 1 for person in people] for release in range(50)]
    for release, of_people in enumerate(classes, 1):
        rows = ", ".join(f"({person}, {class_})" for person, class_ in zip(people, of_people, strict=True))
        values = exp.select("*").from_(f"(VALUES {rows}) AS given(person, class)")
        persons.remember(session.ledger, release, values.subquery("people"))
    found = persons.combinations(session.ledger, range(1, 51))
    counted = Counter(zip(*classes, strict=True))
    expected = {chain: number for chain, number in counted.items() if set(chain) != {-1}}
    keys = zip(*(found[f"r{r}"].tolist() for r in range(50)), strict=True)
    assert dict(zip(keys, found["people"].tolist(), strict=True)) == expected
    assert persons.recognize(session.ledger, range(1, 51), "known", exp.table_("numbered"), "id") == sum(
        expected.values()
    )
