"""Records of a source, and of a release, as classifiers see them; and the public table of what they reached."""
