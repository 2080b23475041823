"""The aggregations of columns, from the proto."""

from tableveil.convert.collect import Faults
from tableveil.convert.enums import AGGREGATE_FUNCTIONS, SCALES
from tableveil.policy import AggregateFunction, Aggregation, Scale
from tableveil.v1 import policy_pb2

USUAL = {
    Scale.NUMERIC: AggregateFunction.MEAN,
    Scale.ORDINAL: AggregateFunction.MEDIAN,
    Scale.NOMINAL: AggregateFunction.MODE,
}
"""The function that a policy means if it names none."""


def aggregation_from_proto(message: policy_pb2.Aggregation, path: str, faults: Faults) -> Aggregation:
    """The aggregation of the attribute with the field `path`; faults are added to `faults`."""
    scale = faults.enum(message.scale, SCALES, f"{path}.scale", Scale.NUMERIC)
    return Aggregation(
        function=faults.enum(message.function, AGGREGATE_FUNCTIONS, f"{path}.function", USUAL[scale]),
        scale=scale,
        grid=faults.decimal(message.grid, f"{path}.grid"),
        bottom_coding=message.bottom_coding,
        top_coding=message.top_coding,
    )
