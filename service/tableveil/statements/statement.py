"""The statements, as they were parsed."""

from dataclasses import dataclass

from tableveil.statements.values import FieldPlaces
from tableveil.v1 import access_service_pb2, policy_pb2, privacy_service_pb2


@dataclass(frozen=True, slots=True)
class CreateAnonymized:
    """Makes a release or a trial, or tells what it would be."""

    policy: policy_pb2.Policy
    places: FieldPlaces
    dry_run: bool
    trial: bool


@dataclass(frozen=True, slots=True)
class SetPrivacy:
    """Declares the privacy of a table."""

    table: policy_pb2.TableReference
    privacy: privacy_service_pb2.Privacy
    places: FieldPlaces


@dataclass(frozen=True, slots=True)
class StatementTarget:
    """A table or view that a release made, and where the statement names it."""

    reference: policy_pb2.TableReference
    place: str


@dataclass(frozen=True, slots=True)
class Refresh:
    """Makes a release again, of the rows that its source has now."""

    target: StatementTarget
    reason: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Drops what a release made."""

    target: StatementTarget
    reason: str


@dataclass(frozen=True, slots=True)
class Promote:
    """Makes a release of a trial, by another reason unless that is empty; `others` are releases of other people."""

    release: str
    reason: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decide:
    """Decides about a release that waits for approval."""

    release: str
    approved: bool
    note: str


@dataclass(frozen=True, slots=True)
class GrantStatement:
    """Lets a principal or a group read the releases of a target, or no longer."""

    rule: access_service_pb2.GrantRule
    taken: bool


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """Makes a schema of the database."""

    name: str


@dataclass(frozen=True, slots=True)
class SetSchemaRule:
    """Makes the rule of releases into a schema."""

    schema: str
    joint_k: bool


@dataclass(frozen=True, slots=True)
class ShowReleases:
    """Lists the newest releases: as many as the server likes if the limit is 0."""

    limit: int


@dataclass(frozen=True, slots=True)
class ShowCreate:
    """Shows the statement that says the policy of a release."""

    target: StatementTarget


@dataclass(frozen=True, slots=True)
class ShowPrivacy:
    """Shows the declared privacy of a table."""

    table: policy_pb2.TableReference


@dataclass(frozen=True, slots=True)
class ShowRisk:
    """Measures the risks of a table's people."""

    table: policy_pb2.TableReference


Statement = (
    CreateAnonymized
    | SetPrivacy
    | Refresh
    | Withdraw
    | Promote
    | Decide
    | GrantStatement
    | CreateSchema
    | SetSchemaRule
    | ShowReleases
    | ShowCreate
    | ShowPrivacy
    | ShowRisk
)
