"""Messages that several tests look at."""

from tableveil.convert.copied import duration
from tableveil.v1 import faults_pb2, job_service_pb2, policy_pb2, release_service_pb2


def policy() -> policy_pb2.Policy:
    """A policy that nothing is wrong with."""
    return policy_pb2.Policy(
        source=policy_pb2.TableReference(table="discharges"),
        rows_are_people=True,
        attributes=[
            policy_pb2.Attribute(
                column="sex",
                role=policy_pb2.ROLE_QUASI_IDENTIFIER,
                hierarchy=policy_pb2.Hierarchy(suppression_only=policy_pb2.SuppressionOnly()),
            ),
            policy_pb2.Attribute(column="diagnosis", role=policy_pb2.ROLE_SENSITIVE),
        ],
        privacy_models=[policy_pb2.PrivacyModel(k_anonymity=policy_pb2.KAnonymity(k=5))],
        suppression_limit="0.05",
        quality_model=policy_pb2.QualityModel(loss=policy_pb2.Loss()),
        release=policy_pb2.ReleaseTarget(name="released"),
    )


def playing() -> policy_pb2.Policy:
    """A policy with a game, as payout sweeps need one."""
    message = policy()
    message.privacy_models[0].profitability.success = policy_pb2.SUCCESS_JOURNALIST
    message.game.publisher_benefit, message.game.adversary_cost = "1200", "4"
    return message


def csv_policy(path: str, **options: str) -> policy_pb2.Policy:
    """A policy with a hierarchy in a file."""
    changed = policy()
    changed.attributes[0].hierarchy.csv.CopyFrom(policy_pb2.CsvHierarchy(path=path, **options))
    return changed


def failure(kind: faults_pb2.FailureKind.ValueType, code: str, *fields: str) -> faults_pb2.Failure:
    """A failure with a fault per field."""
    faults = [faults_pb2.Fault(field=field, found="this", expected="that", hint="Do so.") for field in fields]
    return faults_pb2.Failure(kind=kind, code=code, message="something is wrong", faults=faults)


def infeasible(*changes: tuple[str, str]) -> faults_pb2.Failure:
    """A failure with one relaxation, of these fields and values, found so far."""
    found = failure(faults_pb2.FAILURE_KIND_INFEASIBLE, "INFEASIBLE", "privacy_models[0]")
    together = [faults_pb2.Change(field=field, value=value) for field, value in changes]
    found.relaxations.append(faults_pb2.Relaxation(changes=together))
    return found


def searching(name: str, checked: int, best: float | None = None, bound: float | None = None) -> job_service_pb2.Job:
    """A job in the middle of its search."""
    progress = job_service_pb2.SearchProgress(
        transformations_checked=checked,
        lattice_size="5184",
        best_score=best,
        lower_bound=bound,
        suppressed_share=None if best is None else 0.0123,
    )
    return job_service_pb2.Job(
        name=name, state=job_service_pb2.JOB_STATE_RUNNING, phase=job_service_pb2.JOB_PHASE_SEARCHING, progress=progress
    )


def succeeded(name: str, release: str) -> job_service_pb2.Job:
    """A job that ended well."""
    return job_service_pb2.Job(name=name, state=job_service_pb2.JOB_STATE_SUCCEEDED, kind="releases", result=release)


def failed(name: str, why: faults_pb2.Failure) -> job_service_pb2.Job:
    """A job that did not."""
    return job_service_pb2.Job(name=name, state=job_service_pb2.JOB_STATE_FAILED, failure=why)


def release(name: str = "releases/3", target: str = "released") -> release_service_pb2.Release:
    """A release as the service describes it."""
    message = release_service_pb2.Release(
        name=name,
        job="jobs/7",
        source=policy_pb2.TableReference(schema="main", table="discharges"),
        target=policy_pb2.ReleaseTarget(schema="main", name=target, kind=policy_pb2.RELEASE_KIND_TABLE),
        records=100_000,
        suppressed_records=3_679,
        classes=5_432,
        score=0.21338,
        quality_model="loss, geometric mean",
        warnings=["county follows from zip_code."],
        policy=policy(),
        phase_durations={
            phase: duration(seconds)
            for phase, seconds in (
                ("searching", 0.0421),
                ("reading", 1.25),
                ("verifying", 0.5),
                ("counting", 0.31),
                ("writing", 75.2),
            )
        },
        duration=duration(77.3),
        current=True,
        state=release_service_pb2.RELEASE_STATE_APPROVED,
    )
    message.create_time.FromSeconds(1_700_000_000)
    kinds = release_service_pb2.ReleaseObjectKind.DESCRIPTOR.values[1:5]
    for suffix, kind, rows in zip(
        ("", "_classes", "_risk", "_risk_histogram"), kinds, (96_321, 5_432, 9, 1), strict=True
    ):
        message.objects.add(name=f"{target}{suffix}", kind=kind.number, rows=rows)
    message.attributes.add(column="age", level=2, top_level=5, loss=0.1234, distinct_before=106, distinct_after=12)
    message.attributes.add(column="sex", level=0, top_level=1, loss=0.03679, distinct_before=3, distinct_after=3)
    message.attributes.add(
        column="zip_code", level=5, top_level=5, loss=1.0, distinct_before=2_345, distinct_after=1, hierarchy="zip@2"
    )
    message.proof.CopyFrom(
        release_service_pb2.Proof(
            optimal=True,
            lower_bound=0.21338,
            lattice_size="5184",
            transformations_checked=367,
            pruned={"suppression": "4000", "quality": "817"},
            runners_up=[
                release_service_pb2.RunnerUp(levels=[3, 0, 5], score=0.2234, suppressed_records=1_234),
                release_service_pb2.RunnerUp(levels=[2, 1, 4], score=0.3, suppressed_records=0),
            ],
            counter="duckdb",
            strategy="exact: 5,184 transformations",
            times_counted=367,
            counting="all 12,345 combinations in numpy",
            best_after=duration(0.012),
            duration=duration(0.0421),
        )
    )
    message.explanation.CopyFrom(
        release_service_pb2.Explanation(
            itself=_neighbour((), 0, None, (9_000, 3_568), 3_679, 0.21338),
            neighbours=[
                _neighbour(("age",), -1, 1, (20_000, 15_000), 12_345, None),
                _neighbour(("zip_code",), -1, 4, (15_000, 9_000), 4_900, 0.25),
                _neighbour(("age",), 1, 3, (4_000, 100), 1_234, 0.2234),
                _neighbour(("sex",), 1, 1, (5_000, 1_000), 2_000, 0.21338),
            ],
            complete=True,
        )
    )
    message.risk_before.CopyFrom(
        _risk(100_000, 61_234, 1.0, 0.61234, 0.02, 41_000, (("0.05", 99_000), ("0.2", 80_123)))
    )
    message.risk_after.CopyFrom(_risk(96_321, 5_432, 0.2, 0.0564, 0.0008, 0, (("0.05", 12_345), ("0.2", 0))))
    message.risk_by_size.CopyFrom(message.risk_after)
    return message


def _neighbour(
    columns: tuple[str, ...], step: int, level: int | None, classes: tuple[int, int], gone: int, score: float | None
) -> release_service_pb2.Neighbour:
    """A transformation with so many classes, of which so many are rejected; 5,000 records may be suppressed."""
    over = max(0, gone - 5_000)
    return release_service_pb2.Neighbour(
        columns=columns,
        step=step,
        level=level,
        classes=classes[0],
        rejected_classes=classes[1],
        suppressed_records=gone,
        records_over_limit=over,
        score=score,
        rejections=[
            release_service_pb2.Rejection(
                privacy_model="5-anonymity",
                classes=classes[1],
                records=gone,
                only_classes=classes[1],
                only_records=gone,
                binds=over > 0,
            )
        ],
    )


def _risk(
    records: int,
    classes: int,
    highest: float,
    average: float,
    lowest: float,
    unique: int,
    at_risk: tuple[tuple[str, int], ...],
) -> release_service_pb2.Risk:
    return release_service_pb2.Risk(
        records=records,
        classes=classes,
        highest=highest,
        average=average,
        lowest=lowest,
        unique_records=unique,
        records_at_risk=[release_service_pb2.RecordsAtRisk(threshold=t, records=r) for t, r in at_risk],
    )
