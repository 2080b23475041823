-- What was loaded under a request id, as keyed digests: a retry whose file or rows changed is told apart. NULL in earlier
-- loads, and in those without a request id.
ALTER TABLE tableveil.loads ADD COLUMN content VARCHAR;
