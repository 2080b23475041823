-- The state of Tableveil: jobs, the ledger of releases with the owner's evidence, what other jobs found, hierarchies, loads.
--
-- Numbers come from a sequence per kind: releases/3 is the row with the number 3 in tableveil.releases. Rows that belong
-- to another one begin with its number, and have a position from 0 on where their order matters.

-- The key of the fingerprints of sources.
CREATE TABLE tableveil.secrets (
    name VARCHAR PRIMARY KEY,
    value BLOB NOT NULL
);

-- Each version's rows are in the table tableveil.hierarchy_<number> with columns l0, l1, … (VARCHAR). The origin says
-- where the rows of a version were first stored from.
CREATE TABLE tableveil.hierarchies (
    number BIGINT PRIMARY KEY,
    name VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    levels INTEGER NOT NULL,
    row_count BIGINT NOT NULL,
    digest VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    origin VARCHAR NOT NULL,
    UNIQUE (name, version)
);
CREATE SEQUENCE tableveil.hierarchy_numbers;

-- The privacy of tables: versions of what their stewards declared, as JSON. The newest counts, for policies that leave it
-- out. The names are in small letters.
CREATE TABLE tableveil.table_privacy (
    table_schema VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    privacy VARCHAR NOT NULL,
    declared_by VARCHAR NOT NULL,
    declared_at TIMESTAMP NOT NULL,
    PRIMARY KEY (table_schema, table_name, version)
);

-- What was loaded into tables: from where, how many rows came, and how many lines were left out. The columns are those of
-- the table after the load, each with its type.
CREATE TABLE tableveil.loads (
    number BIGINT PRIMARY KEY,
    request_id VARCHAR NOT NULL,
    request_digest VARCHAR NOT NULL,
    table_schema VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    mode VARCHAR NOT NULL,
    file VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    row_count BIGINT NOT NULL,
    rejected_lines BIGINT NOT NULL,
    removed_rows BIGINT NOT NULL,
    columns VARCHAR[][] NOT NULL,
    seconds DOUBLE NOT NULL,
    owner VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.load_numbers;

-- Rows that were removed from tables otherwise than by a load, and how. An erasure has a number of persons, the releases
-- that held some of them, and those of the table that had no digests to tell.
CREATE TABLE tableveil.removals (
    number BIGINT PRIMARY KEY,
    kind VARCHAR NOT NULL,
    table_schema VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    happened_at TIMESTAMP NOT NULL,
    row_count BIGINT NOT NULL,
    owner VARCHAR NOT NULL,
    persons BIGINT NOT NULL,
    holding BIGINT[] NOT NULL,
    untold BIGINT[] NOT NULL
);
CREATE SEQUENCE tableveil.removal_numbers;

-- The copy of the audit for queries; the file beside the database is the record. The hash is that of the entry's line.
CREATE TABLE tableveil.audit_entries (
    number BIGINT NOT NULL,
    happened_at TIMESTAMP NOT NULL,
    event VARCHAR NOT NULL,
    principal VARCHAR NOT NULL,
    authenticated_by VARCHAR NOT NULL,
    peer VARCHAR NOT NULL,
    method VARCHAR NOT NULL,
    resources VARCHAR[] NOT NULL,
    decision VARCHAR NOT NULL,
    code VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    job VARCHAR NOT NULL,
    correlation VARCHAR NOT NULL,
    seconds DOUBLE,
    call_count BIGINT,
    remark VARCHAR NOT NULL,
    hash VARCHAR NOT NULL
);

-- Commands that changed this file while no server had it open, until the next start puts them into the audit.
CREATE TABLE tableveil.audit_pending (
    happened_at TIMESTAMP NOT NULL,
    remark VARCHAR NOT NULL
);

-- Tokens by the SHA-256 of their texts, in hexadecimal digits. The roles hold on the whole server. A restored backup has
-- its tokens suspended, because some of them may have been revoked since it was made.
CREATE TABLE tableveil.tokens (
    number BIGINT PRIMARY KEY,
    principal VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    roles VARCHAR[] NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP,
    last_used_at TIMESTAMP,
    revoked_at TIMESTAMP,
    suspended BOOLEAN NOT NULL
);
CREATE SEQUENCE tableveil.token_numbers;


-- Access
-- ------

-- Roles of principals and groups (is_group) on the server, or on a schema, a table or a release if one is named. Those
-- from a file follow the file. Suspended ones count only once an admin has confirmed them.
CREATE TABLE tableveil.grants (
    number BIGINT PRIMARY KEY,
    grantee VARCHAR NOT NULL,
    is_group BOOLEAN NOT NULL,
    role VARCHAR NOT NULL,
    schema_name VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    release BIGINT,
    from_file BOOLEAN NOT NULL,
    granted_by VARCHAR NOT NULL,
    granted_at TIMESTAMP NOT NULL,
    suspended BOOLEAN NOT NULL
);
CREATE SEQUENCE tableveil.grant_numbers;

-- A row for each change of tokens, grants, decisions and withdrawals, and each removal of rows: what an older file would
-- undo. The mark beside the file has their number.
CREATE TABLE tableveil.rights_changes (
    happened_at TIMESTAMP NOT NULL
);

-- Releases of a restored backup, until an admin confirms that they may be read.
CREATE TABLE tableveil.suspended_releases (
    release BIGINT PRIMARY KEY
);


-- Jobs
-- ----

-- What was asked. Rows are never updated: what happens to a job is appended to job_events and job_outcomes. A request id
-- names the latest of its owner's jobs of a kind; only one that did not succeed can be followed by another. The options,
-- as JSON, are what was asked for beside the document. Only a job for a release has a target.
CREATE TABLE tableveil.jobs (
    number BIGINT PRIMARY KEY,
    kind VARCHAR NOT NULL,
    request_id VARCHAR NOT NULL,
    policy VARCHAR NOT NULL,
    policy_digest VARCHAR NOT NULL,
    options VARCHAR NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    target_schema VARCHAR NOT NULL,
    target_name VARCHAR NOT NULL,
    submitted_at TIMESTAMP NOT NULL,
    owner VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.job_numbers;

-- The tables that a job reads: only those who may read all of them see its results.
CREATE TABLE tableveil.job_reads (
    job BIGINT NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL
);

-- Progress counts transformations that were checked, or records that are in a cluster (of_records).
CREATE TABLE tableveil.job_events (
    job BIGINT NOT NULL,
    happened_at TIMESTAMP NOT NULL,
    phase VARCHAR NOT NULL,
    checked BIGINT,
    lattice_size VARCHAR,
    best_score DOUBLE,
    lower_bound DOUBLE,
    suppressed_share DOUBLE,
    of_records BOOLEAN NOT NULL
);

-- One row per ended job. The row of a job that succeeded is inserted in the transaction that writes its result, whose
-- number it has; the job's kind says in which table that is.
CREATE TABLE tableveil.job_outcomes (
    job BIGINT PRIMARY KEY,
    state VARCHAR NOT NULL,
    happened_at TIMESTAMP NOT NULL,
    result BIGINT,
    failure VARCHAR,
    warnings VARCHAR[] NOT NULL
);


-- Releases
-- --------

-- The ledger of releases. Rows are never updated. What only a search knows is NULL if the method searches nothing, and
-- so is explanation_complete without an explanation. A source that is a query has no schema and no table.
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
    -- Empty for the database itself. A schema of a warehouse has its name before it: lake.visits.
    warehouse VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    repeat_reason VARCHAR NOT NULL,
    -- Its objects are private until another person approves it.
    needs_approval BOOLEAN NOT NULL,
    records BIGINT NOT NULL,
    suppressed_records BIGINT NOT NULL,
    classes BIGINT NOT NULL,
    -- How good the release is.
    score DOUBLE NOT NULL,
    quality_model VARCHAR NOT NULL,
    optimal BOOLEAN NOT NULL,
    lower_bound DOUBLE NOT NULL,
    -- How it was chosen.
    strategy VARCHAR NOT NULL,
    search_seconds DOUBLE NOT NULL,
    counter VARCHAR NOT NULL,
    counting VARCHAR NOT NULL,
    lattice_size VARCHAR,
    checked BIGINT,
    counted BIGINT,
    pruned MAP(VARCHAR, VARCHAR),
    best_seconds DOUBLE,
    explanation_complete BOOLEAN,
    -- The job that made it.
    seconds DOUBLE NOT NULL,
    phase_seconds MAP(VARCHAR, DOUBLE) NOT NULL,
    versions MAP(VARCHAR, VARCHAR) NOT NULL,
    warnings VARCHAR[] NOT NULL,
    policy VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.release_numbers;

-- Releases whose objects have not all come to their names in the warehouse yet: the name that theirs begin with, and the
-- names of those that they replace there. The next start of the server completes them.
CREATE TABLE tableveil.release_swaps (
    release BIGINT PRIMARY KEY,
    warehouse VARCHAR NOT NULL,
    staged VARCHAR NOT NULL,
    replaced VARCHAR[] NOT NULL
);

-- The tables that a source reads which is a query.
CREATE TABLE tableveil.release_sources (
    release BIGINT NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL
);

-- The people of a release's source are known again by keyed samples of its columns and rows. The samples of rows have no
-- column_name.
CREATE TABLE tableveil.release_samples (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    scale INTEGER NOT NULL,
    density DOUBLE NOT NULL,
    source_records BIGINT NOT NULL
);

CREATE TABLE tableveil.release_sample_values (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    value UBIGINT NOT NULL,
    records BIGINT NOT NULL
);

-- The people of a release's source by its person column, unless its policy declines: an erasure finds them by it. The
-- class is that of the person's row: -1 if there is no row, 0 if it is shown without labels, NULL if it is not kept.
-- Where the policy names a record_column, the digest is that of a record, beside its person's; else person is NULL.
CREATE TABLE tableveil.release_persons (
    release BIGINT NOT NULL,
    digest UBIGINT NOT NULL,
    class INTEGER,
    person UBIGINT
);

-- The classes of erased people, so that class sizes stay. Members and persons are random numbers, the same in all
-- releases.
CREATE TABLE tableveil.release_erased_persons (
    release BIGINT NOT NULL,
    member UBIGINT NOT NULL,
    class INTEGER,
    person UBIGINT
);

-- The earlier releases that a release was judged together with.
CREATE TABLE tableveil.release_together (
    release BIGINT NOT NULL,
    other BIGINT NOT NULL
);

-- The mark tells whether an object is as it was written.
CREATE TABLE tableveil.release_objects (
    release BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    row_count BIGINT NOT NULL,
    mark VARCHAR NOT NULL
);

-- The objects of a withdrawn release are dropped; its ledger entry stays. Objects that changed since they were written
-- are kept.
CREATE TABLE tableveil.withdrawals (
    release BIGINT PRIMARY KEY,
    withdrawn_at TIMESTAMP NOT NULL,
    reason VARCHAR NOT NULL,
    kept_objects VARCHAR[] NOT NULL
);

-- What another person decided about a release that needs an approval. There is one decision, and it stays.
CREATE TABLE tableveil.decisions (
    release BIGINT PRIMARY KEY,
    approved BOOLEAN NOT NULL,
    decided_by VARCHAR NOT NULL,
    decided_at TIMESTAMP NOT NULL,
    note VARCHAR NOT NULL
);

-- Where releases are published. A row is written anew when its state changes. The problem names columns and types, and
-- holds no value.
CREATE TABLE tableveil.publications (
    release BIGINT NOT NULL,
    target VARCHAR NOT NULL,
    requested_by VARCHAR NOT NULL,
    requested_at TIMESTAMP NOT NULL,
    repeat_reason VARCHAR NOT NULL,
    wanted BOOLEAN NOT NULL,
    state VARCHAR NOT NULL,
    attempts INTEGER NOT NULL,
    code VARCHAR NOT NULL,
    problem VARCHAR NOT NULL,
    published_at TIMESTAMP
);

-- Where the ledger went back in time: releases after a number may have been made that it does not know. A backup says so
-- of itself, and does not know until which number; a start that finds the marker of a newer ledger beside the file does.
CREATE TABLE tableveil.ledger_gaps (
    after_release BIGINT NOT NULL,
    until_release BIGINT,
    noticed_at TIMESTAMP NOT NULL
);

-- The part is what the quality model counted for the quasi-identifier, before its weight; NULL if its score has no such
-- parts. At the record level the levels are pairs: a level, and how many released records have it. The aggregation says
-- what took the place of the values if they were aggregated instead of generalized.
CREATE TABLE tableveil.release_attributes (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    level INTEGER NOT NULL,
    top_level INTEGER NOT NULL,
    loss DOUBLE NOT NULL,
    distinct_before BIGINT NOT NULL,
    distinct_after BIGINT NOT NULL,
    hierarchy VARCHAR NOT NULL,
    part DOUBLE,
    levels BIGINT[][] NOT NULL,
    aggregation VARCHAR NOT NULL
);

CREATE TABLE tableveil.release_runners_up (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    levels INTEGER[] NOT NULL,
    score DOUBLE NOT NULL,
    suppressed_records BIGINT NOT NULL
);

-- Position 0 is the released transformation itself. The others are one level less or more (step) on these columns, which
-- are linked if they are several. The score is NULL where too many records would be suppressed.
CREATE TABLE tableveil.release_explanations (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    columns VARCHAR[] NOT NULL,
    step INTEGER NOT NULL,
    level INTEGER,
    classes BIGINT NOT NULL,
    rejected_classes BIGINT NOT NULL,
    suppressed_records BIGINT NOT NULL,
    records_over_limit BIGINT NOT NULL,
    score DOUBLE
);

-- The shares of the loss of a release with levels per class: of a column; of the records with a label in it, if there is
-- one; or of suppressed records, if the column is empty.
CREATE TABLE tableveil.release_costs (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    label VARCHAR,
    records BIGINT NOT NULL,
    share DOUBLE NOT NULL
);

-- Scores that were reached for another k or another limit.
CREATE TABLE tableveil.release_alternatives (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    k INTEGER,
    suppression_limit VARCHAR NOT NULL,
    score DOUBLE NOT NULL,
    suppressed_records BIGINT NOT NULL
);

-- Classes and records that each privacy model rejects at a position, and those that no other model rejects there. A model
-- binds if the position would be valid without it.
CREATE TABLE tableveil.release_rejections (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    privacy_model VARCHAR NOT NULL,
    classes BIGINT NOT NULL,
    records BIGINT NOT NULL,
    only_classes BIGINT NOT NULL,
    only_records BIGINT NOT NULL,
    binds BOOLEAN NOT NULL
);

-- Per quasi-identifier, the released labels with most suppressed records.
CREATE TABLE tableveil.release_suppressions (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    label VARCHAR,
    records BIGINT NOT NULL,
    suppressed BIGINT NOT NULL
);

-- The checksum of a release's rows, from the first report on: it outlives them.
CREATE TABLE tableveil.row_checksums (
    release BIGINT NOT NULL,
    checksum VARCHAR NOT NULL
);

-- The reports that were made; the subject is a release or a dry run, by its name.
CREATE TABLE tableveil.reports (
    subject VARCHAR NOT NULL,
    audience VARCHAR NOT NULL,
    format VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    made_by VARCHAR NOT NULL,
    made_at TIMESTAMPTZ NOT NULL
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

-- The strictest parameter with which each model holds, before at level 0 of the source, after in the release; NULL where
-- it does not apply, infinity where no number is large enough. A model of identities has no column.
CREATE TABLE tableveil.guarantees (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    column_name VARCHAR NOT NULL,
    parameter VARCHAR NOT NULL,
    before DOUBLE,
    after DOUBLE
);

-- How the records of the source, suppressed ones included, spread over the values of a sensitive column that a model
-- looks at. The position is the value's place in the column's order; the value is the text that it is cast to.
CREATE TABLE tableveil.sensitive_distributions (
    release BIGINT NOT NULL,
    column_name VARCHAR NOT NULL,
    position BIGINT NOT NULL,
    value VARCHAR,
    records BIGINT NOT NULL
);


-- What other jobs found
-- ---------------------

-- Frontiers: the optimum for each of several k and suppression limits.
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

-- One row per k and limit. Without a score, nothing is valid if optimal; else nothing valid was found in time.
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

-- Dry runs: the evidence of releases that were made, verified and taken back. The columns are those of releases.
CREATE TABLE tableveil.dry_runs (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    source_fingerprint VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    suppressed_records BIGINT NOT NULL,
    classes BIGINT NOT NULL,
    score DOUBLE NOT NULL,
    quality_model VARCHAR NOT NULL,
    optimal BOOLEAN NOT NULL,
    lower_bound DOUBLE NOT NULL,
    strategy VARCHAR NOT NULL,
    search_seconds DOUBLE NOT NULL,
    counter VARCHAR NOT NULL,
    counting VARCHAR NOT NULL,
    lattice_size VARCHAR,
    checked BIGINT,
    counted BIGINT,
    pruned MAP(VARCHAR, VARCHAR),
    best_seconds DOUBLE,
    seconds DOUBLE NOT NULL,
    warnings VARCHAR[] NOT NULL,
    refusals VARCHAR[] NOT NULL,
    policy VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.dry_run_numbers;

CREATE TABLE tableveil.dry_run_attributes (
    dry_run BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    level INTEGER NOT NULL,
    top_level INTEGER NOT NULL,
    loss DOUBLE NOT NULL,
    distinct_before BIGINT NOT NULL,
    distinct_after BIGINT NOT NULL,
    hierarchy VARCHAR NOT NULL,
    part DOUBLE,
    levels BIGINT[][] NOT NULL,
    aggregation VARCHAR NOT NULL
);

CREATE TABLE tableveil.dry_run_suppressions (
    dry_run BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    label VARCHAR,
    records BIGINT NOT NULL,
    suppressed BIGINT NOT NULL
);

CREATE TABLE tableveil.dry_run_risks (
    dry_run BIGINT NOT NULL,
    stage VARCHAR NOT NULL,
    measure VARCHAR NOT NULL,
    threshold VARCHAR,
    value DOUBLE NOT NULL
);

CREATE TABLE tableveil.dry_run_guarantees (
    dry_run BIGINT NOT NULL,
    position INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    column_name VARCHAR NOT NULL,
    parameter VARCHAR NOT NULL,
    before DOUBLE,
    after DOUBLE
);

-- Payout sweeps: what the best release of each method would pay, for several gains of the adversary. Without rows of a
-- population it has no records, and its fingerprint is empty.
CREATE TABLE tableveil.payout_sweeps (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    source_fingerprint VARCHAR NOT NULL,
    population_fingerprint VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    population_records BIGINT,
    quasi_identifiers VARCHAR[] NOT NULL,
    publisher_benefit DECIMAL(22, 9) NOT NULL,
    adversary_cost DECIMAL(22, 9) NOT NULL,
    break_even VARCHAR NOT NULL,
    if_method_known BOOLEAN NOT NULL,
    lattice_size VARCHAR NOT NULL,
    counted BIGINT NOT NULL,
    sweep_seconds DOUBLE NOT NULL,
    seconds DOUBLE NOT NULL,
    policy VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.payout_sweep_numbers;

-- One row per method, records among which the adversary looks, and gain. The levels are NULL if every combination of
-- values has its own. The last column is NULL if it was not asked for.
CREATE TABLE tableveil.payout_points (
    payout_sweep BIGINT NOT NULL,
    method VARCHAR NOT NULL,
    among VARCHAR NOT NULL,
    gain DECIMAL(22, 9) NOT NULL,
    payout DOUBLE NOT NULL,
    suppressed_records BIGINT NOT NULL,
    attacked_records BIGINT NOT NULL,
    levels INTEGER[],
    payout_if_method_known DOUBLE,
    PRIMARY KEY (payout_sweep, method, among, gain)
);

-- Risk analyses of tables and releases as they are. The risks of each combination of values, where they were asked for,
-- are in tables tableveil.record_risks_<number>, with the values.
CREATE TABLE tableveil.risk_analyses (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    source_fingerprint VARCHAR NOT NULL,
    quasi_identifiers VARCHAR[] NOT NULL,
    records BIGINT NOT NULL,
    classes BIGINT NOT NULL,
    population_size BIGINT,
    largest_subset INTEGER NOT NULL,
    has_record_risks BOOLEAN NOT NULL,
    seconds DOUBLE NOT NULL,
    warnings VARCHAR[] NOT NULL,
    request VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.risk_analysis_numbers;

-- No value: there is no such number.
CREATE TABLE tableveil.risk_measures (
    analysis BIGINT NOT NULL,
    position INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    measure VARCHAR NOT NULL,
    threshold VARCHAR,
    value DOUBLE
);

-- What each subset of the columns tells apart.
CREATE TABLE tableveil.attribute_risks (
    analysis BIGINT NOT NULL,
    position INTEGER NOT NULL,
    columns VARCHAR[] NOT NULL,
    distinction DOUBLE NOT NULL,
    separation DOUBLE NOT NULL,
    unique_records BIGINT NOT NULL,
    minimal_unique_records BIGINT NOT NULL,
    proposed BOOLEAN NOT NULL
);

-- Sets of columns whose risks are put side by side, and their measures: compared is the position of the set.
CREATE TABLE tableveil.compared_risks (
    analysis BIGINT NOT NULL,
    position INTEGER NOT NULL,
    columns VARCHAR[] NOT NULL
);

CREATE TABLE tableveil.compared_measures (
    analysis BIGINT NOT NULL,
    compared INTEGER NOT NULL,
    position INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    measure VARCHAR NOT NULL,
    threshold VARCHAR,
    value DOUBLE
);

-- Classifier assessments of releases. Their figures come from suppressed records and from the source too.
CREATE TABLE tableveil.classifications (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    release BIGINT NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    source_fingerprint VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    sampled_records BIGINT NOT NULL,
    suppressed_records BIGINT NOT NULL,
    folds INTEGER NOT NULL,
    published VARCHAR NOT NULL,
    seconds DOUBLE NOT NULL,
    warnings VARCHAR[] NOT NULL,
    request VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.classification_numbers;

CREATE TABLE tableveil.classification_columns (
    classification BIGINT NOT NULL,
    position INTEGER NOT NULL,
    class_column VARCHAR NOT NULL,
    features VARCHAR[] NOT NULL,
    labels VARCHAR[] NOT NULL,
    records BIGINT NOT NULL,
    folds INTEGER NOT NULL
);

-- One row per class column, classifier, and what it was trained on; the baseline is the classifier ZERO_R. The relative
-- accuracy is NULL if the original is no better than the baseline.
CREATE TABLE tableveil.classification_measures (
    classification BIGINT NOT NULL,
    column_position INTEGER NOT NULL,
    position INTEGER NOT NULL,
    classifier VARCHAR NOT NULL,
    trained_on VARCHAR NOT NULL,
    accuracy DOUBLE NOT NULL,
    brier DOUBLE NOT NULL,
    relative_accuracy DOUBLE
);

-- One row per class of each of them (measures is their position): how many of its records were predicted to be of each
-- class, in the order of the labels, and the points of its ROC curve.
CREATE TABLE tableveil.classification_classes (
    classification BIGINT NOT NULL,
    column_position INTEGER NOT NULL,
    measures INTEGER NOT NULL,
    position INTEGER NOT NULL,
    label VARCHAR NOT NULL,
    precision DOUBLE,
    recall DOUBLE,
    auc DOUBLE,
    predicted BIGINT[] NOT NULL,
    false_positive_rates DOUBLE[] NOT NULL,
    true_positive_rates DOUBLE[] NOT NULL
);

-- Utility reports of releases. They show how the source spreads over its values.
CREATE TABLE tableveil.utility_reports (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    release BIGINT NOT NULL,
    notes VARCHAR[] NOT NULL,
    seconds DOUBLE NOT NULL,
    request VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.utility_report_numbers;

CREATE TABLE tableveil.utility_columns (
    report BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    treatment VARCHAR NOT NULL,
    loss DOUBLE,
    squared_error BOOLEAN NOT NULL
);

-- Two rows per column, the stage being before or after. A column without numbers has no mean.
CREATE TABLE tableveil.utility_spreads (
    report BIGINT NOT NULL,
    column_position INTEGER NOT NULL,
    stage VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    missing BIGINT NOT NULL,
    distinct_values BIGINT NOT NULL,
    mean DOUBLE,
    variance DOUBLE,
    quantiles DOUBLE[] NOT NULL
);

-- Without a label: NULL, or labels that tell nothing.
CREATE TABLE tableveil.utility_bins (
    report BIGINT NOT NULL,
    column_position INTEGER NOT NULL,
    stage VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    label VARCHAR,
    records BIGINT NOT NULL
);

-- Without a value: one of the columns has a single value.
CREATE TABLE tableveil.utility_associations (
    report BIGINT NOT NULL,
    position INTEGER NOT NULL,
    first_column VARCHAR NOT NULL,
    second_column VARCHAR NOT NULL,
    measure VARCHAR NOT NULL,
    before DOUBLE,
    after DOUBLE
);
