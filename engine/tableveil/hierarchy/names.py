"""Names of stored hierarchies: each belongs to the schema before its first slash, and to `main` without one."""


def name_in(schema: str, name: str) -> str:
    """The full name of a hierarchy of a schema; of an empty one, which only those see who see all."""
    return name if schema == "main" and "/" not in name else f"{escaped(schema)}/{name}"


def schema_of(name: str) -> str:
    """The schema that a hierarchy of that full name belongs to."""
    schema, slash, _ = name.partition("/")
    return schema.replace("%2f", "/").replace("%25", "%") if slash else "main"


def escaped(schema: str) -> str:
    """The schema as it stands in a name."""
    return schema.replace("%", "%25").replace("/", "%2f")
