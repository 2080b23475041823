-- Releases that were withdrawn: their objects are dropped, their ledger entries stay. Objects that had been changed since
-- they were written are somebody's own by now and were kept.
CREATE TABLE tableveil.withdrawals (
    release BIGINT PRIMARY KEY,
    withdrawn_at TIMESTAMP NOT NULL,
    reason VARCHAR NOT NULL,
    kept_objects VARCHAR[] NOT NULL
);

-- Tells whether an object is as it was written; empty for objects from before this was kept.
ALTER TABLE tableveil.release_objects ADD COLUMN mark VARCHAR DEFAULT '';
