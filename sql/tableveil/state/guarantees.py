"""The guarantees of releases: what each reaches of every privacy model, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple

from tableveil.backend import Session
from tableveil.privacy.guarantees import Guarantee
from tableveil.state.rows import insert_rows


def insert(session: Session, release: int, guarantees: Sequence[Guarantee]) -> None:
    """Writes them in their order; call it in the transaction that writes the release."""
    rows = [(release, position, *astuple(one)) for position, one in enumerate(guarantees)]
    insert_rows(session, "guarantees", rows)


def of_release(session: Session, release: int) -> tuple[Guarantee, ...]:
    """Those of a release, in the order they were written; none for releases from before they were kept."""
    rows = session.rows(
        "SELECT model, column_name, parameter, before, after FROM tableveil.guarantees "
        "WHERE release = ? ORDER BY position",
        [release],
    )
    return tuple(Guarantee(*row) for row in rows)
