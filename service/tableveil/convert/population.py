"""The population between proto and domain, both directions."""

from __future__ import annotations

from decimal import Decimal

from tableveil.convert.collect import Faults
from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.tables import table_from_proto, table_to_proto
from tableveil.policy import Population
from tableveil.v1 import policy_pb2


def population_from_proto(message: policy_pb2.Population, faults: Faults) -> Population:
    """The population in a policy's `population`; faults are added to `faults`."""
    fraction = None
    if message.HasField("sampling_fraction"):
        field = "population.sampling_fraction"
        fraction = faults.required_decimal(message.sampling_fraction, field, Decimal(1))
    return Population(
        table=table_from_proto(message.table) if message.HasField("table") else None,
        subset_column=message.subset_column,
        size=message.size if message.HasField("size") else None,
        sampling_fraction=fraction,
    )


def population_to_proto(population: Population) -> policy_pb2.Population:
    """The message for a population."""
    message = policy_pb2.Population()
    if population.table is not None:
        message.table.CopyFrom(table_to_proto(population.table))
    if population.subset_column:
        message.subset_column = population.subset_column
    if population.size is not None:
        message.size = population.size
    if population.sampling_fraction is not None:
        message.sampling_fraction = decimal_to_text(population.sampling_fraction)
    return message
