-- Budgets of differential privacy for the people in some tables, whose names are folded: the newest version counts. A charge is
-- what a release may tell of them. It is written before the table is read, and stays whatever becomes of the job, which may run
-- twice.
CREATE TABLE tableveil.privacy_budgets (
    version BIGINT NOT NULL PRIMARY KEY,
    people VARCHAR NOT NULL,
    tables VARCHAR[] NOT NULL,
    epsilon VARCHAR NOT NULL,
    delta VARCHAR NOT NULL,
    set_by VARCHAR NOT NULL,
    set_at TIMESTAMP NOT NULL
);

CREATE TABLE tableveil.privacy_charges (
    job BIGINT NOT NULL,
    people VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    epsilon VARCHAR NOT NULL,
    delta VARCHAR NOT NULL,
    charged_at TIMESTAMP NOT NULL
);
