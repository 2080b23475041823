"""The result that a case expects of a release, and how the actual release differs from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.problems import UnusableError
from benchmarks.service import Run
from tableveil.policy import (
    Aggregate,
    EntropyModel,
    HeightModel,
    LossModel,
    PrecisionModel,
    PublisherPayoutModel,
    QualityModel,
)
from tableveil.runtime import FailureKind
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.releases import Release

PAYOUT = "Publisher payout="

TOLERANCE = 1e-9
"""Absolute or relative, whichever is larger: the reference tool truncates its parts to 10 digits."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The reference's optimum; `score` None if nothing meets the policy.

    `unique` says that no other transformation it checked had this score; `parts` are the score's values per
    quasi-identifier in the data file's order, if it has any; `payout` is the publisher's, if there is a game. If it is
    `to_beat`, a heuristic found it in limited time: any score that is no worse passes.
    """

    score: float | None
    unique: bool
    transformation: Mapping[str, int]
    parts: tuple[float, ...]
    suppressed: int | None
    classes: int | None
    largest_class: int | None
    to_beat: bool
    payout: float | None = None

    @classmethod
    def read(cls, content: Mapping[str, Any], place: str, to_beat: bool) -> Expected:
        """The typed form of a line's `expected`; raises `UnusableError` if it is malformed."""
        try:
            return cls(
                score=None if content["score"] is None else float(content["score"]),
                unique=content.get("same_score_nodes_checked") == 1,
                transformation={name: int(level) for name, level in (content.get("transformation") or {}).items()},
                parts=tuple(map(float, content.get("score_per_attribute") or ())),
                suppressed=content.get("suppressed"),
                classes=content.get("classes"),
                largest_class=content.get("class_max"),
                to_beat=to_beat,
                payout=_payout(content.get("metadata") or ()),
            )
        except KeyError:
            raise UnusableError(f"{place}: expected.score is missing") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise UnusableError(f"{place}: expected cannot be understood: {error}") from None


def _payout(metadata: Sequence[str]) -> float | None:
    """The publisher's payout in the reference's metadata, such as `Publisher payout=3.55947E7`."""
    told = [text.removeprefix(PAYOUT) for text in metadata if text.startswith(PAYOUT)]
    return float(told[0]) if told else None


def differences(expected: Expected, run: Run, model: QualityModel, file_order: Sequence[str]) -> list[str]:
    """How the run's outcome differs from what is expected; empty if it does not.

    Counts and parts belong to a transformation, so they are compared only if the expected one was found. Another one is
    a difference only if the expected one is the only optimum.
    """
    if run.failure is not None:
        infeasible = run.failure.kind is FailureKind.INFEASIBLE
        return [] if infeasible and expected.score is None else [f"{run.failure.code}: {run.failure.message}"]
    assert run.release is not None
    if expected.score is None:
        return [f"a release of score {run.release.score!r} where nothing should be feasible"]
    if expected.to_beat and run.release.score <= expected.score:
        return []
    found = {attribute.column: attribute.level for attribute in run.release.attributes}
    differs = _score_differences(expected, run.release, model)
    if found == expected.transformation:
        return [
            *differs,
            *_count_differences(expected, run.release),
            *_part_differences(expected, run.release, file_order),
            *_payout_differences(expected, run.release, model),
        ]
    if expected.unique:
        levels = [
            f"{name} at {level} instead of {expected.transformation.get(name)}"
            for name, level in found.items()
            if level != expected.transformation.get(name)
        ]
        differs.append(f"transformation: {', '.join(levels)}")
    return differs


def ranked(release: Release, expected: Expected, model: QualityModel) -> tuple[list[float], list[float]]:
    """The numbers to compare the release with the expected one by, mostly scores; the first difference counts."""
    match model:
        # The rank compares all parts, greatest first: that is the score.
        case (
            LossModel(Aggregate.RANK)
            | PrecisionModel(Aggregate.RANK)
            | HeightModel(Aggregate.RANK)
            | EntropyModel(aggregate=Aggregate.RANK)
        ) if expected.parts:
            return sorted(_parts(release.attributes), reverse=True), sorted(expected.parts, reverse=True)
    assert expected.score is not None
    return [release.score], [expected.score]


def close(found: float, expected: float) -> bool:
    """Whether two scores are equal within the tolerance."""
    return abs(found - expected) <= TOLERANCE * max(1.0, abs(expected))


def _score_differences(expected: Expected, release: Release, model: QualityModel) -> list[str]:
    found, wanted = ranked(release, expected, model)
    if len(found) == len(wanted) and all(map(close, found, wanted)):
        return []
    what = "score" if len(wanted) == 1 else "ranked parts"
    return [f"{what} {', '.join(map(repr, found))} instead of {', '.join(map(repr, wanted))}"]


def _count_differences(expected: Expected, release: Release) -> list[str]:
    # If all labels are `*`, the reference counts every record as suppressed and no class.
    if expected.classes == 0 and all(attribute.level == attribute.top_level for attribute in release.attributes):
        return []
    pairs = [
        ("suppressed records", release.suppressed_records, expected.suppressed),
        ("classes", release.classes, expected.classes),
    ]
    return [f"{found} {what} instead of {wanted}" for what, found, wanted in pairs if wanted not in (None, found)]


def _payout_differences(expected: Expected, release: Release, model: QualityModel) -> list[str]:
    if expected.payout is None or not isinstance(model, PublisherPayoutModel):
        return []
    name = f"publisher_payout ({model.success.lower()})"
    found = [guarantee.after for guarantee in release.guarantees if guarantee.model == name]
    if len(found) == 1 and found[0] is not None and close(found[0], expected.payout):
        return []
    return [f"payout {', '.join(map(repr, found)) or 'unknown'} instead of {expected.payout!r}"]


def _part_differences(expected: Expected, release: Release, file_order: Sequence[str]) -> list[str]:
    attributes = sorted(release.attributes, key=lambda attribute: file_order.index(attribute.column))
    if not expected.parts:
        return []
    parts = _parts(attributes)
    if len(parts) != len(expected.parts):
        return [f"{len(parts)} parts instead of {len(expected.parts)}"]
    return [
        f"part {found!r} of {attribute.column} instead of {wanted!r}"
        for attribute, found, wanted in zip(attributes, parts, expected.parts, strict=True)
        if not close(found, wanted)
    ]


def _parts(attributes: Sequence[AttributeResult]) -> list[float]:
    return [attribute.part for attribute in attributes if attribute.part is not None]
