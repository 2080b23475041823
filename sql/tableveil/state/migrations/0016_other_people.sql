-- The releases of which the one who asks for a publication says that they are of other people.
ALTER TABLE tableveil.publications ADD COLUMN other_people BIGINT[] DEFAULT [];
