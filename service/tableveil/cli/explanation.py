"""Why a release's transformation: its neighbours, what binds, and the best others."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tableveil import wording
from tableveil.cli.tables import facts, listing
from tableveil.v1 import release_service_pb2
from tableveil.wording.methods import method_words

_ARROW = "\N{RIGHTWARDS ARROW}"


def explanation(release: release_service_pb2.Release) -> RenderableType:
    """The whole explanation, for a console."""
    words = method_words(release.policy)
    parts: list[RenderableType] = [Text("Why this transformation", style="bold")]
    if release.HasField("explanation"):
        parts.append(_indented(facts(_summary(release.explanation))))
        if release.explanation.neighbours:
            parts += [Text(""), _indented(_neighbours(release))]
    else:
        parts.append(Text(f"  {words.explanation}"))
        if words.tells_costs:
            parts += [Text(""), Text("Largest costs", style="bold"), _indented(_costs(release))]
            hint = f"tableveil show {release.name} --advice tries half of k, and a higher limit."
            return Group(*parts, Text(""), Text(hint))
    parts += [Text(""), Text("Next best that were checked", style="bold")]
    parts.append(_indented(_runners_up(release)))
    return Group(*parts)


def _costs(release: release_service_pb2.Release) -> RenderableType:
    released = release.records - release.suppressed_records
    rows = [
        (
            wording.short(part.column) or "suppressed records",
            wording.short(part.label),
            f"{wording.count(part.records)} ({wording.share(part.records / released if released else 1.0)})",
            wording.share(part.share),
        )
        for part in release.costs
    ]
    columns = ("quasi-identifier", "records labelled", "records", "share of the loss")
    return listing(columns, rows, "nothing: nothing is lost", numbers=columns[2:])


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)


def _summary(found: release_service_pb2.Explanation) -> list[tuple[str, str]]:
    rows = [("binding", _binding(found))]
    for rejection in found.itself.rejections:
        classes, records = wording.count(rejection.classes), wording.count(rejection.records)
        text = f"rejects {classes} of {wording.count(found.itself.classes)} classes here, with {records} records"
        if len(found.itself.rejections) > 1:
            text += f"; {wording.count(rejection.only_records)} of them no other model does"
        rows.append((wording.short(rejection.privacy_model), text))
    if not found.complete:
        rows.append(("incomplete", "there was no time for the other neighbours"))
    return rows


def _binding(found: release_service_pb2.Explanation) -> str:
    """The privacy models without which a less general neighbour would be valid."""
    below = [neighbour for neighbour in found.neighbours if neighbour.step < 0]
    names = [rejection.privacy_model for neighbour in below for rejection in neighbour.rejections if rejection.binds]
    if names:
        return ", ".join(wording.short(name) for name in dict.fromkeys(names))
    if not below:
        return "nothing: the policy allows no level less"
    if any(not neighbour.HasField("score") for neighbour in below):
        return "no privacy model alone: they do together"
    return "nothing: every level less is valid, and scores no better"


def _neighbours(release: release_service_pb2.Release) -> RenderableType:
    rows = []
    for neighbour in release.explanation.neighbours:
        level = f"{neighbour.level - neighbour.step} {_ARROW} {neighbour.level}"
        rejected = f"{wording.count(neighbour.rejected_classes)} of {wording.count(neighbour.classes)}"
        rows.append(
            (
                f"{wording.short(', '.join(neighbour.columns))} {level}",
                wording.count(neighbour.suppressed_records),
                rejected,
                _verdict(neighbour, release.score),
            )
        )
    columns = ("one level less or more", "suppressed", "rejected classes", "outcome")
    return listing(columns, rows, "", numbers=("suppressed", "rejected classes"))


def _verdict(neighbour: release_service_pb2.Neighbour, score: float) -> str:
    if not neighbour.HasField("score"):
        over = neighbour.records_over_limit
        # A model may veto it, whatever is suppressed.
        return (
            f"not valid: {wording.count(over)} records over the limit" if over else "not valid within the limit either"
        )
    return f"scores {_compared(neighbour.score, score)}"


def _compared(other: float, score: float) -> str:
    if other == score:
        return f"{wording.score(other)}, the same"
    more = f"{wording.score(abs(other - score))} {'more' if other > score else 'less: the search did not get there'}"
    return f"{wording.score(other)}, {more}"


def _runners_up(release: release_service_pb2.Release) -> RenderableType:
    rows = [
        (
            _changes(release.attributes, other.levels),
            wording.count(other.suppressed_records),
            _compared(other.score, release.score),
        )
        for other in release.proof.runners_up
    ]
    return listing(("levels that differ", "suppressed", "score"), rows, "none", numbers=("suppressed",))


def _changes(attributes: Sequence[release_service_pb2.AttributeResult], levels: Sequence[int]) -> str:
    return ", ".join(
        f"{wording.short(result.column)} {result.level} {_ARROW} {level}"
        for result, level in zip(attributes, levels, strict=False)
        if result.level != level
    )
