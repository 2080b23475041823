"""The account of a release, line by line."""

import io
import math

import duckdb
from google.protobuf.field_mask_pb2 import FieldMask
from rich.console import Console

from tableveil.cli.account import account, query_lines
from tableveil.cli.guarantees import guarantees
from tableveil.v1 import faults_pb2, policy_pb2, release_service_pb2
from tests.service.client import samples

EXPECTED = """\
releases/3  main.discharges → main.released

Warnings
  should be looked at: county follows from zip_code.

Result
  privacy     5-anonymity
  score       0.2134 (loss, geometric mean)
  records     100,000, of which 96,321 released
  suppressed  3,679 (3.68 %); the policy allows 5 %
  classes     5,432
  not stated  purpose, recipient, legal basis, highest risk that is accepted

Attributes
  quasi-identifier  level                       loss  distinct values  hierarchy
  age               2 of 5                   12.34 %         106 → 12
  sex               0 of 1, not generalized   3.68 %            3 → 3
  zip_code          5 of 5, nothing left       100 %        2,345 → 1  zip@2

Risk of being re-identified
                                         before             after
  highest                                 100 %              20 %
  average                               61.23 %            5.64 %
  lowest                                    2 %            0.08 %
  unique records                  41,000 (41 %)           0 (0 %)
  records with more than 5 %      99,000 (99 %)  12,345 (12.82 %)
  records with more than 20 %  80,123 (80.12 %)           0 (0 %)

Proof
  verdict          optimal: nothing that meets the policy scores better
  strategy         exact: 5,184 transformations
  transformations  5,184
  checked          367
  excluded         817: they cannot score better
  excluded         4,000: they would suppress too many records
  counted          all 12,345 combinations in numpy
  best found       after 0.012 s of 0.042 s

Written
  object                               size  holds
  main.released                 96,321 rows  the anonymized rows
  main.released_classes          5,432 rows  the classes, their sizes and risks
  main.released_risk                 9 rows  risks of the released rows
  main.released_risk_histogram        1 row  classes by size

Query it
  In the database, which only the server may open while it runs:
    SELECT * FROM "main"."released" LIMIT 10;
    SELECT * FROM "main"."released_classes";
    SELECT * FROM "main"."released_risk";
    SELECT * FROM "main"."released_risk_histogram";
  Or from a fresh file that may be given away:
    tableveil export releases/3 --output release-3.duckdb

Time
  1 min 17 s: reading 1.2 s, counting 0.310 s, searching 0.042 s, writing 1 min 15 s, verifying
  0.500 s
"""


def shown(release: release_service_pb2.Release, *, everything: bool = True, width: int = 100) -> str:
    """The account as a file would hold it."""
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    console.print(account(release, everything=everything))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def test_the_whole_account() -> None:
    assert shown(samples.release()) == EXPECTED


def test_two_screens_have_what_is_needed_first() -> None:
    release = samples.release()
    del release.warnings[:]
    for number in range(7):
        release.warnings.append(f"Number {number}.")
        release.warning_ranks.append(faults_pb2.WarningRank.ValueType(min(3, number + 1)))
    lines = shown(release, everything=False, width=80).splitlines()
    assert len(lines) <= 100
    first = lines.index("Warnings") + 1
    assert lines[first : first + 3] == [
        "  must be decided: Number 0.",
        "  should be looked at: Number 1.",
        "  note: Number 2.",
    ]
    assert "  2 more, none more severe: tableveil show releases/3 --all" in lines
    assert "  tableveil show releases/3 --all" in lines
    text = "\n".join(lines)
    assert "lowest" not in text
    assert "optimal: nothing that meets the policy scores better" in text
    assert "Number 6." in shown(release)


def test_local_recoding_says_what_its_detail_costs() -> None:
    release = samples.release()
    assert "Local recoding keeps more detail" not in shown(release, everything=False)
    release.policy.local_recoding.SetInParent()
    assert "the average risk (5.64 %) comes near the highest (20 %)" in " ".join(shown(release).split())


def test_what_the_publisher_is_paid() -> None:
    release = samples.release()
    release.policy.quality_model.publisher_payout.success = policy_pb2.SUCCESS_JOURNALIST
    release.policy.game.publisher_benefit = "1200.50"
    release.quality_model, release.score = "publisher payout, journalist", 30_012_500.0
    lines = [line.strip() for line in shown(release).splitlines()]
    first = next(i for i, line in enumerate(lines) if line.startswith("score"))
    assert lines[first : first + 2] == [
        "score       30012500.0000 (publisher payout, journalist)",
        "payout      90,037,500.00 of at most 120,050,000.00 (75 %); the score is what is missing",
    ]
    release.records, release.score = 0, 0.0
    assert "payout      0.00 of at most 0.00 (0 %)" in shown(release)


def test_every_privacy_model_is_named() -> None:
    release = samples.release()
    models = release.policy.privacy_models
    models.add().t_closeness.CopyFrom(
        policy_pb2.TCloseness(column="charge\x1b", t="0.2", distance=policy_pb2.DISTANCE_ORDERED)
    )
    models.add().estimated_k_map.k = 3
    models.add()
    lines = shown(release).splitlines()
    first = next(i for i, line in enumerate(lines) if "privacy " in line)
    assert [line.strip() for line in lines[first : first + 3]] == [
        r"privacy     5-anonymity; 0.2-closeness (ordered) of charge\x1b; 3-map estimated (poisson,",
        "significance 0.05); a model that only newer versions know",
        "score       0.2134 (loss, geometric mean)",
    ]


def test_guarantees_are_shown_before_and_after() -> None:
    release = samples.release()
    release.policy.privacy_models.add().t_closeness.column = "charge\x1b"
    release.policy.privacy_models.add().t_closeness.column = "diagnosis"
    add = release.guarantees.add
    add(model="k_anonymity", parameter="k", before=1, after=12_345)
    add(model="t_closeness (ordered)", column="charge\x1b", parameter="t", before=0.75, after=0.12345678)
    add(model="delta_disclosure", column="charge", parameter="delta", before=math.inf)
    lines = [line.rstrip() for line in shown(release).splitlines()]
    first = lines.index("Privacy that is reached")
    assert lines[first + 1 : first + 6] == [
        "  model                  of          parameter  before   after",
        "  k anonymity                        k               1  12,345",
        r"  t closeness (ordered)  charge\x1b  t          0.7500  0.1235",
        "  1 more that the policy does not ask for: tableveil show releases/3 --privacy",
        "",
    ]
    console = Console(file=io.StringIO(), width=100)
    console.print(guarantees(release))
    assert isinstance(console.file, io.StringIO)
    assert [line.rstrip() for line in console.file.getvalue().splitlines()] == [
        "model                  of          parameter         before   after",
        "k anonymity                        k                      1  12,345",
        r"t closeness (ordered)  charge\x1b  t                 0.7500  0.1235",
        "delta disclosure       charge      delta      without bound",
    ]


def test_payouts_are_shown_if_there_is_a_game() -> None:
    release = samples.release()
    release.guarantees.add(
        model="publisher_payout (prosecutor)", parameter="payout", before=-1200, after=3_563_476.24018
    )
    assert "publisher payout" not in shown(release)
    release.policy.game.publisher_benefit = "1200"
    shown_lines = [line.split() for line in shown(release).splitlines() if "publisher payout" in line]
    assert shown_lines == [["publisher", "payout", "(prosecutor)", "payout", "-1,200", "3,563,476.24"]]


def test_a_gap_is_told() -> None:
    release = samples.release()
    release.proof.optimal = False
    release.proof.lower_bound = 0.19204
    release.proof.gap = 0.02134
    text = " ".join(shown(release).split())
    assert "stopped before the proof was complete: nothing scores below 0.1920, which is 10 % less" in text


def test_a_reason_this_version_does_not_know() -> None:
    release = samples.release()
    release.proof.pruned["dominated\x1b"] = "1" + "0" * 20
    assert r"1.0e+20: dominated\x1b" in shown(release)


def test_a_transformation_that_was_given() -> None:
    release = samples.release()
    release.proof.lattice_size = "1"
    assert "the only transformation that the policy allows" in shown(release)


def test_counts_for_bounds_are_told_from_checks() -> None:
    release = samples.release()
    release.proof.times_counted = 1_367
    assert "367, and 1,000 counted for bounds" in shown(release)


def test_parts_of_the_score_are_shown_where_they_are_not_the_losses() -> None:
    release = samples.release()
    for result in release.attributes:
        result.part = result.loss
    assert shown(release) == EXPECTED
    release.attributes[0].part = 12.345678
    lines = [line.split() for line in shown(release).splitlines()]
    assert ["quasi-identifier", "level", "loss", "part", "of", "score", "distinct", "values", "hierarchy"] in lines
    assert ["age", "2", "of", "5", "12.34", "%", "12.3457", "106", "→", "12"] in lines


def test_a_replaced_release_says_so() -> None:
    release = samples.release()
    release.current = False
    text = shown(release)
    assert "(replaced by a later release)" in text.splitlines()[0]
    # Another release has its name by now.
    assert "Query it" not in text


def test_a_withdrawn_release_says_so() -> None:
    release = samples.release()
    release.current = False
    release.state = release_service_pb2.RELEASE_STATE_WITHDRAWN
    release.withdraw_reason = "wrong k"
    release.withdraw_time.FromSeconds(60)
    lines = shown(release).splitlines()
    assert lines[0].rstrip().endswith("(withdrawn 1970-01-01 00:01:00Z: wrong k)")
    assert "Was written" in lines
    assert "Query it" not in lines


def test_what_the_service_may_leave_out_is_no_error() -> None:
    assert "releases/9" in shown(release_service_pb2.Release(name="releases/9"))


def test_names_cannot_harm_the_terminal() -> None:
    release = samples.release(target="a\x1b[2J\nb[bold]c")
    release.attributes[0].column = "\x1b[31m[red]"
    text = shown(release)
    assert "\x1b" not in text
    assert r"main.a\x1b[2J\nb[bold]c" in text
    assert r"\x1b[31m[red]" in text
    # A statement cannot be shown in a form that is both harmless and right.
    assert "SELECT" not in text


def test_statements_work_for_any_name() -> None:
    target = 'x"; DROP TABLE y; -- select'
    with duckdb.connect() as connection:
        connection.execute('CREATE SCHEMA "a""b"')
        for suffix in ("", "_classes", "_risk", "_risk_histogram"):
            quoted = f"{target}{suffix}".replace('"', '""')
            connection.execute(f'CREATE TABLE "a""b"."{quoted}" AS SELECT \'{suffix}\'')
        release = samples.release(target=target)
        release.target.schema = 'a"b'
        found = [connection.execute(line).fetchall() for line in query_lines(release)]
    assert found == [[("",)], [("_classes",)], [("_risk",)], [("_risk_histogram",)]]


def test_records_at_levels_of_their_own() -> None:
    release = samples.release()
    age = release.attributes[0]
    for level, records in ((0, 90_000), (2, 6_321)):
        age.levels.add(level=level, records=records)
    release.policy.record_level.adversary_knows_method = True
    release.proof.optimal = False
    release.proof.lower_bound, release.proof.gap = 0.2, 0.0134
    lines = [line.strip() for line in shown(release).splitlines()]
    assert any(line.startswith("age               0 to 2 of 5  ") for line in lines)
    first = lines.index("Levels of the released records")
    assert lines[first + 1].split() == ["quasi-identifier", *"012345"]
    assert lines[first + 2].split() == ["age", "90,000", "(93.44", "%)", "6,321", "(6.56", "%)"]
    [verdict] = [line for line in lines if line.startswith("verdict")]
    assert "not proven to be the best against an adversary who knows the method" in verdict


def test_clusters_are_told_in_place_of_a_transformation() -> None:
    release = samples.release()
    release.policy.microaggregation.SetInParent()
    release.proof.ClearField("lattice_size")
    age = release.attributes[0]
    age.level, age.top_level, age.aggregation = 0, 0, "mean, up to 90"
    text = shown(release)
    assert "age               mean, up to 90  " in text
    assert "optimal: no clusters that are large enough have a lower squared error" in text
    proof = [line.split()[0] for line in text.partition("Proof\n")[2].partition("\n\n")[0].splitlines()]
    assert proof[0] == "verdict"
    assert not {"transformations", "checked"}.intersection(proof)
    release.proof.optimal = False
    assert "not proven to be the best: no bound is known" in shown(release)


def test_a_query_is_told_by_the_tables_that_it_read() -> None:
    release = samples.release()
    release.source.CopyFrom(policy_pb2.TableReference(catalog="hospital"))
    for name in ("visits", "wards"):
        release.source_tables.add(catalog="hospital", schema="main", table=name)
    lines = [line.strip() for line in shown(release).splitlines()]
    assert lines[0] == "releases/3  a query → main.released"
    assert "read        hospital.main.visits, hospital.main.wards" in lines


def test_an_analyst_sees_no_figures_that_are_not_there() -> None:
    whole, seen = samples.release(), release_service_pb2.Release()
    FieldMask(paths=["name", "target", "objects", "suppressed_records", "current", "state"]).MergeMessage(whole, seen)
    text = shown(seen)
    assert text.splitlines()[0].strip() == "releases/3  main.released"
    assert [line.strip() for line in text.splitlines() if "suppressed" in line] == ["suppressed  3,679"]
    assert "Query it" in text
    assert not any(word in text for word in ("score", "Proof", "Risk", "Attributes", "0.000 s"))


def test_tables_of_a_warehouse_are_read_there() -> None:
    release = samples.release()
    release.target.schema, release.warehouse = "lake.clinic", "lake"
    assert query_lines(release)[0] == f"SELECT * FROM clinic.{release.objects[0].name} LIMIT 10;"
    text = shown(release)
    assert "In Spark, by any of its clients (lake):" in text
    assert "tableveil export" not in text
