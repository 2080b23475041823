-- Changes that their callers named, each committed with its change. The answer is missing until the call ends, and once it is forgotten.
-- A hash stands for the request id, and the request id is the key of the digest: requests may name people who are erased.
CREATE TABLE tableveil.answered_requests (
    owner VARCHAR NOT NULL,
    method VARCHAR NOT NULL,
    id_hash VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    changed_at TIMESTAMP NOT NULL,
    answer BLOB
);
