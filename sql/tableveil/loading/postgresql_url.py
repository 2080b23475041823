"""URLs of PostgreSQL, which hold no password: libpq has safer ways."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from tableveil.errors import InvalidError


def check_url(url: str, field: str) -> None:
    """Raises `InvalidError`, without the URL, if a password is in it."""
    parts = urlsplit(url)
    secret = [key for key, _ in parse_qsl(parts.query, keep_blank_values=True) if "password" in key or "secret" in key]
    if parts.password is not None or secret:
        raise InvalidError.of(
            *("POSTGRESQL_PASSWORD", field, "a password in the URL", "an URL without one"),
            "Others can see the arguments of a command. Write the password to ~/.pgpass or the file that PGPASSFILE "
            "names, to a service (PGSERVICEFILE), or to PGPASSWORD.",
        )
