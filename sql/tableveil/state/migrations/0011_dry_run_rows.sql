-- A few of the rows that a dry run would have released: they go when somebody is erased from a table that it read.
CREATE TABLE tableveil.dry_run_rows (
    dry_run BIGINT NOT NULL,
    position INTEGER NOT NULL,
    "values" MAP(VARCHAR, VARCHAR) NOT NULL
);
