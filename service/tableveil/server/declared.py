"""Completes the policies of requests by the declared privacy of their sources."""

from __future__ import annotations

from collections.abc import Callable

from tableveil.convert.privacies import complete, table_privacy_to_proto
from tableveil.convert.tables import table_from_proto
from tableveil.errors import Fault
from tableveil.lookups import Privacies
from tableveil.v1 import policy_pb2


def completed(policy: policy_pb2.Policy, privacies: Privacies) -> Callable[[Fault], Fault]:
    """Completes a policy, and returns how to tell its faults; see `complete`. A source query has no privacy."""
    table = table_from_proto(policy.source)
    found = privacies.find(table) if table.table and not policy.source_query else None
    return complete(policy, table_privacy_to_proto(table, found)) if found else lambda fault: fault
