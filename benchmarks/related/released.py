"""Runs jobs of people and their events in this process, and counts what is lost."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.service import TARGET, LocalService
from tableveil.backend import Session
from tableveil.convert import policy_from_proto
from tableveil.document import read_policy
from tableveil.policy import Policy

QI = {"role": "QUASI_IDENTIFIER"}


@dataclass(frozen=True, slots=True)
class Ran:
    """A job: the CPU seconds that it took, and why it failed, if it did."""

    cpu: float
    failure: str


def column(name: str, hierarchy: Mapping[str, Any], table: str = "") -> dict[str, Any]:
    """A quasi-identifier of the people or of an event table."""
    return {"column": name, **({"table": table} if table else {}), **QI, "hierarchy": hierarchy}


def policy_of(
    attributes: Sequence[Mapping[str, Any]], k: int, m: int, levels: Mapping[str, int], **tables: object
) -> Policy:
    """A policy of the tables `people`, with the key `id`, and `events` in the schema `main`.

    Levels are fixed, if there are some; all people and rows may be removed.
    """
    related = {
        "people": {"table": "people", "key": "id"},
        "events": [{"table": "events", "person": "id"}],
        "rows_limit": "1",
        **tables,
    }
    document = {
        "tables": related,
        "attributes": [
            {"column": "id", "role": "IDENTIFYING"},
            *(one for one in attributes if "table" not in one),
            {"table": "events", "column": "id", "role": "IDENTIFYING"},
            *(one for one in attributes if "table" in one),
        ],
        "privacy_models": [{"k_anonymity": {"k": k}}, {"known_facts": {"m": m}}],
        "suppression_limit": "1",
        "release": {"schema": TARGET.schema, "name": TARGET.name},
        **({"search": {"levels": dict(levels)}} if levels else {}),
    }
    message, wrong = read_policy(json.dumps(document), "json")
    policy, faults = policy_from_proto(message)
    assert policy is not None, (wrong, faults)
    return policy


def run(service: LocalService, policy: Policy) -> Ran:
    """Releases by the policy, in place of the release before."""
    before = time.process_time()
    outcome = service.run(policy)
    failure = "" if outcome.failure is None else str(outcome.failure.message)
    return Ran(time.process_time() - before, failure)


def rows_of(session: Session, part: str = "") -> str:
    """A released table, for a FROM clause."""
    return f'{TARGET.schema}."{TARGET.name}{part}"'


def lost(session: Session) -> float:
    """The share of the rows of events that were removed."""
    query = f"SELECT 1 - (SELECT count(*) FROM {rows_of(session, '_events')}) / count(*) FROM events"
    return float(session.value(query))
