"""The views that show figures of documents as rows: what queries read is what the records have."""

import math
from dataclasses import replace
from decimal import Decimal

from tableveil.backend import Session
from tableveil.policy import TableReference
from tableveil.privacy.exposure.found import Exposure
from tableveil.privacy.guarantees import Guarantee
from tableveil.risk import ProsecutorRisk
from tableveil.state.frontiers import FRONTIERS, Found, Frontier, Point
from tableveil.state.release_attributes import AttributeResult, attributes_of
from tableveil.state.release_explanations import CostPart, Explanation, Neighbour, Rejection
from tableveil.state.releases import RELEASES, RunnerUp
from tableveil.state.risk_analyses import RISK_ANALYSES, Measure, RiskAnalysis
from tests.sql.state.release_samples import RELEASE, SIZES

SOURCE = TableReference("c", "s", "t")

RISK = ProsecutorRisk(9, 3, 0.5, 0.1, 0.05, 1, ((Decimal("0.00000005"), 9), (Decimal("0.20"), 2)))


def found(session: Session, view: str, *order: str) -> list[tuple[object, ...]]:
    return session.rows(f"SELECT * FROM tableveil.{view} ORDER BY {', '.join(order or ['position'])}")


def test_views_show_the_figures_of_releases(session: Session) -> None:
    itself = Neighbour((), 0, None, 2, 3, 4, 5, 0.1, ())
    rejected = (Rejection("k", 1, 2, 3, 4, True), Rejection("l", 5, 6, 7, 8, False))
    searched = RELEASE.proof.searched
    assert searched is not None
    release = replace(
        RELEASE,
        proof=replace(
            RELEASE.proof, searched=replace(searched, runners_up=(RunnerUp((1, 0), 1e300, 1), RunnerUp((), 0.5, 2)))
        ),
        attributes=(
            AttributeResult("é", 0, 0, math.nan, 2, 2, "", 1.0, (), "mean"),
            AttributeResult("age", 1, 2, 0.1, 80, 8, 'a "rule"', None, ((0, 40), (1, 2))),
        ),
        guarantees=(Guarantee("n", "é", "t", math.inf, 0.1), Guarantee("m", "", "k", None, 3.0)),
        exposures=(Exposure(("a",), ("b", "c"), 1, 2, 3, 4, True),),
        explanation=Explanation(itself, (Neighbour(("a",), -1, 1, 2, 3, 4, 5, None, rejected),), True),
        costs=(CostPart("age", None, 3, 0.1), CostPart("", ">= 3", 4, 0.2)),
        risk_before=RISK,
        risk_after=RISK,
        risk_by_size=RISK,
    )
    RELEASES.write(session.ledger, release, SIZES, SIZES)
    (first, second) = found(session, "release_attributes")
    assert first[:4] == (7, 0, "é", 0)
    assert isinstance(first[5], float)
    assert math.isnan(first[5])
    assert repr(attributes_of(session.ledger, [7, 8])) == repr({7: release.attributes})
    assert second == (7, 1, "age", 1, 2, 0.1, 80, 8, 'a "rule"', None, [[0, 40], [1, 2]], "")
    assert found(session, "guarantees") == [(7, 0, "n", "é", "t", math.inf, 0.1), (7, 1, "m", "", "k", None, 3.0)]
    assert found(session, "exposures") == [(7, 0, ["a"], ["b", "c"], 1, 2, 3, 4, True)]
    assert found(session, "release_runners_up") == [(7, 0, [1, 0], 1e300, 1), (7, 1, [], 0.5, 2)]
    assert found(session, "release_explanations") == [
        (7, 0, [], 0, None, 2, 3, 4, 5, 0.1),
        (7, 1, ["a"], -1, 1, 2, 3, 4, 5, None),
    ]
    assert found(session, "release_rejections", "privacy_model") == [
        (7, 1, "k", 1, 2, 3, 4, True),
        (7, 1, "l", 5, 6, 7, 8, False),
    ]
    assert found(session, "release_costs") == [(7, 0, "age", None, 3, 0.1), (7, 1, "", ">= 3", 4, 0.2)]
    risks = [(measure, limit, value) for _, _, measure, limit, value in found(session, "release_risks", "ALL")]
    assert sorted(risks, key=str) == sorted(
        3
        * [
            *(("records", None, 9.0), ("classes", None, 3.0), ("highest_risk", None, 0.5), ("average_risk", None, 0.1)),
            *(("lowest_risk", None, 0.05), ("unique_records", None, 1.0)),
            *(("records_above_threshold", "0.00000005", 9.0), ("records_above_threshold", "0.20", 2.0)),
        ],
        key=str,
    )


def test_views_show_the_figures_of_analyses_and_frontiers(session: Session) -> None:
    tiny = "0." + "0" * 43 + "1"
    measures = (Measure("m", 'é"', "0.2", math.inf), Measure("m", "x", None, None))
    RISK_ANALYSES.insert(
        session.ledger,
        [
            RiskAnalysis(
                1, 7, RELEASE.created_at, SOURCE, "f", ("a",), 9, 3, None, 2, False, 0.5, (), "{}", measures, ()
            )
        ],
    )
    points = (
        Point(2, Decimal(tiny), Found(0.1, 3, 4, (1, 0)), True, 1e300),
        Point(2, Decimal("0.10"), Found(0.0, 0, 1, ()), False, math.inf),
        Point(10, Decimal(1), None, True, None),
    )
    FRONTIERS.insert(
        session.ledger,
        [Frontier(1, 8, RELEASE.created_at, SOURCE, "f", 9, ("a",), "4", 3, "numpy", 0.5, 1.5, "{}", points)],
    )
    assert found(session, "risk_measures") == [(1, 0, "m", 'é"', "0.2", math.inf), (1, 1, "m", "x", None, None)]
    assert found(session, "frontier_points", "k", "optimal DESC") == [
        (1, 2, tiny, 0.1, 3, 4, [1, 0], True, 1e300),
        (1, 2, "0.10", 0.0, 0, 1, [], False, math.inf),
        (1, 10, "1", None, None, None, None, True, None),
    ]
