-- The rights of a job's principal when it was admitted: on everything, or on schemas, tables of [schema, table], and
-- releases, whose names are folded. A release is compared and judged with the earlier ones that these rights show.
CREATE TABLE tableveil.job_rights (
    job BIGINT NOT NULL,
    everything BOOLEAN NOT NULL,
    schemas VARCHAR[] NOT NULL,
    tables VARCHAR[][] NOT NULL,
    releases BIGINT[] NOT NULL
);
