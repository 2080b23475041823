-- Releases of the same people as another one, which their submitter could not see: the finding says why it is thought so.
-- Those in release_compared were looked at; a release from before was compared with all others when it was made.
CREATE TABLE tableveil.release_matches (
    release BIGINT NOT NULL,
    other BIGINT NOT NULL,
    finding VARCHAR NOT NULL
);
CREATE TABLE tableveil.release_compared (
    release BIGINT PRIMARY KEY
);
INSERT INTO tableveil.release_compared SELECT number FROM tableveil.releases;
