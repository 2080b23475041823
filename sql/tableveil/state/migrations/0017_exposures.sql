-- How many rows, or people, of a release are alone or among few by labels and values.
CREATE TABLE tableveil.exposures (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_names VARCHAR[] NOT NULL,
    knows VARCHAR[] NOT NULL,
    found BIGINT NOT NULL,
    few BIGINT NOT NULL,
    total BIGINT NOT NULL,
    least BIGINT NOT NULL,
    counts_people BOOLEAN NOT NULL
);

CREATE TABLE tableveil.dry_run_exposures (
    dry_run BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_names VARCHAR[] NOT NULL,
    knows VARCHAR[] NOT NULL,
    found BIGINT NOT NULL,
    few BIGINT NOT NULL,
    total BIGINT NOT NULL,
    least BIGINT NOT NULL,
    counts_people BOOLEAN NOT NULL
);
