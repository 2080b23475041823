"""The population, from the proto."""

from decimal import Decimal

from tableveil.convert.collect import Faults
from tableveil.convert.names import table_from_proto
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
