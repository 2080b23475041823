"""The file of grants, for infrastructure as code: its grants follow it, and no command changes them."""

from dataclasses import replace
from pathlib import Path

from tableveil.access import WantedGrant
from tableveil.convert.grants import wanted_from_proto
from tableveil.document.read import read_message
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.v1 import access_service_pb2 as v1


def read_grants(path: Path) -> list[WantedGrant]:
    """The grants in a YAML file.

    Raises:
        InvalidError: it cannot be read, or with all of its faults.
    """
    rules, wanted = v1.GrantRules(), []
    try:
        faults = read_message(rules, path.read_bytes(), "yaml", "a file of grants'")
    except OSError as error:
        faults = [Fault("grants", f"{shortened(str(path))}, which cannot be read: {error.strerror}", "a readable file")]
    for i, rule in enumerate(rules.grants if not faults else ()):
        try:
            wanted.append(wanted_from_proto(rule))
        except InvalidError as error:
            faults += [replace(fault, field=f"grants[{i}].{fault.field}") for fault in error.faults]
    if faults:
        raise InvalidError.about("GRANTS_INVALID", f"the grants in {shortened(str(path))} are invalid", faults)
    return wanted
