"""Sets of quasi-identifiers side by side, as the command `risk` shows them."""

from collections.abc import Sequence

from rich.console import RenderableType

from tableveil import wording
from tableveil.cli.tables import listing
from tableveil.v1 import risk_service_pb2


def compared_risks(compared: Sequence[risk_service_pb2.ComparedRisk]) -> RenderableType:
    """A row per set, of which there is at least one; all have the same measures."""
    thresholds = [measure.threshold for measure in compared[0].measures if measure.threshold]
    estimated = any(measure.model.startswith("population") for measure in compared[0].measures)
    columns = ["columns", "distinct", "alone", "highest", "found on average"]
    columns += [f"records > {threshold}" for threshold in thresholds]
    columns += ["alone among all people"] * estimated
    return listing(columns, [_row(measure, estimated) for measure in compared], "", numbers=columns[1:])


def _row(compared: risk_service_pb2.ComparedRisk, estimated: bool) -> tuple[str, ...]:
    values = {(measure.model, measure.measure): measure.value for measure in compared.measures if not measure.threshold}
    unique = wording.count(int(values["sample", "unique_records"]))
    row = [
        wording.printable(", ".join(compared.columns)),
        wording.count(compared.classes),
        f"{unique}, {wording.share(values['sample', 'uniqueness'])}",
        wording.score(values["prosecutor", "highest_risk"]),
        wording.share(values["prosecutor", "average_risk"]),
        *(wording.count(int(measure.value)) for measure in compared.measures if measure.threshold),
    ]
    if estimated:
        of_people = next(measure for measure in compared.measures if measure.model.startswith("population"))
        row.append(wording.share(of_people.value) if of_people.HasField("value") else "no estimate")
    return tuple(row)
