"""The suppressed records of a release by the labels of single columns, against a count in plain Python."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from tableveil.backend import Session
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.policy import (
    AttributePolicy,
    KAnonymity,
    NullHandling,
    Policy,
    ReleaseTarget,
    Role,
    SearchOptions,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.release.suppressed import MOST_LABELS
from tableveil.state.releases import Release
from tests.inserted import insert

K = 4
POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "199", ("10",))),
        AttributePolicy("region", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly(), nulls=NullHandling.SUPPRESS),
    ),
    person_column=None,
    privacy_models=(KAnonymity(K),),
    release=ReleaseTarget("main", "released"),
    suppression_limit=Decimal(1),
    search=SearchOptions(levels=(("age", 1), ("region", 0), ("sex", 1))),
    repeat_reason="a test",
)


def test_they_are_counted_by_label(session: Session, database: object, run: Callable[..., Release]) -> None:
    people = [
        (i * i % 190, None if i % 11 == 0 else "NSEW"[i * 7 % 4], None if i % 17 == 0 else "mf"[i % 2])
        for i in range(160)
    ]
    session.execute("CREATE TABLE people (age INTEGER, region VARCHAR, sex VARCHAR)")
    insert(session, "people", people)
    labelled = [(f"[{age // 10 * 10}, {age // 10 * 10 + 9}]", region, "*") for age, region, sex in people if sex]
    classes = Counter(labelled)
    expected, rare = {}, {}
    for j, column in enumerate(("age", "region", "sex")):
        records = Counter(labels[j] for labels in labelled)
        suppressed = Counter(labels[j] for labels in labelled if classes[labels] < K)
        expected[column] = {
            label: (records[label], number) for label, number in suppressed.items() if records[label] >= K
        }
        rare[column] = {label for label in suppressed if records[label] < K}
    release = run(database, POLICY)
    assert release.suppressed_records > len(people) - len(labelled) > 0
    for column, by_label in expected.items():
        found = {one.label: (one.records, one.suppressed) for one in release.suppressed_labels if one.column == column}
        assert len(found) == min(MOST_LABELS, len(by_label))
        assert found.items() <= by_label.items()
        least = min(number for _, number in found.values())
        assert all(number <= least for label, (_, number) in by_label.items() if label not in found)
    # A label of one or two people would outlive their erasure.
    assert rare["age"]
    assert not session.rows("FROM tableveil.release_suppressions WHERE records < ?", [K])
    # Classes of their own levels have no common labels.
    own = replace(POLICY, methods=(LocalRecoding(),), search=SearchOptions(), release=ReleaseTarget("main", "own"))
    assert run(database, own).suppressed_labels == ()
