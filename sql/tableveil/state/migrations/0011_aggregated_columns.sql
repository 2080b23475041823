-- Columns whose values are aggregated, and clusters in place of a transformation.

-- What took the place of a quasi-identifier's values if they were aggregated instead of generalized; else empty.
ALTER TABLE tableveil.release_attributes ADD COLUMN aggregation VARCHAR DEFAULT '';

-- Whether progress counts records that are in a cluster, instead of transformations that were checked.
ALTER TABLE tableveil.job_events ADD COLUMN of_records BOOLEAN DEFAULT false;
