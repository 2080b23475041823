"""How many could be found in a release, by labels and values of columns that are released as they are."""

from collections.abc import Iterable, Iterator, Sequence

from tableveil import wording
from tableveil.errors import listed
from tableveil.v1.release_service_pb2 import Exposure

HEADING = "How many could be found"
"""The heading of the table."""


def counted(exposures: Iterable[Exposure]) -> list[Exposure]:
    """The exposures of people where some have several rows, and else those of rows."""
    found = list(exposures)
    people = any(one.counts_people for one in found)
    return [one for one in found if one.counts_people == people]


def following(exposures: Iterable[Exposure]) -> list[Exposure]:
    """The exposures of somebody who knows no value, most people first."""
    return sorted((one for one in exposures if one.knows), key=lambda one: -one.few)


def exposure_columns(exposures: Sequence[Exposure]) -> tuple[str, str, str]:
    """The heads of the table's columns."""
    if not exposures:
        return "", "found", "among few"
    one = exposures[0]
    return f"of {wording.count(one.total)} {unit(one)}", "found", f"among fewer than {wording.count(one.least)}"


def exposure_rows(exposures: Iterable[Exposure]) -> Iterator[tuple[str, str, str]]:
    """A row for each: what somebody knows, how many are found, and how many are among few."""
    for one in exposures:
        if one.knows:
            known = f"without knowing it: {listed(one.columns)} follows from exact {listed(one.knows)}"
            yield known, "", wording.count(one.few)
        else:
            also = f" and {listed(one.columns)}" if one.columns else ""
            yield f"by labels{also}", wording.count(one.found), wording.count(one.few)


def unit(one: Exposure) -> str:
    """The thing that is counted."""
    return "people" if one.counts_people else "rows"
