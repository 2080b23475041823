"""URLs of PostgreSQL, which hold no password: libpq has safer ways."""

from urllib.parse import parse_qsl

from tableveil.errors import InvalidError


def check_url(url: str, field: str) -> None:
    """Raises `InvalidError`, without the URL, if a password is in it."""
    # As libpq reads it: '?' and '#' may stand in a password, and '#' ends nothing.
    user, at, _ = url.partition("://")[2].partition("/")[0].partition("@")
    options = parse_qsl(url.partition("?")[2], keep_blank_values=True)
    if (at and ":" in user) or any("password" in key or "secret" in key for key, _ in options):
        raise InvalidError.of(
            *("POSTGRESQL_PASSWORD", field, "a password in the URL", "an URL without one"),
            "Others can see the arguments of a command. Write the password to ~/.pgpass or the file that PGPASSFILE "
            "names, to a service (PGSERVICEFILE), or to PGPASSWORD.",
        )
