"""The differences between a release and an earlier one: policy, levels, risk, loss, suppression."""

from collections.abc import Iterator

from tableveil import wording
from tableveil.report.facts import treatment_of
from tableveil.report.model import Grid
from tableveil.report.words import method_of, named
from tableveil.v1.release_service_pb2 import AttributeResult, Release


def changes(earlier: Release, later: Release) -> Grid:
    """A line for each figure, whether it changed or not."""
    names = ("", earlier.name, later.name, "change")
    rows = (*_lines(earlier, later), *_levels(earlier, later))
    return Grid(f"{later.name} beside {earlier.name}", names, tuple(rows))


def _lines(earlier: Release, later: Release) -> Iterator[tuple[str, ...]]:
    def line(name: str, before: str, after: str) -> tuple[str, ...]:
        return name, before, after, "" if before == after else "differs"

    sides = (earlier, later)
    yield line("privacy models", *(named(one.policy.privacy_models) for one in sides))
    yield line("method", *(method_of(one.policy) for one in sides))
    yield line("records of the source", *(wording.count(one.records) for one in sides))
    yield line("suppressed records", *(wording.count(one.suppressed_records) for one in sides))
    yield line("classes", *(wording.count(one.classes) for one in sides))
    yield line("highest risk", *(wording.share(one.risk_after.highest) for one in sides))
    yield line("average risk", *(wording.share(one.risk_after.average) for one in sides))
    yield line("score", *(f"{wording.score(one.score)} ({one.quality_model})" for one in sides))


def _levels(earlier: Release, later: Release) -> Iterator[tuple[str, ...]]:
    before = {result.column: result for result in earlier.attributes}
    after = {result.column: result for result in later.attributes}
    for column in {**before, **after}:
        first, second = before.get(column), after.get(column)
        yield column, _shown(first), _shown(second), wording.change_of_labels(first, second)


def _shown(result: AttributeResult | None) -> str:
    return "no quasi-identifier" if result is None else f"{treatment_of(result)}, loss {wording.share(result.loss)}"
