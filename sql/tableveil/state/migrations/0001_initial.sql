-- The first state: secret key, hierarchies, jobs with their events and outcomes, releases with the owner's evidence.

CREATE TABLE tableveil.secrets (
    name VARCHAR PRIMARY KEY,
    value BLOB NOT NULL
);

-- Each version's rows are in the table tableveil.hierarchy_<number> with columns l0, l1, … (VARCHAR).
CREATE TABLE tableveil.hierarchies (
    number BIGINT PRIMARY KEY,
    name VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    levels INTEGER NOT NULL,
    row_count BIGINT NOT NULL,
    digest VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    UNIQUE (name, version)
);
CREATE SEQUENCE tableveil.hierarchy_numbers;

-- What was asked. Never updated: what happens to a job is appended to job_events and job_outcomes. A request id names
-- the latest of its jobs; only one that was interrupted can be followed by another.
CREATE TABLE tableveil.jobs (
    number BIGINT PRIMARY KEY,
    request_id VARCHAR,
    policy VARCHAR NOT NULL,
    policy_digest VARCHAR NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    target_schema VARCHAR NOT NULL,
    target_name VARCHAR NOT NULL,
    submitted_at TIMESTAMP NOT NULL
);
CREATE SEQUENCE tableveil.job_numbers;

CREATE TABLE tableveil.job_events (
    job BIGINT NOT NULL,
    happened_at TIMESTAMP NOT NULL,
    phase VARCHAR NOT NULL,
    checked BIGINT,
    lattice_size VARCHAR,
    best_score DOUBLE,
    lower_bound DOUBLE,
    suppressed_share DOUBLE
);

-- One row per ended job; a succeeded one's is inserted in the transaction that writes its release.
CREATE TABLE tableveil.job_outcomes (
    job BIGINT PRIMARY KEY,
    state VARCHAR NOT NULL,
    happened_at TIMESTAMP NOT NULL,
    release BIGINT,
    failure VARCHAR,
    warnings VARCHAR[] NOT NULL
);

-- The ledger of releases, with the owner's evidence. Never updated.
CREATE TABLE tableveil.releases (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    source_fingerprint VARCHAR NOT NULL,
    target_schema VARCHAR NOT NULL,
    target_name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    repeat_reason VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    suppressed_records BIGINT NOT NULL,
    classes BIGINT NOT NULL,
    score DOUBLE NOT NULL,
    optimal BOOLEAN NOT NULL,
    lower_bound DOUBLE NOT NULL,
    lattice_size VARCHAR NOT NULL,
    checked BIGINT NOT NULL,
    pruned MAP(VARCHAR, VARCHAR) NOT NULL,
    counter VARCHAR NOT NULL,
    search_seconds DOUBLE NOT NULL,
    seconds DOUBLE NOT NULL,
    phase_seconds MAP(VARCHAR, DOUBLE) NOT NULL,
    versions MAP(VARCHAR, VARCHAR) NOT NULL,
    warnings VARCHAR[] NOT NULL,
    policy VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.release_numbers;

CREATE TABLE tableveil.release_objects (
    release BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    row_count BIGINT NOT NULL
);

CREATE TABLE tableveil.release_attributes (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    level INTEGER NOT NULL,
    top_level INTEGER NOT NULL,
    loss DOUBLE NOT NULL,
    distinct_before BIGINT NOT NULL,
    distinct_after BIGINT NOT NULL,
    hierarchy VARCHAR NOT NULL
);

CREATE TABLE tableveil.release_runners_up (
    release BIGINT NOT NULL,
    rank INTEGER NOT NULL,
    levels INTEGER[] NOT NULL,
    score DOUBLE NOT NULL,
    suppressed_records BIGINT NOT NULL
);

-- Prosecutor risk of the source ('before') and of the released records ('after').
CREATE TABLE tableveil.release_risks (
    release BIGINT NOT NULL,
    stage VARCHAR NOT NULL,
    measure VARCHAR NOT NULL,
    threshold VARCHAR,
    value DOUBLE NOT NULL
);

CREATE TABLE tableveil.release_risk_histograms (
    release BIGINT NOT NULL,
    stage VARCHAR NOT NULL,
    class_size BIGINT NOT NULL,
    classes BIGINT NOT NULL
);
