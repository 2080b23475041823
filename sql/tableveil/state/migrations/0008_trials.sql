-- Trials: releases that wait for their own steward. One that was promoted is a release like others since then.
CREATE TABLE tableveil.trials (
    release BIGINT PRIMARY KEY,
    maker VARCHAR NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    population_fingerprint VARCHAR NOT NULL,
    promoted_at TIMESTAMP
);
