"""The work of each kind of job, from its request to what it writes."""
