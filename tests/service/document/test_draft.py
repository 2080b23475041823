"""Drafts as documents: they read back as the draft without, and once the comments are gone, with the decisions."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tableveil.document import read_policy, to_commented_yaml
from tableveil.v1 import draft_service_pb2 as v1
from tableveil.v1 import policy_pb2
from tests.service.document.test_round_trip import TREACHEROUS

NAMES = (st.sampled_from(TREACHEROUS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)).filter(bool)
KINDS = st.sampled_from([v1.DRAFT_REMARK_KIND_NOTE, v1.DRAFT_REMARK_KIND_GUESS])
_FIELDS = "acknowledged|role|hierarchy|rows_are_people|person_column|privacy_models"


def decided(text: str) -> str:
    """The document with everything uncommented that is a field, as its reader would."""
    return re.sub(rf"^( *)# (?=(?:{_FIELDS}):|  +\S)", r"\1", text, flags=re.MULTILINE)


@st.composite
def drafts(draw: st.DrawFn) -> v1.DraftPolicyResponse:
    proposal = policy_pb2.Policy(
        source=policy_pb2.TableReference(schema=draw(NAMES), table=draw(NAMES)),
        person_column=draw(NAMES),
        privacy_models=[policy_pb2.PrivacyModel(k_anonymity=policy_pb2.KAnonymity(k=5))],
    )
    policy = policy_pb2.Policy(source=proposal.source)
    remarks = [v1.DraftRemark(kind=v1.DRAFT_REMARK_KIND_NOTE, text=draw(NAMES))]
    for i, name in enumerate(draw(st.lists(NAMES, max_size=5))):
        attribute = policy_pb2.Attribute(column=name, role=policy_pb2.ROLE_QUASI_IDENTIFIER)
        attribute.hierarchy.intervals.CopyFrom(policy_pb2.Intervals(minimum="0", maximum="9", widths=["5"]))
        proposal.attributes.append(attribute)
        kind = draw(KINDS | st.just(v1.DRAFT_REMARK_KIND_DECIDE))
        policy.attributes.append(
            policy_pb2.Attribute(column=name) if kind == v1.DRAFT_REMARK_KIND_DECIDE else attribute
        )
        remarks += [
            v1.DraftRemark(field=f"attributes[{i}].role", kind=kind, text=f"It is {draw(NAMES)}."),
            v1.DraftRemark(field=f"attributes[{i}].hierarchy", kind=draw(KINDS), text=f"It is {draw(NAMES)}."),
        ]
    proposal.attributes.append(
        policy_pb2.Attribute(column=draw(NAMES), role=policy_pb2.ROLE_SENSITIVE, acknowledged=True)
    )
    policy.attributes.append(proposal.attributes[-1])
    undecided = f"attributes[{len(policy.attributes) - 1}].acknowledged"
    if draw(st.booleans()):
        policy.attributes[-1].ClearField("acknowledged")
        remarks.append(v1.DraftRemark(field=undecided, kind=v1.DRAFT_REMARK_KIND_DECIDE, text=f"Is it {draw(NAMES)}?"))
    for field in ("person_column", "privacy_models"):
        remarks.append(v1.DraftRemark(field=field, kind=v1.DRAFT_REMARK_KIND_DECIDE, text=f"Is it {draw(NAMES)}?"))
    return v1.DraftPolicyResponse(policy=policy, proposal=proposal, remarks=remarks)


@given(drafts())
def test_it_reads_as_the_draft_and_with_its_marks_gone_as_the_proposal(draft: v1.DraftPolicyResponse) -> None:
    text = to_commented_yaml(draft)
    assert read_policy(text, "yaml") == (draft.policy, [])
    assert read_policy(decided(text), "yaml") == (draft.proposal, [])
    assert text.isascii() or text.encode()


def test_a_remark_stands_above_its_field() -> None:
    draft = v1.DraftPolicyResponse(
        proposal=policy_pb2.Policy(
            attributes=[policy_pb2.Attribute(column="age\n", role=policy_pb2.ROLE_SENSITIVE)], rows_are_people=True
        ),
        remarks=[
            v1.DraftRemark(field="attributes[0].role", kind=v1.DRAFT_REMARK_KIND_GUESS, text="Because 'age\n' is."),
            v1.DraftRemark(field="rows_are_people", kind=v1.DRAFT_REMARK_KIND_DECIDE, text="Are they? " + "x " * 90),
        ],
    )
    lines = to_commented_yaml(draft).splitlines()
    start = lines.index("attributes:")
    assert lines[start : start + 6] == [
        "attributes:",
        "",
        "  # guess: Because 'age\\n' is.",
        '  - column: "age\\n"',
        "    role: SENSITIVE",
        "",
    ]
    assert lines[start + 6].startswith("# DECIDE: Are they?")
    assert lines[-1] == "# rows_are_people: true"
    assert max(map(len, lines)) <= 120
