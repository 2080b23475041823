-- By what the columns of a release's source are known again, whatever their names and places: keyed digests of their
-- values. Releases from before have none.

CREATE TABLE tableveil.release_column_digests (
    release BIGINT NOT NULL,
    digest VARCHAR NOT NULL
);
