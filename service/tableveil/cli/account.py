"""The account of a release: what was done to the table, the loss, the evidence, and how to use it."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from google.protobuf.duration_pb2 import Duration
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tableveil import wording
from tableveil.cli.guarantees import exposures, guarantees
from tableveil.cli.publish import publications
from tableveil.cli.tables import facts, listing
from tableveil.cli.warnings import warnings
from tableveil.report.proof import verdict
from tableveil.v1 import job_service_pb2, policy_pb2, release_service_pb2
from tableveil.wording.distinct import before_and_after, declared_domains, is_erased
from tableveil.wording.exposures import HEADING

_EXCLUDED_BECAUSE = {"suppression": "they would suppress too many records", "quality": "they cannot score better"}

_OBJECTS = {
    release_service_pb2.RELEASE_OBJECT_KIND_ROWS: "the anonymized rows",
    release_service_pb2.RELEASE_OBJECT_KIND_CLASSES: "the classes, their sizes and risks",
    release_service_pb2.RELEASE_OBJECT_KIND_EVENTS: "the rows of an event table, by the people's key",
    release_service_pb2.RELEASE_OBJECT_KIND_EVENT_COLUMNS: "the meaning of each of its columns",
    release_service_pb2.RELEASE_OBJECT_KIND_EVENT_LABELS: "its labels, with bounds, ranks and records",
    release_service_pb2.RELEASE_OBJECT_KIND_KNOWN_ROWS: "how few keys fit to one to five known rows",
    release_service_pb2.RELEASE_OBJECT_KIND_RISK: "risks of the released rows",
    release_service_pb2.RELEASE_OBJECT_KIND_RISK_HISTOGRAM: "classes by size",
    release_service_pb2.RELEASE_OBJECT_KIND_CLASSIFICATION: "how well classifiers trained on it do",
    release_service_pb2.RELEASE_OBJECT_KIND_COLUMNS: "the meaning of each column",
    release_service_pb2.RELEASE_OBJECT_KIND_LABELS: "the labels, with bounds, ranks and records",
    release_service_pb2.RELEASE_OBJECT_KIND_ABOUT: "models, versions, and how to cite it",
    release_service_pb2.RELEASE_OBJECT_KIND_ESTIMATED: "one value per cell, for ordinary SQL: estimates",
    release_service_pb2.RELEASE_OBJECT_KIND_SPREAD: "estimates under another assumption",
}


def account(release: release_service_pb2.Release, *, everything: bool = False) -> RenderableType:
    """The account for a console: two screens, or `everything` that is known."""
    return Group(_title(release), *sections(release, release.name, everything=everything))


def sections(release: release_service_pb2.Release, name: str, *, everything: bool = False) -> Iterator[RenderableType]:
    """The account below its title; a release that was never made has no objects, and the name of its dry run."""
    for heading, content in _sections(release, name, everything):
        yield from (Text(""), Text(heading, style="bold"), Padding(content, (0, 0, 0, 2), expand=False))


def query_lines(release: release_service_pb2.Release) -> list[str]:
    """Statements that read the release's objects where they are: in the server's database, or in a warehouse."""
    # Loading DuckDB takes longer than most commands, and than the help, which loads all of them.
    from tableveil.backend import render, table

    statements = []
    for item in release.objects:
        if release.warehouse:
            # Spark's names of tables are plain.
            name = f"{release.target.schema.removeprefix(f'{release.warehouse}.')}.{item.name}"
        else:
            name = render(table(item.name, release.target.schema))
        limit = " LIMIT 10" if item.kind == release_service_pb2.RELEASE_OBJECT_KIND_ROWS else ""
        statements.append(f"SELECT * FROM {name}{limit};")
    return statements


def _title(release: release_service_pb2.Release) -> Text:
    target, title = wording.target_name(release.target), Text(release.name, style="bold green")
    made = (
        f"{wording.table_name(release.source)} \N{RIGHTWARDS ARROW} {target}"
        if wording.has_evidence(release)
        else target
    )
    title.append(f"  {made}", style="not bold default")
    if not release.current:
        title.append(f"  ({_why_not_current(release)})", style="not bold yellow")
    return title


def _why_not_current(release: release_service_pb2.Release) -> str:
    state = release.state
    if state == release_service_pb2.RELEASE_STATE_WITHDRAWN:
        return f"withdrawn {wording.moment(release.withdraw_time)}: {wording.short(release.withdraw_reason)}"
    if state == release_service_pb2.RELEASE_STATE_PENDING:
        return "waits for approval; its objects are private until then"
    if state == release_service_pb2.RELEASE_STATE_TRIAL:
        until = wording.moment(release.expire_time)
        return f"a trial, which only you see; tableveil promote {release.name} releases it, until {until}"
    if state == release_service_pb2.RELEASE_STATE_REJECTED:
        by = f"{wording.moment(release.decision_time)} by {wording.short(release.decided_by)}"
        return f"rejected {by}: {wording.short(release.decision_note)}"
    return "replaced by a later release"


def _sections(
    release: release_service_pb2.Release, name: str, everything: bool
) -> Iterator[tuple[str, RenderableType]]:
    if wording.has_evidence(release):
        yield from _evidence(release, name, everything)
    else:
        yield "Result", facts([("suppressed", wording.count(release.suppressed_records))])
    if release.objects and (everything or not release.current):
        yield _objects_heading(release), _objects(release)
    if release.publications:
        yield "Published", publications(release.publications)
    if release.current:
        yield "Query it", _queries(release, everything)
    if wording.has_evidence(release):
        yield "Time", Text(_time(release.duration, release.phase_durations))
        if not everything:
            yield "More", Text(f"tableveil show {name} --all")


def _evidence(
    release: release_service_pb2.Release, name: str, everything: bool
) -> Iterator[tuple[str, RenderableType]]:
    if release.warnings:
        rest = f"tableveil show {name} --all"
        yield "Warnings", Group(*warnings(release.warnings, release.warning_ranks, rest, everything=everything))
    if release.matches:
        same = (Text(wording.printable(text), style="yellow") for text in wording.matches(release))
        yield "Other releases of these people", Group(*same)
    yield "Result", _result(release)
    domains = map(Text, declared_domains(release)) if everything else ()
    yield "Attributes", Group(_attributes(release.attributes, everything), *domains)
    if everything and any(result.levels for result in release.attributes):
        yield "Levels of the released records", _levels(release.attributes)
    yield "Risk of being re-identified", _risk(release, everything)
    if release.guarantees:
        yield "Privacy that is reached", guarantees(release, name)
    if release.exposures:
        yield HEADING, exposures(release)
    yield "Proof", _proof(release) if everything else Text(verdict(release))


def _objects_heading(release: release_service_pb2.Release) -> str:
    gone = (release_service_pb2.RELEASE_STATE_WITHDRAWN, release_service_pb2.RELEASE_STATE_REJECTED)
    if release.state == release_service_pb2.RELEASE_STATE_PENDING:
        return "To be public once approved"
    if release.state == release_service_pb2.RELEASE_STATE_TRIAL:
        return "To be public once promoted"
    return "Was written" if release.state in gone else "Written"


def _result(release: release_service_pb2.Release) -> Table:
    # See above.
    from tableveil.convert import privacy_in_words
    from tableveil.convert.names import loads_of

    policy = release.policy
    released = release.records - release.suppressed_records
    suppressed = _part(release.suppressed_records, release.records)
    limit = wording.share(Decimal(policy.suppression_limit or "0"))
    rows = [
        ("read", ", ".join(map(wording.table_name, release.source_tables))),
        ("bound to", wording.printable(", ".join(name for _, name in loads_of(policy.source)))),
        ("privacy", wording.printable("; ".join(map(privacy_in_words, policy.privacy_models)))),
        ("chosen by", _chosen_by(policy)),
        ("score", f"{wording.score(release.score)} ({wording.printable(release.quality_model)})"),
        ("payout", _payout(release)),
        ("records", f"{wording.count(release.records)}, of which {wording.count(released)} released"),
        ("suppressed", f"{suppressed}; the policy allows {limit}"),
        ("classes", wording.count(release.classes)),
        ("approved", _approved(release)),
        ("not stated", wording.not_stated(policy)),
    ]
    return facts(row for row in rows if row[1])


def _approved(release: release_service_pb2.Release) -> str:
    if not release.decided_by or release.state == release_service_pb2.RELEASE_STATE_REJECTED:
        return ""
    note = f": {wording.short(release.decision_note)}" if release.decision_note else ""
    return f"{wording.moment(release.decision_time)} by {wording.short(release.decided_by)}{note}"


def _payout(release: release_service_pb2.Release) -> str:
    """The publisher's payout as a share of that of unchanged, unattacked records: the score is the difference."""
    policy = release.policy
    if not policy.quality_model.HasField("publisher_payout"):
        return ""
    most = release.records * float(policy.game.publisher_benefit)
    paid = most - release.score
    part = wording.share(paid / most if most else 0.0)
    return f"{paid:,.2f} of at most {most:,.2f} ({part}); the score is what is missing"


def _chosen_by(policy: policy_pb2.Policy) -> str:
    blindly = policy.search.choose == policy_pb2.CHOOSE_QUASI_IDENTIFIERS_ONLY
    return "models of quasi-identifiers only; those of sensitive columns judged what was chosen" if blindly else ""


def _attributes(attributes: Sequence[release_service_pb2.AttributeResult], everything: bool) -> RenderableType:
    # The quality model's parts, unless they equal the losses.
    parts = any(result.HasField("part") and result.part != result.loss for result in attributes)
    rows = [
        (
            wording.short(result.column),
            _change(result),
            wording.share(result.loss),
            *((wording.score(result.part) if result.HasField("part") else "none",) if parts else ()),
            before_and_after(result),
            *((wording.short(result.hierarchy),) if everything else ()),
        )
        for result in attributes
    ]
    aggregated = [bool(result.aggregation) for result in attributes]
    columns = (
        "quasi-identifier",
        "level" if not any(aggregated) else "aggregate" if all(aggregated) else "level or aggregate",
        "loss",
        *(("part of score",) if parts else ()),
        "distinct values",
        *(("hierarchy",) if everything else ()),
    )
    return listing(columns, rows, "none", numbers=("loss", "part of score", "distinct values"))


def _change(result: release_service_pb2.AttributeResult) -> str:
    if result.aggregation:
        return wording.short(result.aggregation)
    return f"{_level(result)} of {result.top_level}{_extreme(result)}"


def _level(result: release_service_pb2.AttributeResult) -> str:
    lowest = result.levels[0].level if result.levels else result.level
    return str(result.level) if lowest == result.level else f"{lowest} to {result.level}"


def _extreme(result: release_service_pb2.AttributeResult) -> str:
    if is_erased(result):
        return ", nothing left"
    # Suppression changes a column as well, and chance that removes rows has no loss.
    return ", not generalized" if result.level == 0 else ""


def _levels(attributes: Sequence[release_service_pb2.AttributeResult]) -> RenderableType:
    """The number of records at each level, where combinations of values have levels of their own."""
    names = [str(level) for level in range(max(result.top_level for result in attributes) + 1)]
    rows = []
    for result in attributes:
        records = {one.level: one.records for one in result.levels}
        whole = sum(records.values())
        shown = [_part(records[level], whole) if level in records else "" for level in range(len(names))]
        rows.append((wording.short(result.column), *shown))
    return listing(("quasi-identifier", *names), rows, "none", numbers=names)


def _risk(release: release_service_pb2.Release, everything: bool) -> RenderableType:
    before, after = release.risk_before, release.risk_after
    lowest = ("lowest", wording.share(before.lowest), wording.share(after.lowest))
    rows = [
        ("highest", wording.share(before.highest), wording.share(after.highest)),
        ("average", wording.share(before.average), wording.share(after.average)),
        *((lowest,) if everything else ()),
        ("unique records", _part(before.unique_records, before.records), _part(after.unique_records, after.records)),
    ]
    later = {item.threshold: item.records for item in after.records_at_risk}
    for item in before.records_at_risk if everything else ():
        name = f"records with more than {wording.share(Decimal(item.threshold))}"
        at_risk = _part(later.get(item.threshold, 0), after.records)
        rows.append((name, _part(item.records, before.records), at_risk))
    shown = listing(("", "before", "after"), rows, "", numbers=("before", "after"))
    price = wording.price(release)
    return Group(shown, Text(price)) if price else shown


def _proof(release: release_service_pb2.Release) -> Table:
    proof = release.proof
    checked = wording.count(proof.transformations_checked)
    if proof.times_counted > proof.transformations_checked:
        checked += f", and {wording.count(proof.times_counted - proof.transformations_checked)} counted for bounds"
    rows = [("verdict", verdict(release)), ("strategy", wording.printable(proof.strategy))]
    if proof.lattice_size:
        rows += [("transformations", wording.large_count(proof.lattice_size)), ("checked", checked)]
    for reason, number in sorted(proof.pruned.items()):
        why = _EXCLUDED_BECAUSE.get(reason, wording.printable(reason))
        rows.append(("excluded", f"{wording.large_count(number)}: {why}"))
    rows.append(("counted", wording.printable(proof.counting)))
    if proof.HasField("best_after"):
        best_after, whole = wording.duration(proof.best_after), wording.duration(proof.duration)
        rows.append(("best found", f"after {best_after} of {whole}"))
    return facts(row for row in rows if row[1])


def _objects(release: release_service_pb2.Release) -> RenderableType:
    rows = [
        (wording.short(f"{release.target.schema}.{item.name}"), _rows(item.rows), _OBJECTS.get(item.kind, ""))
        for item in release.objects
    ]
    return listing(("object", "size", "holds"), rows, "none", numbers=("size",))


def _rows(number: int) -> str:
    return f"{wording.count(number)} {'row' if number == 1 else 'rows'}"


def _queries(release: release_service_pb2.Release, everything: bool) -> RenderableType:
    number = release.name.rpartition("/")[2]
    file = f"release-{number}.duckdb"
    lines = query_lines(release) if everything else query_lines(release)[:1]
    statements = [Text(f"  {line}") for line in lines if line.isprintable()]
    if release.warehouse:
        return Group(Text(f"In Spark, by any of its clients ({wording.printable(release.warehouse)}):"), *statements)
    return Group(
        Text("In the database, which only the server may open while it runs:"),
        *statements,
        Text("Or from a fresh file that may be given away:"),
        Text(f"  tableveil export {release.name} --output {file}"),
    )


def _time(total: Duration, phases: Mapping[str, Duration]) -> str:
    order = {value.name: value.number for value in job_service_pb2.JobPhase.DESCRIPTOR.values}
    in_order = sorted(phases, key=lambda name: (order.get(f"JOB_PHASE_{name.upper()}", len(order)), name))
    parts = ", ".join(f"{wording.printable(name)} {wording.duration(phases[name])}" for name in in_order)
    return f"{wording.duration(total)}: {parts}" if parts else wording.duration(total)


def _part(part: int, whole: int) -> str:
    return f"{wording.count(part)} ({wording.share(part / whole if whole else 0.0)})"
