-- The rates of values among the records of a label that moved most: they show the owner of a source its values.
CREATE TABLE tableveil.utility_rates (
    report BIGINT NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    label VARCHAR,
    of_column VARCHAR NOT NULL,
    value VARCHAR,
    records_before BIGINT NOT NULL,
    having_before BIGINT NOT NULL,
    records_after BIGINT NOT NULL,
    having_after BIGINT NOT NULL
);
