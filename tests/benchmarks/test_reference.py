"""The runner of reference cases: its results, its lists, and its refusals."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.expected import close
from benchmarks.reference import main
from benchmarks.search.in_memory import instances
from tableveil.control import Control
from tableveil.search import exact
from tests.benchmarks.conftest import Runner
from tests.benchmarks.tiny import AGES_GONE, AGES_GROUPED, case, write

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"


@pytest.mark.parametrize("start", [["benchmarks/reference.py"], ["-m", "benchmarks.reference"]])
def test_starts_as_a_file_and_as_a_module(start: list[str], data: Path, write_cases: Callable[..., Path]) -> None:
    command = [sys.executable, *start, "--cases", str(write_cases([case(magic="on")])), "--data", str(data)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "| not there yet: magic on |" in done.stdout


def test_an_optimum_that_is_found_passes(run: Runner) -> None:
    done = run([case("found", AGES_GROUPED)])
    headers, _, row = (line.strip("| ").split(" | ") for line in done.output.splitlines())
    found = dict(zip(headers, row, strict=True))
    assert found["case"] == "found"
    assert found["expected"] == found["found"] == "0.4666666667"
    assert (found["suppressed"], found["classes"], found["reference"]) == ("4", "2", "6")
    assert 1 <= int(found["checks"]) <= 6
    assert 0 <= float(found["search s"]) < float(found["job s"])
    assert found["result"] == "pass"
    assert done.code == 0


def test_every_aggregate_has_its_optimum(run: Runner) -> None:
    losses = [0.6, 1 / 3]
    optima: dict[str, dict[str, Any]] = {
        "gm": AGES_GONE,
        "am": {**AGES_GROUPED, "score_per_attribute": losses, "same_score_nodes_checked": 1},
        "sum": {**AGES_GROUPED, "score": sum(losses)},
        "max": {**AGES_GROUPED, "score": max(losses)},
        "rank": {**AGES_GROUPED, "score": 0.0, "score_per_attribute": losses},
    }
    done = run([case(metric, optimum, metric=f"loss:{metric}:0.5") for metric, optimum in optima.items()], "--json")
    assert [(result["id"], result["differences"]) for result in done.results] == [(metric, []) for metric in optima]
    assert done.code == 0


@pytest.mark.parametrize(
    ("expected", "difference"),
    [
        ({**AGES_GROUPED, "score": 0.46}, "score 0.46666666666666"),
        ({**AGES_GROUPED, "suppressed": 3}, "4 suppressed records instead of 3"),
        ({**AGES_GROUPED, "classes": 3}, "2 classes instead of 3"),
        ({**AGES_GROUPED, "score_per_attribute": [0.5, 1 / 3]}, "of age instead of 0.5"),
        ({**AGES_GROUPED, "score_per_attribute": [0.6]}, "2 parts instead of 1"),
        (
            {**AGES_GROUPED, "transformation": {"age": 2, "city": 0}, "same_score_nodes_checked": 1},
            "transformation: age at 1 instead of 2",
        ),
        ({"score": None}, "where nothing should be feasible"),
    ],
)
def test_anything_else_is_a_miss(run: Runner, expected: dict[str, Any], difference: str) -> None:
    done = run([case(expected=expected), case("good", AGES_GROUPED)], "--json")
    miss, good = done.results
    assert (miss["result"], good["result"]) == ("MISS", "pass")
    assert len(miss["differences"]) == 1
    assert difference in miss["differences"][0]
    assert done.code == 1


def test_what_a_heuristic_found_in_its_time_is_to_be_beaten(run: Runner) -> None:
    heuristic = {**AGES_GROUPED, "transformation": {"age": 2, "city": 0}, "same_score_nodes_checked": 1}
    worse, better = ({**heuristic, "score": score} for score in (0.5, 0.4))
    done = run([case("beaten", worse, time="5", algo="GREEDY"), case("better", better, time="5")], "--json")
    assert [result["result"] for result in done.results] == ["pass", "MISS"]


def test_the_table_says_what_was_missed(run: Runner) -> None:
    done = run([case(expected={**AGES_GROUPED, "classes": 3})])
    assert done.output.splitlines()[-1].endswith("| MISS: 2 classes instead of 3 |")
    assert done.code == 1


def test_other_transformations_pass_with_the_same_score(run: Runner) -> None:
    elsewhere = {**AGES_GROUPED, "transformation": {"age": 0, "city": 1}, "suppressed": 1, "classes": 9}
    assert run([case(expected=elsewhere)]).code == 0


def test_infeasible_is_found_where_it_is_expected(run: Runner) -> None:
    expected = {"score": None, "transformation": None}
    assert run([case(expected=expected, priv="k:13")]).code == 0
    done = run([case(expected=AGES_GROUPED, priv="k:13")])
    assert "TOO_FEW_RECORDS" in done.output
    assert done.code == 1


def test_the_reference_calls_records_suppressed_at_the_top(run: Runner) -> None:
    """The reference counts a record whose values are all `*` as suppressed, for any reason."""
    top = {"score": 1.0, "transformation": {"age": 2, "city": 1}, "suppressed": 12, "classes": 0}
    assert run([case(expected=top, priv="k:8", supp="0")]).code == 0


def test_what_is_not_there_yet_is_listed(run: Runner) -> None:
    settings: list[tuple[dict[str, Any], str]] = [
        ({"priv": "k:4;delta:age:1.0"}, "priv delta:age:1.0"),
        ({"metric": "beauty:sum"}, "metric beauty:sum"),
        ({"metric": "loss:median:0.5"}, "metric loss with aggregate median"),
        ({"magic": "on", "priv": "fog:3", "metric": ""}, "magic on, priv fog:3"),
    ]
    cases = [case(str(number), **changed) for number, (changed, _) in enumerate(settings)]
    done = run([*cases, case("good", AGES_GROUPED)], "--json")
    *listed, good = done.results
    assert [(item["result"], item["what"]) for item in listed] == [("not there yet", what) for _, what in settings]
    assert good["result"] == "pass"
    assert done.code == 0
    assert "| not there yet: priv delta:age:1.0 |" in run(cases[:1]).output


def test_sensitive_columns_are_read_by_the_models(run: Runner) -> None:
    """The cities have the ages 1 2 3 3, 04 04 05 05 and 1 2 3 04; of the first codes there are more in all."""
    two_cities = {"score": 1 / 3, "transformation": {"city": 0}, "suppressed": 4, "classes": 2, "class_max": 4}
    together = {"score": 1.0, "transformation": {"city": 1}, "suppressed": 0, "classes": 1}
    models = {
        "distinct-l:age:3": two_cities,
        # By number: as texts 04 and 05 would come first, and the first city would be too far away.
        "t-ordered:age:0.25": two_cities,
        "t-hierarchical:age:0.5": two_cities,
        "distinct-l:age:3;t-equal:age:0.1": together,
    }
    done = run([case(priv, found, qis="city", priv=priv) for priv, found in models.items()], "--json")
    assert [(result["id"], result["differences"]) for result in done.results] == [(priv, []) for priv in models]


def test_a_class_is_told_by_the_quasi_identifiers(run: Runner) -> None:
    """Only the first city's ages have a most frequent one: two of them differ from it; eight have no majority."""
    cities = {"score": 10 / 12, "transformation": {"city": 0}, "suppressed": 0, "classes": 3}
    done = run([case("told", cities, qis="city", metric="classification", **{"class": "age"}, classify="1")], "--json")
    assert [(result["result"], result["differences"]) for result in done.results] == [("pass", [])]


def test_a_sample_is_anonymized_in_its_population(run: Runner) -> None:
    """Every other row: two of the four people of each city."""
    cities = {"score": 0.0, "transformation": {"city": 0}, "suppressed": 0, "classes": 3}
    together = {"score": 1.0, "transformation": {"city": 1}, "suppressed": 0, "classes": 1}
    models = {"k-map:4": cities, "k-map:5": together, "d-presence:0.4:0.6": cities, "inclusion;k:2": cities}
    done = run([case(priv, found, qis="city", priv=priv, subset="mod:2") for priv, found in models.items()], "--json")
    assert [(result["id"], result["differences"]) for result in done.results] == [(priv, []) for priv in models]


def test_what_the_publisher_is_paid_is_compared(run: Runner) -> None:
    """Ages grouped lose log 3 / log 18 of 10 a record; of the classes of 4, 4, 3 and 1 only the last is attacked."""
    lost = 10 * math.log(3) / math.log(18)
    grouped = {"transformation": {"age": 1, "city": 0}, "same_score_nodes_checked": 1}
    all_kept = (12 * lost + 6, {**grouped, "suppressed": 0, "classes": 4})
    unattacked = (11 * lost + 10, {**grouped, "suppressed": 1, "classes": 3})
    cases = [
        case(
            priv,
            {**found, "score": score, "metadata": [f"Publisher payout={120 - score + wrong}"]},
            **PLAYED,
            priv=priv,
        )
        for priv, (score, found), wrong in (
            ("profit-prosecutor", all_kept, 0),
            ("profit-journalist", all_kept, 0),
            ("profit-prosecutor-noattack", unattacked, 0),
            ("profit-prosecutor-noattack", unattacked, 1),
        )
    ]
    done = run(cases, "--json")
    assert [len(result["differences"]) for result in done.results] == [0, 0, 0, 1]
    assert done.results[-1]["differences"][0].startswith("payout 68.")


PLAYED = {"metric": "payout-prosecutor", "cb": "10,6,6,2", "supp": "1"}


def test_samples_are_judged_together(run: Runner) -> None:
    """Twelve records have nine pairs of age and city, and six are alone with theirs."""
    apart = {"score": 0.0, "transformation": {"age": 0, "city": 0}, "suppressed": 0, "classes": 9}
    models = ["avg-risk:0.75", "sample-uniqueness:0.5", "population-uniqueness:0.99"]
    done = run([case(priv, apart, priv=priv, supp="0", population="fraction:0.5") for priv in models], "--json")
    assert [(result["id"], result["differences"]) for result in done.results] == [(priv, []) for priv in models]


@pytest.mark.parametrize(
    ("settings", "results"),
    [
        # The reference may refuse more classes than the full sum does, but none that it does not: our result is not
        # worse.
        ({"priv": "k:2;entropy-l-grassberger:age:3"}, {1 / 3: "pass", 0.5: "differs as named", 0.2: "MISS"}),
        # It may accept classes without anybody of the sample: our result is not better.
        ({"priv": "k:2;d-presence:0.4:0.6", "subset": "mod:2"}, {0.0: "pass", -0.1: "differs as named", 0.1: "MISS"}),
        ({"priv": "k:2;d-presence:0.6:1", "subset": "mod:2"}, {None: "pass", 0.5: "differs as named"}),
        # Without oddities of the models, or with a least share of 0, equal results are expected.
        ({"priv": "k:2;d-presence:0:0.6", "subset": "mod:2"}, {0.0: "pass", -0.1: "MISS"}),
        ({"priv": "d-presence:0.4:0.6", "subset": "mod:2"}, {0.0: "pass", -0.1: "MISS"}),
        ({"priv": "k:2;entropy-l-shannon:age:3"}, {1 / 3: "MISS", 0.5: "MISS"}),
    ],
)
def test_a_difference_is_named_only_where_it_may_be(
    run: Runner, settings: dict[str, str], results: dict[float | None, str]
) -> None:
    done = run([case(expected={"score": score}, qis="city", **settings) for score in results], "--json")
    assert [result["result"] for result in done.results] == list(results.values())


def test_ids_choose_cases(run: Runner) -> None:
    done = run([case("a-1", AGES_GROUPED), case("b-1", {"score": 9})], "--ids", "a-*", "--json")
    assert [result["id"] for result in done.results] == ["a-1"]
    assert done.code == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{no JSON", "line 2: no JSON"),
        ("[]", "line 2: the line is not an object"),
        ('{"id": "x", "case": {}}', "line 2: case.dataset is missing"),
        (json.dumps({"id": 7, "case": case()["case"]}), "line 2: id is not text"),
        (case(), "line 2: expected.score is missing"),
        (case(expected={"score": "low"}), "line 2: expected cannot be understood"),
        (case(expected=AGES_GROUPED, priv="k:four"), "line 2: case.priv cannot be read: k:four"),
        (
            case(expected=AGES_GROUPED, metric="precision:am:1.5"),
            "line 2: case.metric cannot be read: precision:am:1.5",
        ),
        (case(expected=AGES_GROUPED, metric="kl:am"), "line 2: case.metric cannot be read: kl:am"),
        (case(expected=AGES_GROUPED, supp="little"), "line 2: case.supp is no number: little"),
        (case(expected=AGES_GROUPED, metric=""), "line 2: case.metric is missing"),
        (case(expected=AGES_GROUPED, metric="classification"), "line 2: case.class is missing"),
        (case(expected=AGES_GROUPED, dataset="vast"), "dataset 'vast': no "),
        (case(expected=AGES_GROUPED, qis="age,name"), "no column 'name'; it has age, city, note"),
        (case(expected=AGES_GROUPED, qis="age,note"), "attribute 'note' has no hierarchy: no "),
        (case(expected=AGES_GROUPED, priv="k:4;distinct-l:job:2"), "no column 'job'; it has age, city, note"),
        (case(expected=AGES_GROUPED, priv="t-hierarchical:note:0.2"), "attribute 'note' has no hierarchy: no "),
    ],
)
def test_bad_cases_are_refused(run: Runner, line: str | dict[str, Any], message: str) -> None:
    done = run([case("good", AGES_GROUPED), line])
    assert message in done.errors
    assert (done.code, done.output) == (2, "")


def test_no_case_is_refused(run: Runner) -> None:
    done = run([case()], "--ids", "z-*")
    assert "none of its 1 cases has an id that matches 'z-*'" in done.errors
    assert done.code == 2


def test_unreadable_files_are_refused(
    run: Runner, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--cases", str(tmp_path / "none"), "--data", str(data)]) == 2
    assert "cannot be read" in capsys.readouterr().err
    write(data / "tiny" / "data.csv", ["age;city;note", "1;Ulm;x;y"])
    done = run([case(expected=AGES_GROUPED)])
    assert "data.csv" in done.errors
    assert done.code == 2


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the reference results are not in {SHARED}")
@pytest.mark.parametrize("ids", ["a-adult-k5-s0.05-loss-am", "a-mach20196-k5-s0.05-loss-gm"])
def test_the_reference_tools_optima_are_found(ids: str, capsys: pytest.CaptureFixture[str]) -> None:
    cases, data = SHARED / "reference" / "arx.jsonl", SHARED / "data"
    assert main(["--cases", str(cases), "--data", str(data), "--ids", ids, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["differences"] == []
    assert result["checks"] < result["reference_checks"]


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the reference results are not in {SHARED}")
def test_the_reference_tools_optima_of_every_quality_model_are_found() -> None:
    found = instances(SHARED, ["b-adult-k10-*"])
    assert len(found) == 9
    for instance in found:
        outcome = exact(instance.problem(), Control())
        assert outcome.best is not None
        assert close(outcome.best.score, instance.case.expected["score"]), instance.case.id
        assert instance.case.reference_checks is not None
        assert outcome.counted < instance.case.reference_checks, instance.case.id
