"""The pipeline of each kind of job, from its request to its result."""
