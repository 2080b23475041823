-- People are known again by rows: each value that may stand for a person has short keyed hashes of its row. `filled` says
-- how densely a column's values lie. Both are NULL in earlier releases, and where nobody looked at rows.
ALTER TABLE tableveil.release_samples ADD COLUMN filled DOUBLE;
ALTER TABLE tableveil.release_sample_values ADD COLUMN cells BLOB;
