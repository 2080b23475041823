"""The client's checks of a policy before it sends it, and the checks left to the server."""

from collections.abc import Callable, Iterable
from pathlib import Path

from tableveil.client.csv_hierarchies import CsvLevels, csv_attributes, read_csv_hierarchies, with_hierarchies
from tableveil.convert import policy_from_proto
from tableveil.convert.privacies import complete
from tableveil.errors import Checked, Fault, TableveilError, by_rank
from tableveil.policy import early_warnings
from tableveil.v1 import policy_pb2, privacy_service_pb2

# A version that no hierarchy ever reaches, so that a stored one of the same name is not taken for the file.
_NO_VERSION = 2**31 - 1


def check_on_client(policy: policy_pb2.Policy, base_directory: Path) -> tuple[list[CsvLevels], list[Fault]]:
    """The contents of the policy's CSV files, and all faults of the policy that show without a database."""
    levels, faults = read_csv_hierarchies(policy, base_directory)
    _, others = policy_from_proto(policy, before_upload=True)
    fields = {fault.field for fault in faults}
    return levels, faults + [fault for fault in others if fault.field not in fields]


def check_completed(
    policy: policy_pb2.Policy,
    base_directory: Path,
    declared: Callable[[policy_pb2.TableReference], privacy_service_pb2.TablePrivacy],
) -> tuple[list[CsvLevels], list[Fault]]:
    """As `check_on_client`, with the parts that the policy leaves out, and its table has `declared` on the server.

    The server adds them to what it gets.
    """
    levels, faults = check_on_client(policy, base_directory)
    if not faults or not policy.source.table:
        return levels, faults
    whole, named = policy_pb2.Policy(), policy_pb2.TableReference()
    whole.CopyFrom(policy)
    named.CopyFrom(policy.source)
    named.ClearField("load")
    named.ClearField("loads")
    try:
        told = complete(whole, declared(named))
    except TableveilError:
        return levels, faults
    levels, faults = check_on_client(whole, base_directory)
    return levels, list(map(told, faults))


def checked_on_client(policy: policy_pb2.Policy, base_directory: Path) -> Checked:
    """The faults of `check_on_client`, with the warnings that show without a database."""
    _, faults = check_on_client(policy, base_directory)
    read, _ = policy_from_proto(policy, before_upload=True)
    return Checked(tuple(faults), () if read is None else by_rank(early_warnings(read)))


def without_csv(policy: policy_pb2.Policy) -> policy_pb2.Policy:
    """A copy of the policy in which a stored hierarchy stands for each file, which only the client can read."""
    stored = policy_pb2.StoredHierarchy(name="csv", version=_NO_VERSION)
    return with_hierarchies(policy, dict.fromkeys(csv_attributes(policy), policy_pb2.Hierarchy(stored=stored)))


def judged_without_csv(policy: policy_pb2.Policy, faults: Iterable[Fault]) -> list[Fault]:
    """The server's faults about `without_csv(policy)`, except those that the replaced files cause."""
    unseen = tuple(f"attributes[{position}].hierarchy" for position in csv_attributes(policy))
    return [fault for fault in faults if not fault.field.startswith(unseen)]
