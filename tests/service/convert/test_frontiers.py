"""Requests of frontiers from messages, and their results as messages."""

import json
from datetime import datetime
from decimal import Decimal

import pytest

from tableveil.convert import canonical_json, result_name, result_number
from tableveil.convert import policy_from_proto as read_policy
from tableveil.convert.copied import duration
from tableveil.convert.frontiers import frontier_from_proto, frontier_to_proto
from tableveil.errors import InvalidError
from tableveil.policy import DistinctLDiversity, KAnonymity, TableReference
from tableveil.requests.frontier import FrontierGrid
from tableveil.state.frontiers import Found, Frontier, Point
from tableveil.state.jobs import JobKind
from tableveil.v1 import frontier_service_pb2, policy_pb2
from tests.service.client import samples


def asked(
    ks: list[int] | None = None, limits: list[str] | None = None, policy: policy_pb2.Policy | None = None
) -> frontier_service_pb2.SubmitFrontierRequest:
    return frontier_service_pb2.SubmitFrontierRequest(
        policy=policy or samples.policy(), k=ks or [], suppression_limits=limits or []
    )


def fields(message: frontier_service_pb2.SubmitFrontierRequest) -> list[str]:
    _, grid, _, faults = frontier_from_proto(message)
    assert grid is None
    return [fault.field for fault in faults]


def test_what_is_asked() -> None:
    policy, grid, document, faults = frontier_from_proto(asked([10, 2], ["0.10", "0", "1"]))
    assert faults == []
    assert grid == FrontierGrid((2, 10), (Decimal(0), Decimal("0.10"), Decimal(1)))
    assert policy is not None
    assert policy.privacy_models == (KAnonymity(5),)
    # The document has no part about a release.
    assert "release" not in json.loads(document)
    message = samples.policy()
    message.ClearField("release")
    assert document == canonical_json(message)


def test_the_policys_own_values_stand_for_none() -> None:
    _, grid, _, _ = frontier_from_proto(asked())
    assert grid == FrontierGrid((5,), (Decimal("0.05"),))
    message = samples.policy()
    message.suppression_limit = ""
    _, grid, _, _ = frontier_from_proto(asked([3], policy=message))
    assert grid == FrontierGrid((3,), (Decimal(0),))


def test_the_target_does_not_matter() -> None:
    message = samples.policy()
    message.release.Clear()
    assert read_policy(message)[1] != []
    assert frontier_from_proto(asked(policy=message))[3] == []
    message.release.kind = 99  # type: ignore[assignment]  # no such kind
    message.release.name = "\0"
    policy, grid, _, faults = frontier_from_proto(asked(policy=message))
    assert (faults, grid is None, policy is None) == ([], False, False)
    # The message itself is the caller's.
    assert message.release.name == "\0"


def test_classes_of_a_release_are_of_one_k() -> None:
    message = samples.policy()
    message.search.Clear()
    message.local_recoding.classes_of = "releases/3"
    assert fields(asked(policy=message)) == ["local_recoding.classes_of"]


def test_all_faults_at_once() -> None:
    message = samples.policy()
    message.suppression_limit = "2"
    message.attributes[1].minimum_level = 1
    assert fields(asked([1, 3, 3], ["1e-3", "", "0.5", "1.5"], message)) == [
        "attributes[1].minimum_level",
        "suppression_limit",
        "suppression_limits[0]",
        "suppression_limits[1]",
        "k[0]",
        "k[2]",
        "suppression_limits[3]",
    ]


def test_too_many_pairs_are_one_fault() -> None:
    assert fields(asked(list(range(2, 23)), [f"0.{i:02}" for i in range(20)])) == ["k"]
    assert fields(asked([], ["x"] * 100_000)) == ["suppression_limits"]


def test_a_policy_without_k_anonymity() -> None:
    message = samples.policy()
    del message.privacy_models[:]
    assert set(fields(asked([2], policy=message))) == {"privacy_models"}


def test_other_models_are_no_k_anonymity_and_stay_as_they_are() -> None:
    message = samples.policy()
    message.privacy_models[0].distinct_l_diversity.CopyFrom(policy_pb2.DistinctLDiversity(column="diagnosis", l=2))
    assert fields(asked([2, 3], policy=message)) == ["privacy_models"]
    message.privacy_models.add().k_anonymity.k = 7
    policy, grid, _, faults = frontier_from_proto(asked(policy=message))
    assert faults == []
    assert grid == FrontierGrid((7,), (Decimal("0.05"),))
    assert policy is not None
    assert policy.privacy_models == (DistinctLDiversity("diagnosis", 2), KAnonymity(7))


def test_a_policy_that_cannot_be_read() -> None:
    message = samples.policy()
    message.suppression_limit = "some"
    policy, grid, _, faults = frontier_from_proto(asked([1], policy=message))
    assert (policy, grid) == (None, None)
    assert [fault.field for fault in faults] == ["suppression_limit", "k[0]"]


def test_frontier_to_proto() -> None:
    frontier = Frontier(
        number=3,
        job=7,
        created_at=datetime(2024, 2, 29, 12, 30, 15, 123456),
        source=TableReference("clinic", "main", "people"),
        source_fingerprint="abc",
        records=100,
        quasi_identifiers=("age", "zip"),
        lattice_size="1" + "0" * 30,
        checked=17,
        counter="duckdb",
        search_seconds=0.5,
        seconds=1.5,
        policy=canonical_json(samples.policy()),
        points=(
            Point(2, Decimal("0.00000001"), Found(0.25, 3, 4, (1, 0)), False, 0.125),
            Point(2, Decimal("0.10"), Found(0.0, 0, 9, (0, 0)), True, 0.0),
            Point(3, Decimal("0.10"), None, True, None),
        ),
    )
    message = frontier_to_proto(frontier)
    assert (message.name, message.job) == ("frontiers/3", "jobs/7")
    assert message.create_time.ToJsonString() == "2024-02-29T12:30:15.123456Z"
    assert message.source == policy_pb2.TableReference(catalog="clinic", schema="main", table="people")
    assert (message.records, message.transformations_checked) == (100, 17)
    assert (message.lattice_size, message.counter) == (frontier.lattice_size, "duckdb")
    assert (message.search_duration, message.duration) == (duration(0.5), duration(1.5))
    assert list(message.quasi_identifiers) == ["age", "zip"]
    assert message.policy == samples.policy()
    assert message.source_fingerprint == "abc"
    unfinished, lossless, infeasible = message.points
    assert (unfinished.k, unfinished.suppression_limit, unfinished.optimal) == (2, "0.00000001", False)
    assert (unfinished.optimum.score, unfinished.lower_bound) == (0.25, 0.125)
    assert (unfinished.optimum.suppressed_records, unfinished.optimum.classes) == (3, 4)
    assert list(unfinished.optimum.levels) == [1, 0]
    # Zero is not nothing.
    assert lossless.HasField("lower_bound")
    assert lossless.suppression_limit == "0.10"
    assert infeasible.optimal
    assert not infeasible.HasField("optimum")
    assert not infeasible.HasField("lower_bound")


def test_names() -> None:
    assert result_number(JobKind.FRONTIER, result_name(JobKind.FRONTIER, 12)) == 12
    with pytest.raises(InvalidError):
        result_number(JobKind.FRONTIER, "jobs/12")
