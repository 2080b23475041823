"""Why a release has its levels, line by line."""

import io

from rich.console import Console

from tableveil.cli.explanation import explanation
from tableveil.v1 import release_service_pb2
from tests.service.client import samples

EXPECTED = """\
Why this transformation
  binding      5-anonymity
  5-anonymity  rejects 3,568 of 9,000 classes here, with 3,679 records

  one level less or more  suppressed  rejected classes  outcome
  age 2 → 1                   12,345  15,000 of 20,000  not valid: 7,345 records over the limit
  zip_code 5 → 4               4,900   9,000 of 15,000  scores 0.2500, 0.0366 more
  age 2 → 3                    1,234      100 of 4,000  scores 0.2234, 0.0100 more
  sex 0 → 1                    2,000    1,000 of 5,000  scores 0.2134, the same

Next best that were checked
  levels that differ         suppressed  score
  age 2 → 3                       1,234  0.2234, 0.0100 more
  sex 0 → 1, zip_code 5 → 4           0  0.3000, 0.0866 more
"""


def shown(release: release_service_pb2.Release) -> str:
    """The explanation as a file would hold it."""
    file = io.StringIO()
    Console(file=file, width=100, markup=False, highlight=False, emoji=False).print(explanation(release))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def test_the_whole_explanation() -> None:
    assert shown(samples.release()) == EXPECTED


def test_what_binds() -> None:
    release = samples.release()
    below = release.explanation.neighbours
    del below[0]
    assert "binding      nothing: every level less is valid, and scores no better" in shown(release)
    below[0].records_over_limit = 3
    below[0].ClearField("score")
    assert "binding      no privacy model alone: they do together" in shown(release)
    del below[0]
    assert "binding      nothing: the policy allows no level less" in shown(release)


def test_each_of_several_models_is_told() -> None:
    release = samples.release()
    for neighbour in (release.explanation.itself, *release.explanation.neighbours):
        neighbour.rejections.add(privacy_model="3-diversity", classes=7, records=70, only_classes=2, only_records=20)
    text = shown(release)
    assert "binding      5-anonymity\n" in text
    assert "3-diversity  rejects 7 of 9,000 classes here, with 70 records; 20 of them no other model does" in text


def test_linked_columns_move_together() -> None:
    release = samples.release()
    release.explanation.neighbours[0].columns.append("sex")
    assert "age, sex 2 → 1" in shown(release)


def test_a_search_that_was_stopped_may_have_better_neighbours() -> None:
    release = samples.release()
    release.explanation.neighbours[2].score = 0.2
    assert "age 2 → 3                    1,234      100 of 4,000  scores 0.2000, 0.0134 less: the search did" in (
        shown(release)
    )


def test_what_is_missing_is_said() -> None:
    release = samples.release()
    release.explanation.complete = False
    assert "there was no time for the other neighbours" in shown(release)
    release.ClearField("explanation")
    assert "from before they were kept" in shown(release)


def test_names_cannot_harm_the_terminal() -> None:
    release = samples.release()
    release.explanation.neighbours[0].columns[0] = "\x1b[31m[red]"
    release.explanation.itself.rejections[0].privacy_model = "\x1b[2J"
    release.attributes[0].column = "\x1b[31m"
    assert "\x1b" not in shown(release)


def test_clusters_have_none() -> None:
    release = samples.release()
    release.ClearField("explanation")
    release.policy.microaggregation.SetInParent()
    assert "There is none: clusters take its place." in shown(release)


LOCAL = """\
Why this transformation
  There is none: every class has levels of its own.

Largest costs
  quasi-identifier    records labelled        records  share of the loss
  age                                   80,000 (80 %)               75 %
  suppressed records                      5,000 (5 %)               25 %
  age                 *                 10,000 (10 %)               50 %

tableveil show releases/3 --advice tries half of k, and a higher limit.
"""


def test_local_recoding_says_what_costs_most() -> None:
    release = samples.release()
    release.ClearField("explanation")
    release.policy.local_recoding.SetInParent()
    release.records, release.suppressed_records = 105_000, 5_000
    release.costs.add(column="age", records=80_000, share=0.75)
    release.costs.add(records=5_000, share=0.25)
    release.costs.add(column="age", label="*", records=10_000, share=0.5)
    assert shown(release) == LOCAL
    del release.costs[:]
    assert "Largest costs\n  nothing: nothing is lost\n" in shown(release)
