-- What privacy models are judged by, and what a release reaches of them. Releases made before have neither.

-- How the records of the source, suppressed ones included, spread over the values of a sensitive column that a model
-- looks at: position counts from 0 in the column's order, value is the text that the value is cast to.
CREATE TABLE tableveil.sensitive_distributions (
    release BIGINT NOT NULL,
    column_name VARCHAR NOT NULL,
    position BIGINT NOT NULL,
    value VARCHAR,
    records BIGINT NOT NULL
);

-- The strictest parameter with which each model holds, of the source at level 0 and of the release; NULL where it does
-- not apply, infinity where no number is large enough. No column: a model of identities.
CREATE TABLE tableveil.guarantees (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    column_name VARCHAR NOT NULL,
    parameter VARCHAR NOT NULL,
    before DOUBLE,
    after DOUBLE
);
