"""A little of every campaign, with the same seed every time: `make campaign` goes on from there."""

import pytest

from tests.campaign.attacker.campaign import attack
from tests.campaign.attacker.minimality import measure
from tests.campaign.crash.campaign import crash
from tests.campaign.expressions import compare
from tests.campaign.pressure import press
from tests.campaign.together import judge

pytestmark = pytest.mark.long

SECONDS = 600.0
"""On a busy machine; alone, each takes some seconds."""


def test_no_release_is_broken() -> None:
    report = attack(seed=20, seconds=SECONDS, releases=12)
    assert report.broken == []
    assert report.releases == 12
    assert len(report.methods) == 5


def test_the_least_is_chosen_and_tells_more_than_the_classes() -> None:
    report = measure(seed=20, seconds=SECONDS, releases=10)
    assert report.broken == []
    assert 0 < report.more < report.releases


def test_the_endpoint_answers_as_duckdb_does() -> None:
    report = compare(seed=20, seconds=SECONDS, statements=1_000)
    assert report.broken == []
    assert report.answered > 100


def test_no_half_sent_call_holds_the_server_up() -> None:
    report = press(seed=20, seconds=SECONDS, calls=400)
    assert report.broken == []
    assert report.calls == 400


def test_no_kill_loses_anything() -> None:
    report = crash(seed=20, seconds=SECONDS, kills=1)
    assert report.broken == []
    assert report.endings["kill"] == 1


def test_releases_judged_together_single_nobody_out() -> None:
    report = judge(seed=20, seconds=SECONDS, sequences=1)
    assert report.broken == []
    assert report.modes["REQUIRE"].singled_out == 0 < report.modes["by reason"].singled_out
