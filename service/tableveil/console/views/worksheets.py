"""Worksheets: what is decided about a table, from its roles to its release."""

import re
from functools import lru_cache

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from tableveil import wording
from tableveil.console import terms
from tableveil.console.faults import CORRECTABLE, placed
from tableveil.console.render import fragment
from tableveil.console.terms import READERS, ROLES
from tableveil.console.visit import Visit, status_of
from tableveil.convert.enums import READERS as DOMAIN_READERS
from tableveil.convert.proposals import document_readers, set_k
from tableveil.convert.warnings import ranks_to_proto
from tableveil.document import read_policy, to_yaml
from tableveil.errors import Checked, InvalidError, TableveilError, shortened
from tableveil.pages import Line, lines
from tableveil.report.words import column_of, columns_of_lists, promise
from tableveil.statements.render import create_statement
from tableveil.v1 import (
    dry_run_service_pb2,
    hierarchy_service_pb2,
    policy_pb2,
    proposal_service_pb2,
    worksheet_service_pb2,
)
from tableveil.wording.proposals import longest

Worksheet = worksheet_service_pb2.Worksheet

_GROUPS = 8

_PROPOSALS = "proposals/"

_CHARTS = 256
"""Charts that are kept: drawing one takes longer than all else on a page."""


def listed(visit: Visit) -> Response:
    """The worksheets of the visitor's tables, newest first."""
    return visit.listed("worksheets.html", visit.client.list_worksheets())


def begin(visit: Visit) -> Response:
    """Keeps a new worksheet of a table, or of people and their events, with what a draft says of its columns."""
    table = policy_pb2.TableReference(schema=visit.text("schema"), table=visit.text("table"))
    events = [policy_pb2.TableReference(schema=table.schema, table=name) for name in visit.texts("events")]
    keys = filter(None, map(str.strip, visit.text("key").split(",")))
    draft = visit.client.draft_policy(table, events=events, key=keys)
    policy = draft.proposal
    # A declared statement on people is an answer, a drafted one is a guess.
    policy.ClearField("person")
    if (person := draft.policy.WhichOneof("person")) is not None:
        setattr(policy, person, getattr(draft.policy, person))
    for guessed, decided in zip(policy.attributes, draft.policy.attributes, strict=True):
        if guessed.acknowledged and not decided.acknowledged:
            # Nearly every row could be found by it, and nobody has said that this is no matter.
            _take_role(guessed, policy_pb2.ROLE_IDENTIFYING)
    made = visit.client.create_worksheet(Worksheet(table=table, policy=policy))
    return visit.go(f"/{made.name}")


def decide(visit: Visit) -> Response:
    """The page of decisions: the person, the columns, and the readers."""
    kept = _kept(visit)
    return _decide(visit, kept)


def decided(visit: Visit) -> Response:
    """Keeps the decisions; then queues a proposal, if that is what was asked for."""
    kept = _kept(visit)
    kept.etag = visit.text("etag")
    _take_roles(visit, kept)
    try:
        _take_policy(visit, kept.policy)
    except InvalidError as error:
        return _decide(visit, kept, error)
    _take_request(visit, kept)
    kept = visit.client.update_worksheet(kept)
    if visit.text("action") != "propose":
        return visit.go(f"/{kept.name}")
    return _propose(visit, kept)


def repair(visit: Visit) -> Response:
    """Tries policies for the rows with repaired values, as the last proposal tells how."""
    kept = _kept(visit)
    kept.etag, kept.proposal = visit.text("etag"), visit.text("proposal")
    kept.request.source_query = visit.client.get_result(proposal_service_pb2.Proposal, kept.proposal).repair_query
    return _propose(visit, visit.client.update_worksheet(kept))


def _propose(visit: Visit, kept: Worksheet) -> Response:
    request = proposal_service_pb2.ProposalRequest(readers=kept.request.readers)
    if not kept.policy.HasField("tables"):
        request.CopyFrom(kept.request)
        if not request.source_query:
            request.table.CopyFrom(kept.table)
        # The policy says it.
        for field in ("leave_out", "person_column", "rows_are_people", "record_column"):
            request.ClearField(field)
    request.policy.CopyFrom(kept.policy)
    try:
        _require(_is_answered(kept))
        job = visit.client.submit_analysis(proposal_service_pb2.SubmitProposalRequest(proposal=request))
    except CORRECTABLE as error:
        return _decide(visit, kept, error)
    kept.job = job.name
    visit.client.update_worksheet(kept)
    return visit.go(f"/{job.name}?worksheet={_number(kept)}")


def labels(visit: Visit) -> Response:
    """The labels of a quasi-identifier, as its hierarchy makes them of the table's values."""
    kept, column = _kept(visit), visit.asked("column")
    named = {wording.named_column(one, kept.policy): one for one in kept.policy.attributes}
    attribute = named.get(column, policy_pb2.Attribute(column=column))
    asked = hierarchy_service_pb2.PreviewHierarchyRequest(
        hierarchy=attribute.hierarchy, table=_table(kept, attribute), column=attribute.column, groups=_GROUPS
    )
    try:
        found = visit.client.preview_hierarchy(asked)
    except TableveilError as error:
        return HTMLResponse(fragment("faults.html", error=error))
    return HTMLResponse(fragment("labels.html", column=column, preview=found))


def policy(visit: Visit) -> Response:
    """The policy as YAML to edit, and as SQL to read."""
    kept = _kept(visit)
    return _policy(visit, kept, to_yaml(kept.policy))


def written(visit: Visit) -> Response:
    """Keeps the policy that was written, once it can be read; and checks it, if that was asked for."""
    kept, text = _kept(visit), visit.text("policy")
    kept.etag = visit.text("etag")
    try:
        made, faults = read_policy(text, "yaml")
    except InvalidError as error:
        return _policy(visit, kept, text, Checked(error.faults), status=400)
    if faults:
        return _policy(visit, kept, text, Checked(tuple(faults)), status=400)
    kept.policy.CopyFrom(made)
    _answer(kept)
    kept = visit.client.update_worksheet(kept)
    if visit.text("action") != "check":
        return visit.go(f"/{kept.name}/policy")
    checked = visit.client.checked(kept.policy)
    return _policy(visit, kept, to_yaml(kept.policy), checked)


def compare(visit: Visit) -> Response:
    """The policies that were tried, as a table and as a chart of loss against risk."""
    kept = _kept(visit)
    if not (name := _tried(visit, kept)):
        return visit.page("compare.html", kept=kept, proposal=None, made=[], names=[], chart=None)
    return _compare(visit, kept, visit.client.get_result(proposal_service_pb2.Proposal, name))


def _compare(
    visit: Visit, kept: Worksheet, result: proposal_service_pb2.Proposal, error: TableveilError | None = None
) -> Response:
    made = [(number, one) for number, one in enumerate(result.alternatives) if one.HasField("score")]
    names = list(dict.fromkeys(column.column for _, one in made for column in one.columns))
    drawn = tuple(
        (f"{one.method}, k = {one.k}", one.highest_risk, one.score, number)
        for number, one in made
        if one.HasField("highest_risk")
    )
    return visit.page(
        "compare.html",
        200 if error is None else status_of(error),
        kept=kept,
        proposal=result,
        made=made,
        names=names,
        chart=_chart(drawn) if drawn else None,
        answered=_is_answered(kept) or terms.answers(result.request),
        since=terms.since(result, kept.request, kept.policy),
        coarser=longest(result),
        changes=[terms.changes(kept.policy, terms.chosen(kept.policy, one)) for one in terms.choices(result)],
        tried_with={n: terms.terms(one.policy) for n, one in made},
        readers=READERS.get(result.request.readers, terms.NOT_STATED),
        faults=placed(error, {}),
    )


def _tried(visit: Visit, kept: Worksheet) -> str:
    """The proposal of the worksheet's last job, or the one that was chosen from; empty if there is none."""
    try:
        result = visit.client.get_job(kept.job).result if kept.job else ""
    except TableveilError:
        # The job is another steward's, or was deleted.
        result = ""
    return result if result.startswith(_PROPOSALS) else kept.proposal


@lru_cache(_CHARTS)
def _chart(drawn: tuple[tuple[str, float, float, int], ...]) -> Markup:
    """Names, risks, scores and groups as points, the best below and to the left; axes leave room for the markers."""
    points = [Line(name, [(risk, score)], group=group) for name, risk, score, group in drawn]
    spans = [(0.0, 1.1 * max(line.points[0][axis] for line in points) or 1.0) for axis in (0, 1)]
    return lines("Loss against risk", "highest risk of a person", "score: less is better", points, *spans)


def choose(visit: Visit) -> Response:
    """Takes the policy of an alternative."""
    kept, number = _kept(visit), visit.text("alternative")
    kept.etag, kept.proposal = visit.text("etag"), visit.text("proposal")
    result = visit.client.get_result(proposal_service_pb2.Proposal, kept.proposal)
    choices = terms.choices(result)
    if not number.isdecimal() or int(number) >= len(choices):
        raise InvalidError.of(
            "ALTERNATIVE_INVALID", "alternative", "none of them", "one of the policies that were tried"
        )
    try:
        _require(_is_answered(kept) or terms.answers(result.request))
    except InvalidError as error:
        return _compare(visit, kept, result, error)
    kept.policy.CopyFrom(terms.chosen(kept.policy, choices[int(number)]))
    _answer(kept)
    kept = visit.client.update_worksheet(kept)
    return visit.go(f"/{kept.name}/release")


def release(visit: Visit) -> Response:
    """The last page before the release."""
    return _release(visit, _kept(visit))


def rehearse(visit: Visit) -> Response:
    """Queues a dry run of the policy."""
    kept = _kept(visit)
    try:
        _require(_is_answered(kept))
        job = visit.client.submit_analysis(dry_run_service_pb2.SubmitDryRunRequest(policy=kept.policy))
    except CORRECTABLE as error:
        return _release(visit, kept, error)
    return visit.go(f"/{job.name}?worksheet={_number(kept)}")


def submit(visit: Visit) -> Response:
    """Queues the job that makes the release, or a trial of it."""
    kept = _kept(visit)
    kept.etag = visit.text("etag")
    schema, _, name = visit.text("target").rpartition(".")
    if name:
        kept.policy.release.schema, kept.policy.release.name = schema, name
    if reason := visit.text("repeat_reason"):
        kept.policy.repeat_reason = reason
    if others := visit.text("other_people").replace(",", " ").split():
        kept.policy.other_people[:] = others
    kept = visit.client.update_worksheet(kept)
    try:
        _require(_is_answered(kept))
        job = visit.client.submit(kept.policy, trial=visit.text("action") == "trial")
    except CORRECTABLE as error:
        return _release(visit, kept, error)
    kept.job = job.name
    visit.client.update_worksheet(kept)
    return visit.go(f"/{job.name}?worksheet={_number(kept)}")


def delete(visit: Visit) -> Response:
    """Deletes a worksheet that nobody has changed since the page was made."""
    visit.client.delete_worksheet(visit.path("number"), visit.text("etag"))
    return visit.go("/worksheets")


def _kept(visit: Visit) -> Worksheet:
    return visit.client.get_worksheet(visit.path("number"))


def _table(kept: Worksheet, of: policy_pb2.Attribute) -> policy_pb2.TableReference:
    """The table that a column is in."""
    for event in kept.policy.tables.events:
        if of.table == (event.name or event.table):
            schema = event.schema or kept.policy.tables.people.schema
            return policy_pb2.TableReference(schema=schema, table=event.table)
    return kept.table


def _number(kept: Worksheet) -> str:
    return kept.name.rpartition("/")[2]


def _take_roles(visit: Visit, kept: Worksheet) -> None:
    """Takes the roles of the form; a column with another one gets the hierarchy, or the elements, of a draft."""
    roles = {str(role): role for role in ROLES}
    listed = [
        (one, roles.get(visit.text(f"role-{position}"), one.role))
        for position, one in enumerate(kept.policy.attributes)
    ]
    drafted: dict[tuple[str, str], policy_pb2.Attribute] = {}
    for of in dict.fromkeys(one.table for one, _ in listed):
        generalized, sensitive = (
            [one.column for one, role in listed if one.table == of and role == wanted != one.role]
            for wanted in (policy_pb2.ROLE_QUASI_IDENTIFIER, policy_pb2.ROLE_SENSITIVE)
        )
        if generalized or sensitive:
            draft = visit.client.draft_policy(_table(kept, policy_pb2.Attribute(table=of)), generalized, sensitive)
            drafted |= {(of, one.column): one for one in draft.proposal.attributes}
    for one, role in listed:
        _take_role(one, role, drafted.get((one.table, one.column)))
        one.acknowledged = wording.named_column(one, kept.policy) in visit.texts("acknowledged")
    # No model of a column holds once that is not sensitive.
    models = kept.policy.privacy_models
    sensitive_ones = (one for one in kept.policy.attributes if one.role == policy_pb2.ROLE_SENSITIVE)
    protected = {wording.named_column(one, kept.policy) for one in sensitive_ones}
    holding = [one for one in models if not column_of(one) or column_of(one) in protected]
    del models[:]
    models.extend(holding)


def _take_role(
    attribute: policy_pb2.Attribute, role: policy_pb2.Role.ValueType, drafted: policy_pb2.Attribute | None = None
) -> None:
    """Gives a column another role; what only its earlier one had is gone."""
    if role == attribute.role:
        return
    changed = policy_pb2.Attribute(table=attribute.table, column=attribute.column, role=role)
    if role == policy_pb2.ROLE_QUASI_IDENTIFIER:
        changed.hierarchy.suppression_only.SetInParent()
        if drafted is not None and drafted.HasField("hierarchy"):
            changed.CopyFrom(drafted)
            changed.table = attribute.table
    elif drafted is not None and drafted.HasField("elements"):
        changed.elements.CopyFrom(drafted.elements)
    attribute.CopyFrom(changed)


def _is_answered(kept: Worksheet) -> bool:
    """Whether somebody has said who is a person."""
    return terms.person_of(kept.policy) != terms.UNANSWERED


def _require(answered: bool) -> None:
    if not answered:
        expected = "that every row is a different person, or the column that numbers people"
        raise InvalidError.of("PERSON_MISSING", "person", "nothing", expected, "k counts people: decide who is one.")


def _answer(kept: Worksheet) -> None:
    """Lets the request of trials say who is a person as the policy does."""
    kept.request.rows_are_people = kept.policy.rows_are_people
    kept.request.person_column = kept.policy.person_column


def _take_policy(visit: Visit, policy: policy_pb2.Policy) -> None:
    """Takes who is a person, the k, and the texts of the report: what the form does not have stays."""
    person, column = visit.text("person"), visit.text("person_column")
    if person == "rows":
        policy.rows_are_people = True
        policy.ClearField("record_column")
    elif person == "column":
        named = next((one for one in policy.attributes if one.column == column), None)
        if named is None:
            raise InvalidError.of("PERSON_MISSING", "person_column", "none", "the column that numbers people")
        policy.person_column = column
        _take_role(named, policy_pb2.ROLE_IDENTIFYING)
    if k := visit.text("k"):
        if not (k.isascii() and k.isdecimal() and 0 < int(k) < _MOST_K):
            raise InvalidError.of("K_INVALID", "k", shortened(k), "the least number of people in a class, from 1 on")
        set_k(policy, int(k))
    if policy.HasField("tables") and "rows_limit" in visit.form:
        policy.tables.rows_limit = visit.text("rows_limit")
    for field in terms.REPORTED:
        if field in visit.form:
            setattr(policy.documentation, field, visit.text(field))


def _take_request(visit: Visit, kept: Worksheet) -> None:
    request = kept.request
    for readers in READERS:
        if str(readers) == visit.text("readers") and readers != request.readers:
            request.readers = readers
            documentation = kept.policy.documentation
            for field in ("risk_threshold", "threshold_reason", "context"):
                documentation.ClearField(field)
            if (domain := DOMAIN_READERS.from_proto(readers)) is not None:
                document_readers(documentation, domain)
    request.recurs = visit.text("recurs") == "yes"
    for field in ("period_column", *terms.SHARES):
        setattr(request, field, visit.text(field))
    if visit.text("repaired") != "yes" and request.source_query:
        if kept.policy.source_query == request.source_query:
            kept.policy.ClearField("source_query")
            kept.policy.source.CopyFrom(kept.table)
        request.ClearField("source_query")
    _answer(kept)
    columns = {one.column: one.role for one in kept.policy.attributes}
    del request.leave_out[:]
    request.leave_out.extend(
        name for name, role in columns.items() if role == policy_pb2.ROLE_IDENTIFYING and name != request.person_column
    )
    del request.keep[:]
    left_out = {*request.leave_out, request.person_column, request.period_column}
    request.keep.extend(
        proposal_service_pb2.KeptColumn(column=name)
        for name in visit.texts("keep")
        if name in columns and name not in left_out
    )


def _decide(visit: Visit, kept: Worksheet, error: TableveilError | None = None) -> Response:
    keep = [one.column for one in kept.request.keep]
    inputs = {
        "person": "(policy\\.)?(person|person_column|rows_are_people)",
        "k": r"(policy\.)?(k|privacy_models\[\d+\]\.k_anonymity.*)",
        "recurs": "recurs|record_column",
        "readers": "readers",
        "rows_limit": r"(policy\.)?tables\.rows_limit",
        **{field: field for field in ("period_column", *terms.SHARES)},
    }
    for position, one in enumerate(kept.policy.attributes):
        inputs[f"role-{position}"] = rf"(policy\.)?(attributes|columns)\[{position}\].*"
        if one.column in keep:
            inputs[f"keep-{position}"] = rf"keep\[{keep.index(one.column)}\].*"
    return visit.page(
        "decide.html",
        200 if error is None else status_of(error),
        kept=kept,
        roles=ROLES,
        readers=READERS,
        reported=terms.REPORTED,
        shares=terms.SHARES,
        answered=_is_answered(kept),
        k=terms.k_of(kept.policy),
        promises=[promise(model, columns_of_lists(kept.policy)) for model in kept.policy.privacy_models],
        must_stay={one.column for one in kept.request.keep},
        faults=placed(error, inputs),
    )


def _policy(visit: Visit, kept: Worksheet, text: str, checked: Checked | None = None, *, status: int = 200) -> Response:
    """The policy, with all that is wrong with it; one that cannot be read has a `status` other than 200."""
    result = checked or Checked()
    return visit.page(
        "policy.html",
        status,
        kept=kept,
        text=text,
        statement=create_statement(kept.policy),
        faults=result.faults,
        warnings=result.warnings,
        ranks=ranks_to_proto(result.warnings),
        checked=checked is not None and status == 200,
    )


_MOST_K = 1_000_000_000

_RELEASED = {
    "target": r"release(\.(schema|name|if_exists))?",
    "repeat_reason": "repeat_reason",
    "other_people": r"other_people(\[\d+\])?",
}


def _release(visit: Visit, kept: Worksheet, error: TableveilError | None = None) -> Response:
    target = kept.policy.release
    name = target.name or f"{kept.table.table}_released"
    checked = visit.client.checked(kept.policy) if _is_answered(kept) else Checked()
    tried = visit.client.get_result(proposal_service_pb2.Proposal, kept.proposal).alternatives if kept.proposal else []
    return visit.page(
        "release_worksheet.html",
        200 if error is None else status_of(error),
        kept=kept,
        target=f"{target.schema or kept.table.schema}.{name}",
        answered=_is_answered(kept),
        prevented=[fault for fault in checked.faults if not re.fullmatch("|".join(_RELEASED.values()), fault.field)],
        terms=terms.terms(kept.policy),
        k=terms.k_of(kept.policy),
        readers=READERS.get(kept.request.readers, terms.NOT_STATED),
        unchanged=terms.as_they_are(kept.policy),
        reported={
            name.lower(): getattr(kept.policy.documentation, field) or terms.NOT_STATED
            for field, name in terms.REPORTED.items()
        },
        open=terms.open_to_decide(kept.policy, checked, tried),
        is_tried=any(terms.equal(one, kept.policy) for one in tried),
        faults=placed(error, _RELEASED),
    )
