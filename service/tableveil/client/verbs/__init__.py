"""The verbs of a client, one class of methods for each part of the service."""

# Arrow, DuckDB and the checks of policies take longer to load than most verbs run: the methods that need them import
# them.
