"""The report of a release: what it says, by facts and evidence, and the document."""
