-- More evidence of the search, and why no neighbour of a released transformation was chosen. Releases made before have
-- loss as quality model, were searched exactly, counted as often as they checked (counted: NULL), and have no
-- explanation (explanation_complete: NULL).

ALTER TABLE tableveil.releases ADD COLUMN quality_model VARCHAR DEFAULT 'loss';
ALTER TABLE tableveil.releases ALTER COLUMN quality_model SET NOT NULL;
ALTER TABLE tableveil.releases ADD COLUMN strategy VARCHAR DEFAULT 'exact';
ALTER TABLE tableveil.releases ALTER COLUMN strategy SET NOT NULL;
ALTER TABLE tableveil.releases ADD COLUMN counted BIGINT;
ALTER TABLE tableveil.releases ADD COLUMN counting VARCHAR DEFAULT '';
ALTER TABLE tableveil.releases ALTER COLUMN counting SET NOT NULL;
ALTER TABLE tableveil.releases ADD COLUMN best_seconds DOUBLE;
ALTER TABLE tableveil.releases ADD COLUMN explanation_complete BOOLEAN;

-- What the quality model counted for the quasi-identifier, before its weight; NULL if its score has no such parts.
ALTER TABLE tableveil.release_attributes ADD COLUMN part DOUBLE;

-- Position 0 is the released transformation itself; the others are one level less or more (step) on these columns, which
-- are linked if they are several. The score is NULL where too many records would be suppressed.
CREATE TABLE tableveil.release_explanations (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    columns VARCHAR[] NOT NULL,
    step INTEGER NOT NULL,
    level INTEGER,
    classes BIGINT NOT NULL,
    rejected_classes BIGINT NOT NULL,
    suppressed_records BIGINT NOT NULL,
    records_over_limit BIGINT NOT NULL,
    score DOUBLE
);

-- Classes and records that each privacy model rejects at a position, and those that no other model rejects there. It
-- binds if the position would be valid without it.
CREATE TABLE tableveil.release_rejections (
    release BIGINT NOT NULL,
    position INTEGER NOT NULL,
    privacy_model VARCHAR NOT NULL,
    classes BIGINT NOT NULL,
    records BIGINT NOT NULL,
    only_classes BIGINT NOT NULL,
    only_records BIGINT NOT NULL,
    binds BOOLEAN NOT NULL
);
