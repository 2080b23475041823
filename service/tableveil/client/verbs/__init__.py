"""What a client can ask of a server, a class of methods for each part of the service."""

# Arrow, DuckDB and the checks of policies take longer to load than most verbs take altogether: those methods that need
# them import them.
