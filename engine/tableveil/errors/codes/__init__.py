"""Every error code that Tableveil raises, with its cause and what to do: once, for docs/reference/errors.md."""

from dataclasses import dataclass

from tableveil.errors.codes import access, calls, policies, releases, server, tables


@dataclass(frozen=True, slots=True)
class Explained:
    """An error code as people need it; the fault of a single error says more: where, what was found, and a hint."""

    cause: str
    remedy: str


TOPICS = {
    "Servers": server.CODES,
    "Callers": access.CODES,
    "Calls, jobs and queries": calls.CODES,
    "Tables": tables.CODES,
    "Policies": policies.CODES,
    "Releases": releases.CODES,
}
"""By topic, cause and remedy of each code."""

CODES = {code: Explained(*texts) for codes in TOPICS.values() for code, texts in codes.items()}
"""All of them. A code is stable: clients branch on it."""
