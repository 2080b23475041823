"""The demo's table of hospital discharges and its policy, for the benchmarks that need a table of any size."""

import hashlib
from dataclasses import replace
from importlib import resources
from pathlib import Path

import duckdb

from tableveil.convert import policy_from_proto
from tableveil.demo import create_discharges
from tableveil.demo.hospital import CHAPTERS
from tableveil.document import load_policy
from tableveil.hierarchy import InlineLevels
from tableveil.policy import AttributePolicy, KAnonymity, Policy, Role

SEED = 1
TABLE = "discharges"
CACHE = Path(__file__).resolve().parents[1] / ".bench"


def demo_policy() -> Policy:
    """The demo's policy, with 7 quasi-identifiers."""
    with resources.as_file(resources.files("tableveil.demo").joinpath("policy.yaml")) as path:
        message, faults = load_policy(path)
    policy, more = policy_from_proto(message)
    assert policy is not None
    assert not faults + more
    return policy


def wide_policy(k: int = 5) -> Policy:
    """The demo's policy with the diagnosis as an eighth quasi-identifier: codes, chapters, `*`."""
    chapters = InlineLevels(
        tuple((diagnosis.code, chapter, "*") for chapter, found in CHAPTERS.items() for diagnosis in found)
    )
    diagnosis = AttributePolicy("diagnosis", Role.QUASI_IDENTIFIER, chapters)
    policy = demo_policy()
    return replace(
        policy,
        attributes=tuple(diagnosis if a.column == diagnosis.column else a for a in policy.attributes),
        privacy_models=(KAnonymity(k),),
    )


def discharges(rows: int) -> Path:
    """A database file that holds the table, made once and kept in `CACHE`. Copy it: jobs write into their database."""
    path = CACHE / f"{TABLE}-{rows}-{_generator()}.duckdb"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        with duckdb.connect(unfinished) as connection:
            create_discharges(connection, f"main.{TABLE}", rows, SEED)
        unfinished.rename(path)
    return path


def _generator() -> str:
    """A hash of the code that generates the rows, so that a table of an older generator is not used by mistake."""
    digest = hashlib.sha256(str(SEED).encode())
    for name in ("discharges.py", "hospital.py"):
        digest.update(resources.files("tableveil.demo").joinpath(name).read_bytes())
    return digest.hexdigest()[:12]
