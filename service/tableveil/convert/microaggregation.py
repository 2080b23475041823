"""The aggregations of columns between proto and domain, both directions."""

from __future__ import annotations

from tableveil.convert.collect import Faults
from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.enums import AGGREGATE_FUNCTIONS, SCALES
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    Scale,
)
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


def aggregation_to_proto(aggregation: Aggregation) -> policy_pb2.Aggregation:
    """The message for an aggregation."""
    function, scale = aggregation.function, aggregation.scale
    return policy_pb2.Aggregation(
        function=AGGREGATE_FUNCTIONS.to_proto(None if function is USUAL[scale] else function),
        scale=SCALES.to_proto(None if scale is Scale.NUMERIC else scale),
        grid="" if aggregation.grid is None else decimal_to_text(aggregation.grid),
        bottom_coding=aggregation.bottom_coding,
        top_coding=aggregation.top_coding,
    )
