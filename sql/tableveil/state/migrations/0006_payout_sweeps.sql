-- Payout sweeps: what the best releases of each method would pay, for several gains of the adversary.

-- The population's number and fingerprint are those of its rows, if there are any.
CREATE TABLE tableveil.payout_sweeps (
    number BIGINT PRIMARY KEY,
    job BIGINT NOT NULL UNIQUE,
    created_at TIMESTAMP NOT NULL,
    source_catalog VARCHAR NOT NULL,
    source_schema VARCHAR NOT NULL,
    source_table VARCHAR NOT NULL,
    source_fingerprint VARCHAR NOT NULL,
    population_fingerprint VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    population_records BIGINT,
    quasi_identifiers VARCHAR[] NOT NULL,
    publisher_benefit DECIMAL(22, 9) NOT NULL,
    adversary_cost DECIMAL(22, 9) NOT NULL,
    break_even VARCHAR NOT NULL,
    if_method_known BOOLEAN NOT NULL,
    lattice_size VARCHAR NOT NULL,
    counted BIGINT NOT NULL,
    sweep_seconds DOUBLE NOT NULL,
    seconds DOUBLE NOT NULL,
    policy VARCHAR NOT NULL
);
CREATE SEQUENCE tableveil.payout_sweep_numbers;

-- One row per method, records among which the adversary looks, and gain. The levels are NULL if every combination of
-- values has its own; so is the last column if it was not asked for.
CREATE TABLE tableveil.payout_points (
    payout_sweep BIGINT NOT NULL,
    method VARCHAR NOT NULL,
    among VARCHAR NOT NULL,
    gain DECIMAL(22, 9) NOT NULL,
    payout DOUBLE NOT NULL,
    suppressed_records BIGINT NOT NULL,
    attacked_records BIGINT NOT NULL,
    levels INTEGER[],
    payout_if_method_known DOUBLE,
    PRIMARY KEY (payout_sweep, method, among, gain)
);
