"""The parts of docs/explanations/threats.md that apply to a release, and only those.

An entry's heading is the one of its paragraph there; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tableveil.report.facts import PublicFacts
from tableveil.report.words import column_of
from tableveil.v1.release_service_pb2 import Risk


@dataclass(frozen=True, slots=True)
class Situation:
    """The facts by which threats apply; the public edition knows no more of a release than these."""

    facts: PublicFacts
    kinds: frozenset[str]
    protected: tuple[str, ...]
    unprotected: tuple[str, ...]
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]
    by_values: bool | None
    repeating: bool | None
    achieved: Risk | None

    @classmethod
    def of(
        cls,
        facts: PublicFacts,
        *,
        by_values: bool | None = None,
        repeating: bool | None = None,
        achieved: Risk | None = None,
    ) -> Situation:
        """The situation of a release.

        Whether sensitive values took part in its choice, whether people have several records, and the risk that is
        achieved for them, is evidence: None is unknown.
        """
        protected = {column_of(model) for model in facts.models} - {""}
        sensitive = tuple(column.name for column in facts.columns if column.role == "SENSITIVE")
        return cls(
            facts,
            frozenset(model.WhichOneof("kind") or "" for model in facts.models),
            tuple(name for name in sensitive if name in protected),
            tuple(name for name in sensitive if name not in protected),
            sensitive,
            tuple(column.name for column in facts.columns if column.role == "INSENSITIVE"),
            by_values,
            repeating,
            achieved,
        )


@dataclass(frozen=True, slots=True)
class Threat:
    """A limit of what the release promises: when it applies, and the text for its readers."""

    heading: str
    applies: Callable[[Situation], bool]
    text: Callable[[Situation], str]


def threats(situation: Situation) -> list[tuple[str, str]]:
    """The headings and texts of the limits that apply."""
    return [(one.heading, one.text(situation)) for one in THREATS if one.applies(situation)]


def listed(names: Iterable[str]) -> str:
    """Names of columns in a sentence."""
    return ", ".join(names)


_OF_GAME = frozenset({"profitability", "no_attack"})


def _always(situation: Situation) -> bool:
    return True


THREATS = (
    Threat(
        "Common values of a class",
        lambda found: bool(found.unprotected),
        lambda found: (
            f"No privacy model looks at {listed(found.unprotected)}. If all records of a class have the same value "
            "there, everybody in the class is known to have it."
        ),
    ),
    Threat(
        "Several records of one person",
        lambda found: found.repeating is not False and not found.facts.known_facts,
        lambda found: (
            "Each promise is about one row at a time. Where people have several rows, these can tell together what "
            "each alone hides, and a person's share of a class can be above one in k."
        ),
    ),
    Threat(
        "Rows that are not found",
        lambda found: bool(found.facts.known_facts),
        lambda found: (
            f"Somebody who knows more than {found.facts.known_facts} of the rows of a person's events may find fewer "
            "than k keys, or the only one; the table that ends with _known_rows counts them. A row that is not found "
            "was removed or never was, and which of these can tell of a person."
        ),
    ),
    Threat(
        "Sensitive columns as keys",
        lambda found: bool(found.sensitive),
        lambda found: (
            f"{listed(found.sensitive)}: a value that few people have, such as an exact amount, finds the same person "
            "in another table, whatever the privacy models say of it."
        ),
    ),
    Threat(
        "Sensitive columns that are known",
        lambda found: bool(found.sensitive),
        lambda found: (
            f"{listed(found.sensitive)}: if somebody can look a value up elsewhere, the column is a quasi-identifier, "
            "and the risks of this report do not count it."
        ),
    ),
    Threat(
        "Insensitive columns",
        lambda found: bool(found.insensitive),
        lambda found: (
            f"Released as in the source: {listed(found.insensitive)}. The checks find a column that singles people out "
            "by itself, or that undoes a generalization. They miss columns that do so only together."
        ),
    ),
    Threat(
        "Labels and values",
        lambda found: bool(found.insensitive or found.sensitive),
        lambda found: (
            "A released value and a label can tell more together than each alone. A person then has fewer records to "
            "hide among than the class has."
        ),
    ),
    Threat(
        "Membership",
        lambda found: "delta_presence" not in found.kinds and not found.facts.promised,
        lambda found: (
            "The release does not hide who is in the source. Labels that no class has tell that somebody with these "
            "labels is not in it, or was suppressed."
        ),
    ),
    Threat(
        "Adversaries who do not reckon",
        lambda found: bool(found.kinds & _OF_GAME) or "record-level" in found.facts.method,
        lambda found: (
            "Amounts of gain, cost and loss are a judgement. An attack out of malice or curiosity is made although it "
            "does not pay, and single records may be certain to be found."
        ),
    ),
    Threat(
        "Several releases",
        _always,
        lambda found: (
            "Two releases of the same people can isolate fewer of them together than each alone, unless they were "
            "judged together. So can tables of these people that others publish."
        ),
    ),
    Threat(
        "Background knowledge",
        _always,
        lambda found: (
            "A person who knows all others of a class knows the last one's record. Classes count records, not what is "
            "known of them."
        ),
    ),
    Threat(
        "Minimality",
        lambda found: bool(found.protected) and found.by_values is not False,
        lambda found: (
            f"Models look at {listed(found.protected)}, and the levels may have been chosen by these values. Somebody "
            "who knows all quasi-identifiers can run the method again then, and conclude more of people's values than "
            "the models say. It can tell everything."
        ),
    ),
    Threat(
        "Suppression tells something",
        lambda found: found.facts.suppressed > 0,
        lambda found: (
            "Somebody who is known to be in the source, with labels that no class has, is one of those suppressed."
        ),
    ),
    Threat(
        "Differential privacy",
        lambda found: not found.facts.promised,
        lambda found: "The release does not give it: no noise was added.",
    ),
    Threat(
        "Microaggregation",
        lambda found: (
            "microaggregation" in found.facts.method
            or any(column.treatment.startswith("aggregated") for column in found.facts.columns)
        ),
        lambda found: (
            "The mean of a class and its size give the exact sum of its values. A mean far from all others tells that "
            "somebody extreme is in the class. Nothing is true of a single record but intervals and common labels."
        ),
    ),
)
