-- Risk analyses of tables and releases as they are, for the owner. The risks of each combination of values, where they
-- were asked for, are in tables tableveil.record_risks_<number>, with the values.

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
