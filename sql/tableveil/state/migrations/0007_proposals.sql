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
    request VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.proposal_numbers;

CREATE TABLE tableveil.proposal_findings (
    proposal BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    repair VARCHAR NOT NULL
);

-- Without a score: it makes no release.
CREATE TABLE tableveil.proposal_alternatives (
    proposal BIGINT NOT NULL,
    position INTEGER NOT NULL,
    policy VARCHAR NOT NULL,
    method VARCHAR NOT NULL,
    k INTEGER NOT NULL,
    score DOUBLE,
    suppressed_records BIGINT NOT NULL,
    highest_risk DOUBLE,
    decisions VARCHAR[] NOT NULL,
    failure VARCHAR NOT NULL,
    recommended BOOLEAN NOT NULL
);

CREATE TABLE tableveil.proposal_columns (
    proposal BIGINT NOT NULL,
    alternative INTEGER NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    labels BIGINT NOT NULL,
    hidden DOUBLE NOT NULL,
    erased BOOLEAN NOT NULL,
    loss DOUBLE NOT NULL
);
