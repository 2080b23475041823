"""The endpoint: analysts query published releases over Arrow Flight SQL, in a process without the database."""

# Nothing is imported here: the processes of queries shall load no more than they need.
