"""Completes the policies of requests by the declared privacy of their sources, and by the table of a load."""

from __future__ import annotations

from collections.abc import Callable

from tableveil.convert.collect import Faults
from tableveil.convert.privacies import complete, table_privacy_to_proto
from tableveil.convert.tables import loads_of, unbound
from tableveil.errors import Fault
from tableveil.lookups import Privacies
from tableveil.v1 import policy_pb2


def completed(policy: policy_pb2.Policy, privacies: Privacies) -> Callable[[Fault], Fault]:
    """Completes a policy, and returns how to tell its faults; see `complete`. A source query has no privacy."""
    if any(loads_of(policy.source)) and not (policy.source.table or policy.source_query):
        _name_table(policy, privacies)
    table = unbound(policy.source)
    privacy = privacies.find(table) if table.table and not policy.source_query else None
    return complete(policy, table_privacy_to_proto(table, privacy)) if privacy else lambda fault: fault


def _name_table(policy: policy_pb2.Policy, privacies: Privacies) -> None:
    """Names the table of the load that the source is bound to, if the caller may see that load."""
    _, load = next(loads_of(policy.source))
    number = Faults().load(load, "source.load")
    table = None if number is None else privacies.table_of_load(number)
    if table is not None:
        policy.source.schema, policy.source.table = table.schema, table.table
