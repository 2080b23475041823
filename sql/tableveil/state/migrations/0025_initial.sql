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

-- Rules that admins make for releases into a schema, whose name is folded: the newest version counts. With joint_k, one that
-- repeats people by a reason waits for approval, unless they all share joint classes of k.
CREATE TABLE tableveil.schema_rules (
    version INTEGER NOT NULL,
    schema_name VARCHAR NOT NULL,
    joint_k BOOLEAN NOT NULL,
    set_by VARCHAR NOT NULL,
    set_at TIMESTAMP NOT NULL,
    PRIMARY KEY (schema_name, version)
);

-- Budgets of differential privacy for the people in some tables, whose names are folded: the newest version counts. A charge is
-- what a release may tell of them. It is written before the table is read, and stays whatever becomes of the job, which may run
-- twice.
CREATE TABLE tableveil.privacy_budgets (
    version BIGINT NOT NULL PRIMARY KEY,
    people VARCHAR NOT NULL,
    tables VARCHAR[] NOT NULL,
    epsilon VARCHAR NOT NULL,
    delta VARCHAR NOT NULL,
    set_by VARCHAR NOT NULL,
    set_at TIMESTAMP NOT NULL,
    suspended BOOLEAN DEFAULT false
);

CREATE TABLE tableveil.privacy_charges (
    job BIGINT NOT NULL,
    people VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    epsilon VARCHAR NOT NULL,
    delta VARCHAR NOT NULL,
    charged_at TIMESTAMP NOT NULL
);

-- Worksheets: decisions about a table that is not released yet, as documents of the service.
CREATE TABLE tableveil.worksheets (
    number BIGINT PRIMARY KEY,
    table_schema VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    revision BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    updated_by VARCHAR NOT NULL,
    contents VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.worksheet_numbers;

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
    owner VARCHAR NOT NULL,
    content VARCHAR
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

-- Backups that the server made of this database. One that was made notes itself here afterwards, so no backup has itself.
CREATE TABLE tableveil.backups (
    file VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL,
    size_bytes BIGINT NOT NULL
);

-- Changes that their callers named, each committed with its change. The answer is missing until the call ends, and once it is forgotten.
-- A hash stands for the request id, and the request id is the key of the digest: requests may name people who are erased.
CREATE TABLE tableveil.answered_requests (
    owner VARCHAR NOT NULL,
    method VARCHAR NOT NULL,
    id_hash VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    changed_at TIMESTAMP NOT NULL,
    answer BLOB
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

-- The rights of a job's principal when it was admitted: on everything, or on schemas, tables of [schema, table], and
-- releases, whose names are folded. A release is compared and judged with the earlier ones that these rights show.
CREATE TABLE tableveil.job_rights (
    job BIGINT NOT NULL,
    everything BOOLEAN NOT NULL,
    schemas VARCHAR[] NOT NULL,
    tables VARCHAR[][] NOT NULL,
    releases BIGINT[] NOT NULL
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

-- Texts of a job that depend on other releases than its own: a warning, a refusal, or a measure of what is reached. Only
-- readers of all these releases are told. The empty text stands for all evidence of a release that was judged together with them.
CREATE TABLE tableveil.joint_texts (
    job BIGINT NOT NULL,
    text VARCHAR NOT NULL,
    releases BIGINT[] NOT NULL
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
    policy VARCHAR NOT NULL,
    document JSON DEFAULT '{}'
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
-- column_name; `filled` says how densely a column's values lie.
CREATE TABLE tableveil.release_samples (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    scale INTEGER NOT NULL,
    density DOUBLE NOT NULL,
    source_records BIGINT NOT NULL,
    filled DOUBLE
);

-- The cells are short keyed hashes of the row of a value that may stand for a person; NULL where nobody looked at rows.
CREATE TABLE tableveil.release_sample_values (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    value UBIGINT NOT NULL,
    records BIGINT NOT NULL,
    cells BLOB
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

-- Releases of the same people as another one, which their submitter could not see: the finding says why it is thought so.
-- Those in release_compared were looked at; the others are still to be compared.
CREATE TABLE tableveil.release_matches (
    release BIGINT NOT NULL,
    other BIGINT NOT NULL,
    finding VARCHAR NOT NULL
);
CREATE TABLE tableveil.release_compared (
    release BIGINT PRIMARY KEY
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

-- Trials: releases that wait for their own steward. One that was promoted is a release like others since then.
CREATE TABLE tableveil.trials (
    release BIGINT PRIMARY KEY,
    maker VARCHAR NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    population_fingerprint VARCHAR NOT NULL,
    promoted_at TIMESTAMP
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
    published_at TIMESTAMP,
    other_people BIGINT[] DEFAULT []
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
CREATE VIEW tableveil.release_attributes AS
SELECT release, position, a->>'column' AS column_name, (a->>'level')::INTEGER AS level, (a->>'top_level')::INTEGER AS top_level,
    (a->>'loss')::DOUBLE AS loss, (a->>'distinct_before')::BIGINT AS distinct_before,
    (a->>'distinct_after')::BIGINT AS distinct_after, a->>'hierarchy' AS hierarchy, (a->>'part')::DOUBLE AS part,
    (a->'levels')::BIGINT[][] AS levels, a->>'aggregation' AS aggregation
FROM (
    SELECT number AS release, (generate_subscripts(json_extract(document, '$.attributes[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.attributes[*]')) AS a
    FROM tableveil.releases
);

CREATE VIEW tableveil.release_runners_up AS
SELECT release, position, (r->'levels')::INTEGER[] AS levels, (r->>'score')::DOUBLE AS score,
    (r->>'suppressed_records')::BIGINT AS suppressed_records
FROM (
    SELECT number AS release, (generate_subscripts(json_extract(document, '$.runners_up[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.runners_up[*]')) AS r
    FROM tableveil.releases
);

-- Position 0 is the released transformation itself. The others are one level less or more (step) on these columns, which
-- are linked if they are several. The score is NULL where too many records would be suppressed.
CREATE VIEW tableveil.release_explanations AS
SELECT release, position, (n->'columns')::VARCHAR[] AS columns, (n->>'step')::INTEGER AS step, (n->>'level')::INTEGER AS level,
    (n->>'classes')::BIGINT AS classes, (n->>'rejected_classes')::BIGINT AS rejected_classes,
    (n->>'suppressed_records')::BIGINT AS suppressed_records, (n->>'records_over_limit')::BIGINT AS records_over_limit,
    (n->>'score')::DOUBLE AS score
FROM (
    SELECT number AS release, 0 AS position, document->'itself' AS n FROM tableveil.releases WHERE document->>'itself' IS NOT NULL
    UNION ALL SELECT number, generate_subscripts(json_extract(document, '$.neighbours[*]'), 1)::INTEGER,
        unnest(json_extract(document, '$.neighbours[*]'))
    FROM tableveil.releases
);

-- The shares of the loss of a release with levels per class: of a column; of the records with a label in it, if there is
-- one; or of suppressed records, if the column is empty.
CREATE VIEW tableveil.release_costs AS
SELECT release, position, c->>'column' AS column_name, c->>'label' AS label, (c->>'records')::BIGINT AS records,
    (c->>'share')::DOUBLE AS share
FROM (
    SELECT number AS release, (generate_subscripts(json_extract(document, '$.costs[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.costs[*]')) AS c
    FROM tableveil.releases
);

-- Classes and records that each privacy model rejects at a position, and those that no other model rejects there. A model
-- binds if the position would be valid without it.
CREATE VIEW tableveil.release_rejections AS
SELECT release, position, r->>'privacy_model' AS privacy_model, (r->>'classes')::BIGINT AS classes,
    (r->>'records')::BIGINT AS records, (r->>'only_classes')::BIGINT AS only_classes,
    (r->>'only_records')::BIGINT AS only_records, (r->>'binds')::BOOLEAN AS binds
FROM (
    SELECT number AS release, 0 AS position, unnest(json_extract(document, '$.itself.rejections[*]')) AS r FROM tableveil.releases
    UNION ALL SELECT release, position, unnest(json_extract(n, '$.rejections[*]'))
    FROM (
        SELECT number AS release, generate_subscripts(json_extract(document, '$.neighbours[*]'), 1)::INTEGER AS position,
            unnest(json_extract(document, '$.neighbours[*]')) AS n
        FROM tableveil.releases
    )
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
CREATE VIEW tableveil.release_risks AS
WITH r AS (
    SELECT number AS release, unnest(['before', 'after', 'after_by_size']) AS stage,
        unnest([document->'risk_before', document->'risk_after', document->'risk_by_size']) AS risk
    FROM tableveil.releases
)
SELECT release, stage, measure, NULL::VARCHAR AS threshold, value FROM (
    SELECT release, stage,
        unnest(['records', 'classes', 'highest_risk', 'average_risk', 'lowest_risk', 'unique_records']) AS measure,
        unnest(json_extract_string(risk, ['records', 'classes', 'highest', 'average', 'lowest', 'unique_records']))::DOUBLE AS value
    FROM r
) WHERE value IS NOT NULL
UNION ALL SELECT release, stage, 'records_above_threshold', t->>0, (t->>1)::DOUBLE FROM (
    SELECT release, stage, unnest(json_extract(risk, '$.records_at_risk[*]')) AS t FROM r
);

CREATE TABLE tableveil.release_risk_histograms (
    release BIGINT NOT NULL,
    stage VARCHAR NOT NULL,
    class_size BIGINT NOT NULL,
    classes BIGINT NOT NULL
);

-- The strictest parameter with which each model holds, before at level 0 of the source, after in the release; NULL where
-- it does not apply, infinity where no number is large enough. A model of identities has no column.
CREATE VIEW tableveil.guarantees AS
SELECT release, position, g->>'model' AS model, g->>'column' AS column_name, g->>'parameter' AS parameter,
    (g->>'before')::DOUBLE AS before, (g->>'after')::DOUBLE AS after
FROM (
    SELECT number AS release, (generate_subscripts(json_extract(document, '$.guarantees[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.guarantees[*]')) AS g
    FROM tableveil.releases
);

-- How many rows, or people, of a release are alone or among few by labels and values.
CREATE VIEW tableveil.exposures AS
SELECT release, position, (e->'columns')::VARCHAR[] AS column_names, (e->'knows')::VARCHAR[] AS knows,
    (e->>'found')::BIGINT AS found, (e->>'few')::BIGINT AS few, (e->>'total')::BIGINT AS total, (e->>'least')::BIGINT AS least,
    (e->>'counts_people')::BOOLEAN AS counts_people
FROM (
    SELECT number AS release, (generate_subscripts(json_extract(document, '$.exposures[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.exposures[*]')) AS e
    FROM tableveil.releases
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
    policy VARCHAR NOT NULL,
    document JSON DEFAULT '{}'
);
CREATE SEQUENCE tableveil.frontier_numbers;

-- One row per k and limit. Without a score, nothing is valid if optimal; else nothing valid was found in time.
CREATE VIEW tableveil.frontier_points AS
SELECT frontier, (p->>'k')::INTEGER AS k, p->>'suppression_limit' AS suppression_limit, (p->>'$.found.score')::DOUBLE AS score,
    (p->>'$.found.suppressed_records')::BIGINT AS suppressed_records, (p->>'$.found.classes')::BIGINT AS classes,
    (p->'$.found.levels')::INTEGER[] AS levels, (p->>'optimal')::BOOLEAN AS optimal, (p->>'lower_bound')::DOUBLE AS lower_bound
FROM (SELECT number AS frontier, unnest(json_extract(document, '$.points[*]')) AS p FROM tableveil.frontiers);

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
    policy VARCHAR NOT NULL,
    document JSON DEFAULT '{}'
);
CREATE SEQUENCE tableveil.dry_run_numbers;

CREATE TABLE tableveil.dry_run_suppressions (
    dry_run BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    label VARCHAR,
    records BIGINT NOT NULL,
    suppressed BIGINT NOT NULL
);

-- A few of the rows that a dry run would have released: they go when somebody is erased from a table that it read.
CREATE TABLE tableveil.dry_run_rows (
    dry_run BIGINT NOT NULL,
    position INTEGER NOT NULL,
    "values" MAP(VARCHAR, VARCHAR) NOT NULL
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
    request VARCHAR NOT NULL,
    document JSON DEFAULT '{}'
);
CREATE SEQUENCE tableveil.risk_analysis_numbers;

-- No value: there is no such number.
CREATE VIEW tableveil.risk_measures AS
SELECT analysis, position, m->>'model' AS model, m->>'measure' AS measure, m->>'threshold' AS threshold,
    (m->>'value')::DOUBLE AS value
FROM (
    SELECT number AS analysis, (generate_subscripts(json_extract(document, '$.measures[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.measures[*]')) AS m
    FROM tableveil.risk_analyses
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
    request VARCHAR NOT NULL,
    document JSON DEFAULT '{}'
);
CREATE SEQUENCE tableveil.classification_numbers;

-- One row per class column, classifier, and what it was trained on; the baseline is the classifier ZERO_R. The relative
-- accuracy is NULL if the original is no better than the baseline.
CREATE VIEW tableveil.classification_measures AS
WITH assessed AS (
    SELECT number AS classification,
        (generate_subscripts(json_extract(document, '$.assessments[*]'), 1) - 1)::INTEGER AS column_position,
        unnest(json_extract(document, '$.assessments[*]')) AS a
    FROM tableveil.classifications
), compared AS (
    SELECT classification, column_position, generate_subscripts(json_extract(a, '$.comparisons[*]'), 1)::INTEGER AS place,
        unnest(json_extract(a, '$.comparisons[*]')) AS c
    FROM assessed
)
SELECT classification, column_position, position, classifier, trained_on, (m->>'accuracy')::DOUBLE AS accuracy,
    (m->>'brier')::DOUBLE AS brier, relative_accuracy::DOUBLE AS relative_accuracy
FROM (
    SELECT classification, column_position, 0 AS position, 'ZERO_R' AS classifier, 'input' AS trained_on, a->'baseline' AS m,
        NULL::VARCHAR AS relative_accuracy FROM assessed
    UNION ALL SELECT classification, column_position, 2 * place - 1, c->>'classifier', 'input', c->'original', NULL FROM compared
    UNION ALL SELECT classification, column_position, 2 * place, c->>'classifier', 'release', c->'anonymized',
        c->>'relative_accuracy' FROM compared
);

-- Utility reports of releases. They show how the source spreads over its values.
CREATE TABLE tableveil.utility_reports (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    release BIGINT NOT NULL,
    notes VARCHAR[] NOT NULL,
    seconds DOUBLE NOT NULL,
    request VARCHAR NOT NULL,
    document JSON DEFAULT '{}'
);
CREATE SEQUENCE tableveil.utility_report_numbers;

CREATE VIEW tableveil.utility_columns AS
SELECT report, position, c->>'column' AS column_name, c->>'type' AS type, c->>'role' AS role, c->>'treatment' AS treatment,
    (c->>'loss')::DOUBLE AS loss, (c->>'squared_error')::BOOLEAN AS squared_error
FROM (
    SELECT number AS report, (generate_subscripts(json_extract(document, '$.columns[*]'), 1) - 1)::INTEGER AS position,
        unnest(json_extract(document, '$.columns[*]')) AS c
    FROM tableveil.utility_reports
);

-- Proposals: policies that were tried on a table, and the values in it that look wrong.
CREATE TABLE tableveil.proposals (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    notes VARCHAR[] NOT NULL,
    decisions VARCHAR[] NOT NULL,
    repair_query VARCHAR NOT NULL,
    recommendation VARCHAR NOT NULL,
    seconds DOUBLE NOT NULL,
    request VARCHAR NOT NULL,
    forecast VARCHAR DEFAULT '',
    document JSON DEFAULT '{}'
);
CREATE SEQUENCE tableveil.proposal_numbers;
