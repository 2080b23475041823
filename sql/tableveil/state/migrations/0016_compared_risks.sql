-- Sets of columns whose risks a risk analysis puts side by side: a row per number. No value: there is no such number.

CREATE TABLE tableveil.compared_risks (
    analysis BIGINT NOT NULL,
    compared INTEGER NOT NULL,
    columns VARCHAR[] NOT NULL,
    position INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    measure VARCHAR NOT NULL,
    threshold VARCHAR,
    value DOUBLE
);
