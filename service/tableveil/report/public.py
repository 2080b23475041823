"""The public edition of a report: the closed list of facts in sections, of which the owner's edition has most, too."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal

from tableveil import wording
from tableveil.report import words
from tableveil.report.facts import PublicFacts
from tableveil.report.model import Figure, Grid, Part, Report, Section, Terms, Words, shares
from tableveil.report.reached import reached
from tableveil.report.threats import Situation, threats
from tableveil.v1.policy_pb2 import PrivacyModel
from tableveil.v1.release_service_pb2 import Exposure
from tableveil.wording.exposures import HEADING, exposure_columns, exposure_rows

NO_LAW = (
    "Whether the rows are anonymous in the sense of a law is for the controller to decide. This report does not say so."
)

EDITION = (
    "Public edition: it has only what follows from the public objects of the release, and what the policy states for "
    "readers. The owner's edition has the evidence."
)

_DIVERSITY = "The table of classes has the number of different sensitive values of each class, and their entropy."

SIZES = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, 999), (1000, None))
"""The bars of the chart of class sizes: from, to."""


def public_report(facts: PublicFacts, version: str) -> Report:
    """The report of a release for everybody, made by a version of Tableveil."""
    situation = Situation.of(facts)
    return Report(
        title=f"Report of {facts.name}: {facts.target}",
        edition=EDITION,
        verdict=(*verdict(facts, chance(facts)), NO_LAW),
        first=(risks(situation),),
        sections=(
            Section("purpose", "The release: for whom, and why", (Terms(tuple(purpose(facts))),)),
            Section("columns", "Columns", (columns(facts), *_exposures(facts))),
            Section("risk", "Risk of being recognized", tuple(_risk(facts))),
            Section("models", "Privacy models", tuple(_models(facts))),
            Section("suppression", "Suppression", (Words(suppression(facts)),)),
            Section("limits", "Limits", limits(situation)),
            Section("checksum", "Versions and checksum", (Terms(tuple(versions(facts))), *checksum(facts))),
        ),
        made_by=f"Made by Tableveil {version}.",
    )


def verdict(facts: PublicFacts, of_chance: str) -> Iterator[str]:
    """The result in sentences, for everybody, but for the chance of picking somebody's record."""
    yield facts.state
    yield f"It has {wording.count(facts.records)} records, made on {facts.day} by {facts.method}."
    statements = facts.statements
    context = words.CONTEXTS.get(statements.context, words.NOT_STATED)
    recipient, purpose = words.stated(statements.recipient).rstrip("."), words.stated(statements.purpose).rstrip(".")
    if facts.promised:
        yield facts.promised
    yield f"Recipient: {recipient}. Purpose: {purpose}. Release context: {context}."
    if not facts.records:
        yield "No record is released: all of them are suppressed."
        return
    yield f"It meets every privacy model that its policy asks for: {words.named(facts.models)}."
    if facts.risk.unique_records:
        yield (
            f"{wording.count(facts.risk.unique_records)} released records are the only one with their "
            "quasi-identifiers: a person who knows these finds the record."
        )
    else:
        yield (
            f"Every released record shares its quasi-identifiers with at least {wording.count(smallest(facts) - 1)} "
            f"others. {of_chance}"
        )


def chance(facts: PublicFacts) -> str:
    """The chance that a row of a class is a given person's, by the policy or by the sizes of classes."""
    shares = [Decimal(model.dominance.share) for model in facts.models if model.WhichOneof("kind") == "dominance"]
    if shares:
        return f"Each is a given person's with a chance of at most {wording.share(min(shares))}, by dominance."
    if facts.known_facts:
        return (
            "Every row is another person's, and somebody who knows the person picks the right one with a chance of at "
            f"most {wording.share(facts.highest_risk)}; rows of events that are known as well leave fewer: see Limits."
        )
    return (
        "If everybody has one record, a person who knows them picks the right one with a chance of at most "
        f"{wording.share(facts.highest_risk)}. The rows do not say whose they are."
    )


def smallest(facts: PublicFacts) -> int:
    """The records of the smallest class; 0 if nothing is released."""
    return round(1 / facts.risk.highest) if facts.risk.highest else 0


def risks(situation: Situation, measured: dict[str, tuple[str, ...]] | None = None) -> Section:
    """The three risks of Opinion 05/2014 (WP216), with all that holds, that is measured and that is open against each.

    `measured` are figures beyond the public ones, by risk.
    """
    more = measured or {}
    rows = (
        _row(words.SINGLING_OUT, situation, (*_singling_out(situation), *more.get(words.SINGLING_OUT, ()))),
        _row(words.LINKABILITY, situation, (*_linkability(situation), *more.get(words.LINKABILITY, ()))),
        _row(words.INFERENCE, situation, more.get(words.INFERENCE, (_DIVERSITY,) * bool(situation.sensitive))),
    )
    grid = Grid("The three risks of Opinion 05/2014 (WP216)", ("risk", "holds", "measured", "open"), rows)
    return Section("risks", "Singling out, linkability, inference", (grid,))


def _row(risk: str, situation: Situation, measured: tuple[str, ...]) -> tuple[str, ...]:
    promised = [one for one in situation.facts.models if one.WhichOneof("kind") in words.AGAINST[risk]]
    holds = [f"{words.titled(one)}." for one in promised] or ["The policy asks for no model against it."]
    if risk == words.SINGLING_OUT:
        holds.append("Columns that the policy calls identifying are not released.")
    return risk, " ".join(holds), " ".join(measured) or "Nothing is measured here.", " ".join(_open(situation, risk))


def _singling_out(situation: Situation) -> Iterator[str]:
    facts, achieved = situation.facts, situation.achieved
    yield f"Smallest class: {wording.count(smallest(facts))} records."
    if achieved is None:
        yield f"Highest risk, if everybody has one record: {wording.share(facts.highest_risk)}."
    else:
        yield f"Highest risk: {wording.share(achieved.highest)}."
    yield f"Records alone by their labels: {wording.count(facts.risk.unique_records)}."


def _linkability(situation: Situation) -> Iterator[str]:
    achieved = situation.achieved
    if achieved is None:
        yield f"Average risk of a record, if everybody has one: {wording.share(situation.facts.risk.average)}."
    else:
        yield f"Average risk of a record: {wording.share(achieved.average)}."


def _open(situation: Situation, risk: str) -> Iterator[str]:
    as_they_are = (*situation.sensitive, *situation.insensitive)
    if risk == words.SINGLING_OUT:
        if as_they_are:
            yield f"Somebody who knows values of {', '.join(as_they_are)} can single people out by them."
        yield "Knowledge of other people of a class is not counted."
    elif risk == words.LINKABILITY:
        yield "Other releases of the same people, and tables of others, are not counted."
    else:
        if situation.unprotected:
            yield f"No model looks at {', '.join(situation.unprotected)}."
        if "delta_presence" not in situation.kinds:
            yield "Nothing bounds what can be told of who is in the source."
        if situation.protected:
            yield "Models look at one column each, not at several together."


def purpose(facts: PublicFacts) -> Iterator[tuple[str, str]]:
    """The release, and what the policy states of it for its readers."""
    stated_of = facts.statements
    yield "release", f"{facts.name}, {facts.target}"
    yield "purpose", words.stated(stated_of.purpose)
    yield "legal basis", words.stated(stated_of.legal_basis)
    yield "recipient", words.stated(stated_of.recipient)
    yield "release context", words.CONTEXTS.get(stated_of.context, words.NOT_STATED)
    yield "contact", words.stated(stated_of.contact)
    if facts.objects:
        yield "tables", ", ".join(f"{name} ({wording.count(rows)} rows)" for name, rows in facts.objects)


def columns(facts: PublicFacts) -> Grid:
    """The released columns."""
    rows = tuple(
        (one.name, words.ROLES.get(one.role, one.role), f"{one.treatment}{one.days}", labels(one.labels))
        for one in facts.columns
    )
    return Grid("Released columns", ("column", "role", "treatment", "most frequent labels"), rows)


def _exposures(facts: PublicFacts) -> Iterator[Grid]:
    if facts.exposures:
        yield exposure_grid(facts.exposures)


def exposure_grid(shown: Sequence[Exposure]) -> Grid:
    """The table of those who could be found."""
    return Grid(HEADING, exposure_columns(shown), tuple(exposure_rows(shown)), frozenset({1, 2}))


def labels(found: tuple[str, ...]) -> str:
    """Examples, which are released labels only."""
    return "; ".join(wording.short(label) for label in found)


def _risk(facts: PublicFacts) -> Iterator[Part]:
    risk = facts.risk
    rows = [
        ("prosecutor: highest risk of a record", wording.share(risk.highest)),
        ("marketer: average risk of the records", wording.share(risk.average)),
        ("lowest risk", wording.share(risk.lowest)),
        ("unique records", wording.count(risk.unique_records)),
        *(
            (f"records with a risk above {item.threshold}", wording.count(item.records))
            for item in risk.records_at_risk
        ),
    ]
    caption = "Risks of the released records, if everybody has one"
    yield Grid(caption, ("measure", "released"), tuple(rows), frozenset({1}))
    whose = "every row is a person" if facts.known_facts else "the rows do not say whose they are"
    yield Words(f"Sizes of classes and risks count records: {whose}. {chance(facts)}")
    if facts.sizes:
        yield distribution((("released", facts.sizes),))


def distribution(series: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]) -> Figure:
    """The records by the sizes of their classes."""
    names, parts = [], []
    for low, high in SIZES:
        names.append(str(low) if low == high else f"{low:,} or more" if high is None else f"{low} to {high}")
    for name, sizes in series:
        whole = sum(size * classes for size, classes in sizes) or 1
        parts.append((name, tuple(_share(sizes, low, high) / whole for low, high in SIZES)))
    return shares("Records by the size of their class", "records in a class", tuple(names), tuple(parts))


def _share(sizes: tuple[tuple[int, int], ...], low: int, high: int | None) -> int:
    return sum(size * classes for size, classes in sizes if low <= size and (high is None or size <= high))


def _models(facts: PublicFacts) -> Iterator[Part]:
    yield models(facts.models, facts.lists)
    if facts.among_released:
        rows = tuple(
            (one.model.replace("_", " "), one.column, one.parameter, reached(one.after)) for one in facts.among_released
        )
        caption = "Measured on the released rows: the models hold against the source, which readers do not have"
        yield Grid(caption, ("model", "of", "parameter", "reached"), rows, frozenset({3}))


def models(asked: Iterable[PrivacyModel], lists: Collection[str]) -> Grid:
    """The privacy models that hold; cells of the columns `lists` are lists."""
    rows = tuple((words.titled(one), words.promise(one, lists)) for one in asked)
    return Grid("Models that the policy asks for, and that hold", ("model", "promise"), rows)


def suppression(facts: PublicFacts) -> str:
    """How many records are suppressed."""
    if not facts.suppressed:
        return "No record that chance left is suppressed." if facts.promised else "No record is suppressed."
    whole = facts.suppressed + facts.records
    part = wording.share(facts.suppressed / whole)
    shown = "They are left out." if facts.handling == "left out" else f"They stand in the release as {facts.handling}."
    return f"{wording.count(facts.suppressed)} of {wording.count(whole)} records are suppressed ({part}). {shown}"


def limits(situation: Situation) -> tuple[Part, ...]:
    """The parts of docs/explanations/threats.md that apply."""
    return (Terms(tuple(threats(situation))),)


def versions(facts: PublicFacts) -> Iterator[tuple[str, str]]:
    """The software that made the release."""
    yield from facts.versions


def checksum(facts: PublicFacts) -> Iterator[Part]:
    """The checksum of the rows, and how a copy is compared with it."""
    if not facts.checksum:
        yield Words("The checksum of the rows is not known: they are gone, changed, or in a warehouse.")
        return
    yield Terms((("checksum of the rows", facts.checksum),))
    yield Words(
        "SHA-256 over the canonical rows, in any order. It is no signature: it tells whether a copy has these rows. "
        "tableveil report --check FILE computes it from a copy in CSV or Parquet."
    )
