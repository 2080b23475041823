-- By which the people of a release's source are known again: keyed samples of its columns and rows, instead of digests of
-- whole columns. Releases from before are known again by their tables and fingerprints only.

DROP TABLE tableveil.release_column_digests;

CREATE TABLE tableveil.release_samples (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    -- Empty for whole rows.
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
