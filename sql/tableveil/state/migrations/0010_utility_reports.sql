-- Utility reports of releases, for the owner: they show how the source spreads over its values.

ALTER TABLE tableveil.job_outcomes ADD COLUMN utility_report BIGINT;

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

-- Two rows per column, the stage being before or after. Without a mean: the column has no numbers.
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
