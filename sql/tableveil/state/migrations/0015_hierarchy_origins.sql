-- Where the rows of a stored hierarchy came from when they were first stored; nobody said of earlier ones.
ALTER TABLE tableveil.hierarchies ADD COLUMN origin VARCHAR DEFAULT '';
