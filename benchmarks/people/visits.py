"""Generated visits of people, and the policy for them."""

from collections.abc import Sequence
from decimal import Decimal

from tableveil.backend import Session
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.definition import HierarchyDefinition
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.policy import AttributePolicy, Dominance, KAnonymity, Policy, PrivacyModel, ReleaseTarget, Role
from tableveil.policy import TableReference as Table

K = 5

_ROWS = """
CREATE TABLE main.visits AS
SELECT
    person,
    hash(person, 1) % 2 AS sex,
    1930 + hash(person, 2) % 90 AS birth_year,
    'a' || hash(person, 3) % 100 AS area,
    hash(person, 4) % 3 AS insurance,
    1 + hash(person, visit, 5) % 24 AS month,
    'w' || hash(person, visit, 6) % 12 AS ward
FROM (SELECT range AS person FROM range({people})) CROSS JOIN range(30) AS visits(visit)
WHERE visit < if(hash(person, 7) % 50 = 0, 30, 1 + hash(person, 8) % 8)
"""
"""One person in fifty has 30 visits, the others have 1 to 8: five on average."""


def create_visits(session: Session, people: int) -> int:
    """Creates the table and returns its number of rows."""
    session.execute(_ROWS.format(people=people))
    rows: int = session.value("SELECT count(*) FROM main.visits")
    return rows


def visits_policy(
    person: str | None, models: Sequence[PrivacyModel] = (KAnonymity(K), Dominance(Decimal("0.2")))
) -> Policy:
    """A policy of six quasi-identifiers; without a person every row is one."""
    areas = InlineLevels(tuple((f"a{i}", f"region {i // 10}", f"half {i // 50}", "*") for i in range(100)))
    wards = InlineLevels(tuple((f"w{i}", f"department {i // 3}", "*") for i in range(12)))
    hierarchies: dict[str, HierarchyDefinition] = {
        "sex": SuppressionOnly(),
        "birth_year": Intervals("1930", "2019", ("5", "10", "30")),
        "area": areas,
        "insurance": SuppressionOnly(),
        "month": Intervals("1", "24", ("3", "6", "12")),
        "ward": wards,
    }
    return Policy(
        source=Table("", "main", "visits"),
        attributes=(
            *(AttributePolicy(name, Role.QUASI_IDENTIFIER, hierarchy) for name, hierarchy in hierarchies.items()),
            AttributePolicy("person", Role.IDENTIFYING, acknowledged=person is None),
        ),
        person_column=person,
        privacy_models=tuple(models),
        release=ReleaseTarget("released", "release"),
        suppression_limit=Decimal("0.05"),
    )
