"""Joint classes meet the models of the earlier releases' policies, or the account names those that nobody judged."""

import json
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.errors import InfeasibleError, InvalidError
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.inherited import with_earlier_models
from tableveil.policy import (
    AttributePolicy,
    Choose,
    Distance,
    DistinctLDiversity,
    Dominance,
    KAnonymity,
    KMap,
    LeftBehind,
    Policy,
    PrivacyModel,
    Role,
    SafeHarbor,
    TableReference,
    TCloseness,
)
from tableveil.state import jobs
from tableveil.state.releases import RELEASES, Release
from tests.once import once
from tests.service.jobs.contexts import context
from tests.service.jobs.managed import OF_KNOWN_PEOPLE
from tests.service.jobs.plain import plain_target


def policy(name: str, *models: PrivacyModel, left_behind: LeftBehind | None = None, **changes: Any) -> Policy:
    found = replace(
        OF_KNOWN_PEOPLE,
        source=TableReference("", "main", "register"),
        privacy_models=models,
        release=plain_target("main", name, left_behind=left_behind),
    )
    return replace(found, **changes)


def release(database: Database, asked: Policy, policies: dict[str, Policy]) -> Release:
    """Makes a release, whose document is its name among the policies."""
    name = asked.release.name
    policies[json.dumps(name)] = asked
    with database.session() as own:
        own.control = Control()
        number, document = jobs.next_number(own.ledger), json.dumps(name)
        request = jobs.Request(number, "", document, "", asked.source, "main", name, jobs.now())
        jobs.insert_request(own.ledger, request)
        made = anonymize(context(own, database, number, document=document, policy_of=policies.__getitem__), asked)
        found = RELEASES.find(own.ledger, made)
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def register(session: Session) -> None:
    session.execute(
        "CREATE TABLE register AS SELECT i AS id, 20 + i % 10 AS age, (i // 7) % 2 AS ward, "
        "'illness ' || (i // 20) % 2 AS illness FROM range(80) r(i)"
    )


def joint(session: Session, *releases: int) -> Counter[tuple[int, ...]]:
    """How many people have each combination of classes, for those with a row in the last release."""
    people: dict[int, dict[int, int]] = {}
    for digest, number, class_ in session.rows("SELECT digest, release, class FROM tableveil.release_persons"):
        people.setdefault(digest, {})[number] = class_
    chains = Counter(tuple(classes.get(number, -1) for number in releases) for classes in people.values())
    return Counter({chain: number for chain, number in chains.items() if chain[-1] > 0})


def test_the_largest_k_counts(database: Database, session: Session) -> None:
    policies: dict[str, Policy] = {}
    first = release(database, policy("first", KAnonymity(8)), policies).number
    session.execute("UPDATE register SET age = age + 1 WHERE id % 5 = 0")
    asked = policy("second", KAnonymity(2), left_behind=LeftBehind.REPORT)
    second = release(database, asked, policies)
    assert min(joint(session, first, second.number).values()) >= 8
    assert any(f"ask for: 8-anonymity (releases/{first})" in warning for warning in second.warnings), second.warnings


@pytest.mark.long
def test_models_of_columns(database: Database, session: Session) -> None:
    """Each joint class has two illnesses, because the earlier policy asks for it."""
    policies: dict[str, Policy] = {}
    first = release(database, policy("first", KAnonymity(2), DistinctLDiversity("illness", 2)), policies).number
    session.execute("UPDATE register SET age = age + 1 WHERE id % 5 = 0")
    asked = policy("second", KAnonymity(2), left_behind=LeftBehind.REPORT)
    second = release(database, asked, policies)
    name = f"distinct 2-diversity of illness (releases/{first})"
    assert any(f"ask for: {name}" in warning for warning in second.warnings), second.warnings


@pytest.mark.long
def test_infeasible_answers_name_them(database: Database) -> None:
    policies: dict[str, Policy] = {}
    first = release(database, policy("first", KAnonymity(70)), policies).number
    asked = policy("second", KAnonymity(2), DistinctLDiversity("illness", 3), left_behind=LeftBehind.REPORT)
    with pytest.raises(InfeasibleError) as refused:
        release(database, replace(asked, suppression_limit=Decimal(0)), policies)
    assert f"70-anonymity (releases/{first})" in str(refused.value.faults)
    assert [str(relaxation) for relaxation in refused.value.relaxations] == [
        "privacy_models[1].distinct_l_diversity.l = 2"
    ]


@pytest.mark.long
@pytest.mark.parametrize("choose", once([Choose.ALL_MODELS, Choose.QUASI_IDENTIFIERS_ONLY]))
@pytest.mark.parametrize("stricter", once([KAnonymity(70), DistinctLDiversity("illness", 2)]))
def test_advice_changes_no_model_of_an_earlier_policy(
    database: Database, session: Session, stricter: PrivacyModel, choose: Choose
) -> None:
    policies: dict[str, Policy] = {}
    models = {type(one): one for one in (KAnonymity(2), stricter)}.values()
    first = release(database, policy("first", *models), policies).number
    session.execute("DELETE FROM register WHERE illness <> 'illness 0'")
    asked = policy("second", KAnonymity(2), left_behind=LeftBehind.REPORT)
    asked = replace(asked, suppression_limit=Decimal("0.01"), search=replace(asked.search, choose=choose))
    with pytest.raises(InfeasibleError) as refused:
        release(database, asked, policies)
    found = {fault.field: fault.found for fault in refused.value.faults}
    assert set(found) <= {"release.together_with", "suppression_limit", "search.choose", "privacy_models[0]"}
    assert found.get("privacy_models[0]", "2-anonymity").startswith("2-anonymity")
    assert any(f"{stricter}" in fault.found for fault in refused.value.faults if "together" in fault.field)
    assert not [c for each in refused.value.relaxations for c in each.changes if c.field.startswith("privacy_models")]
    # The advice is true: without that release there is nothing to change.
    alone = replace(asked, release=replace(asked.release, left_behind=None), repeat_reason=f"releases/{first} is old")
    release(database, alone, policies)


ILLNESS = AttributePolicy("illness", Role.SENSITIVE)
LISTED = replace(ILLNESS, hierarchy=SuppressionOnly())


@pytest.mark.parametrize(
    ("own", "theirs", "expected", "unjudged"),
    [
        ([KAnonymity(5)], [KAnonymity(3)], [KAnonymity(5)], []),
        ([KAnonymity(3)], [KAnonymity(5)], [KAnonymity(5)], []),
        ([KAnonymity(3)], [Dominance(Decimal("0.2"))], [KAnonymity(3), Dominance(Decimal("0.2"))], []),
        ([Dominance(Decimal("0.5"))], [Dominance(Decimal("0.2"))], [Dominance(Decimal("0.2"))], []),
        ([Dominance(Decimal("0.1"))], [Dominance(Decimal("0.2"))], [Dominance(Decimal("0.1"))], []),
        ([KAnonymity(3)], [KMap(9), SafeHarbor()], [KAnonymity(3)], [KMap(9), SafeHarbor()]),
        (
            [KAnonymity(3)],
            [DistinctLDiversity("gone", 2), DistinctLDiversity("illness", 2)],
            [KAnonymity(3), DistinctLDiversity("illness", 2)],
            [DistinctLDiversity("gone", 2)],
        ),
        (
            [KAnonymity(3)],
            [TCloseness("illness", Decimal("0.2"), Distance.HIERARCHICAL)],
            [KAnonymity(3)],
            [TCloseness("illness", Decimal("0.2"), Distance.HIERARCHICAL)],
        ),
    ],
)
def test_models_that_are_inherited(
    own: list[PrivacyModel], theirs: list[PrivacyModel], expected: list[PrivacyModel], unjudged: list[PrivacyModel]
) -> None:
    """An order or a hierarchy that differs makes another model of one that looks at it."""
    earlier = policy("first", *theirs)
    earlier = replace(earlier, attributes=(*earlier.attributes[:-1], LISTED))
    found = with_earlier_models(policy("second", *own), [("releases/7", earlier)])
    assert list(found.policy.privacy_models) == expected
    assert list(found.unjudged) == [f"{model} (releases/7)" for model in unjudged]
    added = [model for model in expected if model not in own]
    assert list(found.met) == [f"{model} (releases/7)" for model in added]


@pytest.mark.parametrize("renamed", once([False, True]))
def test_people_who_are_known_by_two_columns(database: Database, session: Session, renamed: bool) -> None:
    """A badge has the number of somebody else's id: all people were recognized, and none was the same person."""
    policies: dict[str, Policy] = {}
    session.execute("ALTER TABLE register ADD COLUMN badge BIGINT; UPDATE register SET badge = (id * 7) % 80")
    both = (AttributePolicy("badge", Role.IDENTIFYING), *policy("").attributes)
    first = release(database, policy("first", KAnonymity(2), attributes=both), policies).number
    session.execute("ALTER TABLE register DROP COLUMN " + ("badge" if renamed else "ward"))
    if renamed:
        session.execute("ALTER TABLE register RENAME COLUMN id TO badge")
    attributes = tuple(each for each in both if each.column != ("id" if renamed else "ward"))
    asked = policy("second", KAnonymity(2), left_behind=LeftBehind.REPORT, attributes=attributes, person_column="badge")
    if renamed:
        assert any("80 of 80 people" in warning for warning in release(database, asked, policies).warnings)
        return
    with pytest.raises(InvalidError) as refused:
        release(database, asked, policies)
    (fault,) = refused.value.faults
    assert fault.field == "release.together_with"
    assert fault.found == f"releases/{first}, whose person_column is another column of the source"
