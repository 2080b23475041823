-- Frontiers: the optimum for each of several k and suppression limits. A frontier is computed by a job that has no
-- target; its job's request has what was asked for, which is NULL for jobs that write a release.

ALTER TABLE tableveil.jobs ADD COLUMN frontier_k INTEGER[];
ALTER TABLE tableveil.jobs ADD COLUMN frontier_limits VARCHAR[];
ALTER TABLE tableveil.job_outcomes ADD COLUMN frontier BIGINT;

CREATE TABLE tableveil.frontiers (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    source_fingerprint VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    quasi_identifiers VARCHAR[] NOT NULL,
    lattice_size VARCHAR NOT NULL,
    checked BIGINT NOT NULL,
    counter VARCHAR NOT NULL,
    search_seconds DOUBLE NOT NULL,
    seconds DOUBLE NOT NULL,
    policy VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.frontier_numbers;

-- One row per k and limit. Without a score, nothing is valid if optimal, else nothing valid was found in time.
CREATE TABLE tableveil.frontier_points (
    frontier BIGINT NOT NULL,
    k INTEGER NOT NULL,
    suppression_limit VARCHAR NOT NULL,
    score DOUBLE,
    suppressed_records BIGINT,
    classes BIGINT,
    levels INTEGER[],
    optimal BOOLEAN NOT NULL,
    lower_bound DOUBLE,
    PRIMARY KEY (frontier, k, suppression_limit)
);
