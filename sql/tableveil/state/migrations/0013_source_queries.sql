-- Sources that are SELECT statements, and the tables that they read.

-- Of releases whose source is a query: in tableveil.releases, its schema and its table are empty then.
CREATE TABLE tableveil.release_sources (
    release BIGINT NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL
);
