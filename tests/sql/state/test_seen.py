"""The conditions that leave in the ledger only the rows that it shows."""

from dataclasses import replace

import pytest

from tableveil.backend import Ledger, Scopes, Visibility, folded
from tableveil.state.release_objects import latest_among
from tableveil.state.releases import RELEASES
from tableveil.state.seen import HIDDEN, as_folded, evidence, releases, reviewed
from tests.sql.state.release_samples import RELEASE, SIZES

_MAIN = Scopes(schemas=frozenset({"main"}))


@pytest.mark.parametrize("name", ["", "main", "Main", "ÄRZTE", "Ärzte", "ärzte", "İ", "ẞ", "K"])
def test_names_are_folded_as_the_database_compares_them(ledger: Ledger, name: str) -> None:
    assert ledger.value(f"SELECT {as_folded('name')} FROM (SELECT ? AS name)", [name]) == folded(name)


def test_whoever_has_no_rights_is_shown_nothing_and_nothing_is_read_for_it() -> None:
    nobody = Visibility("somebody")
    assert (evidence(nobody), reviewed(nobody), releases(nobody)) == (HIDDEN, HIDDEN, HIDDEN)


@pytest.mark.parametrize(
    ("visibility", "shown"),
    [
        (Visibility("somebody"), False),
        (Visibility("somebody", owned=Scopes(schemas=frozenset({"other"}))), False),
        (Visibility("somebody", reviewed=_MAIN), True),
        (Visibility("somebody", published=_MAIN), True),
        (Visibility("somebody", published=Scopes(tables=frozenset({("main", "released")}))), True),
        (Visibility("somebody", published=Scopes(tables=frozenset({("main", "Released")}))), False),
        (Visibility("somebody", published=Scopes(releases=frozenset({RELEASE.number}))), True),
        (Visibility("somebody", published=Scopes(releases=frozenset({RELEASE.number + 1}))), False),
    ],
)
def test_a_release_is_shown_by_schema_by_table_or_by_number(
    ledger: Ledger, visibility: Visibility, shown: bool
) -> None:
    RELEASES.write(ledger, replace(RELEASE, target_schema="Main", target_name="Released"), SIZES, SIZES)
    text, values = releases(visibility)
    assert ledger.rows(f"SELECT number FROM tableveil.releases WHERE {text}", values) == [(RELEASE.number,)] * shown


def test_the_latest_of_a_target_is_found_from_any_of_its_releases(ledger: Ledger) -> None:
    first = RELEASE.number
    targets = {first: "a", first + 1: "b", first + 2: "A", first + 3: "c"}
    made = [replace(RELEASE, number=number, job=number, target_name=name) for number, name in targets.items()]
    for release in made:
        RELEASES.write(ledger, release, SIZES, SIZES)
    assert latest_among(ledger, made[:1]) == {first + 2}
    assert latest_among(ledger, made) == {first + 1, first + 2, first + 3}
