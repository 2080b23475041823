"""Databases as earlier versions wrote them: the first scripts applied, and rows of that time."""

from __future__ import annotations

from tableveil.backend import Session
from tableveil.state.migrate import migrations

JOB = """INSERT INTO tableveil.jobs BY NAME SELECT 3 AS number, 'r-3' AS request_id, '{}' AS policy,
    'abc' AS policy_digest, 'db' AS source_catalog, 'main' AS source_schema, 't' AS source_table,
    'main' AS target_schema, 'released' AS target_name, TIMESTAMP '2026-01-01' AS submitted_at"""

RELEASE = """
INSERT INTO tableveil.releases BY NAME SELECT 7 AS number, 3 AS job, TIMESTAMP '2026-01-02' AS created_at,
    'db' AS source_catalog, 'main' AS source_schema, 't' AS source_table, 'abcd' AS source_fingerprint,
    'main' AS target_schema, 'released' AS target_name, 'TABLE' AS kind, '' AS repeat_reason, 100 AS records,
    5 AS suppressed_records, 9 AS classes, 0.5 AS score, true AS optimal, 0.5 AS lower_bound, '12' AS lattice_size,
    8 AS checked, MAP {'loss': '4'} AS pruned, 'numpy' AS counter, 0.25 AS search_seconds, 2.5 AS seconds,
    MAP {'searching': 0.25} AS phase_seconds, MAP {'tableveil': '0.1.0'} AS versions,
    ['careful']::VARCHAR[] AS warnings, '{}' AS policy;
INSERT INTO tableveil.release_objects (release, name, kind, row_count) VALUES (7, 'released', 'ROWS', 95);
INSERT INTO tableveil.release_attributes (release, position, column_name, level, top_level, loss, distinct_before,
    distinct_after, hierarchy) VALUES (7, 0, 'age', 1, 3, 0.5, 80, 8, 'a rule');
INSERT INTO tableveil.release_runners_up VALUES (7, 1, [2], 0.75, 1);
INSERT INTO tableveil.release_risks
    SELECT 7, stage, measure, NULL, 1 FROM (VALUES ('before'), ('after')) AS stages(stage), (VALUES ('records'),
    ('classes'), ('highest_risk'), ('average_risk'), ('lowest_risk'), ('unique_records')) AS measures(measure);
INSERT INTO tableveil.job_events (job, happened_at, phase, checked, lattice_size, best_score, lower_bound,
    suppressed_share) VALUES (3, TIMESTAMP '2026-01-01 00:00:01', 'READING', NULL, NULL, NULL, NULL, NULL),
    (3, TIMESTAMP '2026-01-01 00:00:02', 'SEARCHING', 8, '12', 0.5, 0.5, 0.05);
INSERT INTO tableveil.job_outcomes (job, state, happened_at, release, warnings)
    VALUES (3, 'SUCCEEDED', TIMESTAMP '2026-01-02', 7, ['careful']);
"""
"""Release 7 of job 3, by the columns of the first version, which later ones only added to."""

HIERARCHY = """
INSERT INTO tableveil.hierarchies (number, name, version, levels, row_count, digest, created_at)
    VALUES (1, 'zip', 1, 1, 2, 'd', TIMESTAMP '2026-01-01');
CREATE TABLE tableveil.hierarchy_1 (l0 VARCHAR, l1 VARCHAR);
INSERT INTO tableveil.hierarchy_1 VALUES ('1', '*'), ('2', '*');
"""

UNFINISHED = """INSERT INTO tableveil.jobs BY NAME SELECT 4 AS number, NULL AS request_id, '{}' AS policy,
    'abd' AS policy_digest, 'db' AS source_catalog, 'main' AS source_schema, 't' AS source_table,
    'main' AS target_schema, 'unfinished' AS target_name, TIMESTAMP '2026-01-03' AS submitted_at"""

# The rows that each version left, in the columns that it had.
ADDED = {
    1: f"INSERT INTO tableveil.secrets VALUES ('fingerprint', 'k'::BLOB); {JOB}; {UNFINISHED}; {RELEASE}; {HIERARCHY}",
    3: """
INSERT INTO tableveil.jobs BY NAME SELECT 5 AS number, 'r-5' AS request_id, '{}' AS policy, 'abe' AS policy_digest,
    'db' AS source_catalog, 'main' AS source_schema, 't' AS source_table, '' AS target_schema, '' AS target_name,
    TIMESTAMP '2026-01-04' AS submitted_at, [2, 5] AS frontier_k, ['0', '0.05'] AS frontier_limits;
INSERT INTO tableveil.job_outcomes BY NAME SELECT 5 AS job, 'SUCCEEDED' AS state, TIMESTAMP '2026-01-05' AS happened_at,
    1 AS frontier, []::VARCHAR[] AS warnings;
INSERT INTO tableveil.frontiers BY NAME SELECT 1 AS number, 5 AS job, TIMESTAMP '2026-01-05' AS created_at,
    'db' AS source_catalog, 'main' AS source_schema, 't' AS source_table, 'abcd' AS source_fingerprint, 100 AS records,
    ['age'] AS quasi_identifiers, '4' AS lattice_size, 4 AS checked, 'numpy' AS counter, 0.5 AS search_seconds,
    1.5 AS seconds, '{}' AS policy;
INSERT INTO tableveil.frontier_points VALUES (1, 2, '0', 0.5, 0, 9, [1], true, 0.5), (1, 5, '0.05', 0.75, 2, 7, [2],
    true, 0.75)""",
    6: """
INSERT INTO tableveil.jobs BY NAME SELECT 6 AS number, 'r-6' AS request_id, '{}' AS policy, 'abf' AS policy_digest,
    'db' AS source_catalog, 'main' AS source_schema, 't' AS source_table, '' AS target_schema, '' AS target_name,
    TIMESTAMP '2026-01-06' AS submitted_at, 'PAYOUT_SWEEP' AS kind;
INSERT INTO tableveil.job_outcomes BY NAME SELECT 6 AS job, 'SUCCEEDED' AS state, TIMESTAMP '2026-01-06' AS happened_at,
    1 AS payout_sweep, []::VARCHAR[] AS warnings;
INSERT INTO tableveil.payout_sweeps BY NAME SELECT 1 AS number, 6 AS job, TIMESTAMP '2026-01-06' AS created_at,
    'db' AS source_catalog, 'main' AS source_schema, 't' AS source_table, 'abcd' AS source_fingerprint,
    '' AS population_fingerprint, 100 AS records, NULL AS population_records, ['age'] AS quasi_identifiers,
    5 AS publisher_benefit, 4 AS adversary_cost, 'KEEP' AS break_even, false AS if_method_known, '4' AS lattice_size,
    4 AS counted, 0.5 AS sweep_seconds, 1 AS seconds, '{}' AS policy""",
    7: """
INSERT INTO tableveil.risk_analyses BY NAME SELECT 1 AS number, 8 AS job, TIMESTAMP '2026-01-07' AS created_at,
    'db' AS source_catalog, 'main' AS source_schema, 't' AS source_table, 'abcd' AS source_fingerprint,
    ['age'] AS quasi_identifiers, 100 AS records, 90 AS classes, NULL AS population_size, 1 AS largest_subset,
    false AS has_record_risks, 0.5 AS seconds, []::VARCHAR[] AS warnings, '{}' AS request""",
    8: "INSERT INTO tableveil.release_levels VALUES (7, 'age', 0, 40), (7, 'age', 1, 55)",
    9: """
INSERT INTO tableveil.classifications BY NAME SELECT 1 AS number, 9 AS job, TIMESTAMP '2026-01-08' AS created_at,
    7 AS release, 'db' AS source_catalog, 'main' AS source_schema, 't' AS source_table, 'abcd' AS source_fingerprint,
    100 AS records, 100 AS sampled_records, 5 AS suppressed_records, 10 AS folds, '' AS published, 0.5 AS seconds,
    []::VARCHAR[] AS warnings, '{}' AS request""",
    10: """
INSERT INTO tableveil.utility_reports BY NAME SELECT 1 AS number, 10 AS job, TIMESTAMP '2026-01-09' AS created_at,
    7 AS release, []::VARCHAR[] AS notes, 0.5 AS seconds, '{}' AS request""",
    12: """INSERT INTO tableveil.withdrawals BY NAME SELECT 7 AS release, TIMESTAMP '2026-01-10' AS withdrawn_at,
    'asked to' AS reason, []::VARCHAR[] AS kept_objects""",
    17: "INSERT INTO tableveil.release_column_digests VALUES (7, 'abcdef')",
    18: """INSERT INTO tableveil.release_samples VALUES (7, 0, 'a', 0, 0, 100);
INSERT INTO tableveil.release_sample_values VALUES (7, 0, 72057594037927936, 100)""",
}


def at_version(session: Session, version: int) -> None:
    """Makes the state of a database that every version up to that one has served, each of which left something."""
    session.execute("CREATE SCHEMA tableveil")
    session.execute(
        "CREATE TABLE tableveil.migrations "
        "(number INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)"
    )
    for migration in migrations()[:version]:
        session.execute(migration.text)
        session.execute(
            "INSERT INTO tableveil.migrations VALUES (?, ?, now()::TIMESTAMP)", [migration.number, migration.name]
        )
        for statement in ADDED.get(migration.number, "").split(";"):
            if statement.strip():
                session.execute(statement)
    # As if the numbers had been given by it.
    for sequence, used in (("job", 10), ("release", 7), ("hierarchy", 1)):
        session.rows(f"SELECT nextval('tableveil.{sequence}_numbers') FROM range({used})")
