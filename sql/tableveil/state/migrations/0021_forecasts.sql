-- Forecasts of proposals: how many releases of the same people each way of making them lasts.
ALTER TABLE tableveil.proposals ADD COLUMN forecast VARCHAR DEFAULT '';

-- Its policy is empty where the way needs no other than the proposal's.
CREATE TABLE tableveil.proposal_ways (
    proposal BIGINT NOT NULL,
    position INTEGER NOT NULL,
    way VARCHAR NOT NULL,
    fewest_releases INTEGER NOT NULL,
    most_releases INTEGER NOT NULL,
    months_each INTEGER NOT NULL,
    futures INTEGER NOT NULL,
    refused BOOLEAN NOT NULL,
    policy VARCHAR NOT NULL
);

CREATE TABLE tableveil.proposal_way_columns (
    proposal BIGINT NOT NULL,
    way INTEGER NOT NULL,
    position INTEGER NOT NULL,
    column_name VARCHAR NOT NULL,
    labels BIGINT NOT NULL,
    hidden DOUBLE NOT NULL,
    erased BOOLEAN NOT NULL,
    loss DOUBLE NOT NULL
);
