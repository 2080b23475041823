-- Scores that a dry run reached for another k or another limit. Jobs of releases do not look for them any more.
CREATE TABLE tableveil.dry_run_alternatives (
    dry_run BIGINT NOT NULL,
    position INTEGER NOT NULL,
    k INTEGER,
    suppression_limit VARCHAR NOT NULL,
    score DOUBLE NOT NULL,
    suppressed_records BIGINT NOT NULL
);

DROP TABLE tableveil.release_alternatives;
