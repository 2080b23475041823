-- Backups that the server made of this database. One that was made notes itself here afterwards, so no backup has itself.
CREATE TABLE tableveil.backups (
    file VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL,
    size_bytes BIGINT NOT NULL
);
