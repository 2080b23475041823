"""Local recoding as a method of release: every class of records has levels of its own."""
