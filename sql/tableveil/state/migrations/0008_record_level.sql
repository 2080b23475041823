-- Record-level releases, whose records have levels of their own. Releases before were of one transformation each.

-- How many released records have each level of a quasi-identifier.
CREATE TABLE tableveil.release_levels (
    release BIGINT NOT NULL,
    column_name VARCHAR NOT NULL,
    level INTEGER NOT NULL,
    records BIGINT NOT NULL
);
