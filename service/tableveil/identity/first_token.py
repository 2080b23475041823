"""The token that a new database begins with, in a file that only the owner of the database may read."""

import os
import tempfile
from collections.abc import Collection
from pathlib import Path

from tableveil.errors import InternalError, shortened
from tableveil.identity.secret import new_secret, token_file
from tableveil.identity.tokens import Tokens

PRINCIPAL, LABEL = "admin", "first"


def make_first_token(tokens: Tokens, database: Path, roles: Collection[str]) -> Path | None:
    """Makes a token with these roles that never expires, if there never was a token, and returns its file.

    Raises:
        InternalError: the file cannot be written.
    """
    if not tokens.is_empty():
        return None
    secret, path = new_secret(), token_file(database)
    # First the file: a token in the ledger that nobody can read would be lost, a file without one is replaced.
    _write(path, secret)
    tokens.create(PRINCIPAL, LABEL, roles, None, secret, without_call="serve")
    return path


def _write(path: Path, secret: str) -> None:
    """Replaces whatever has the name, also a symbolic link, by a file of mode 0600 that is whole from the beginning."""
    try:
        descriptor, partial = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{secret}\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise
    except OSError as error:
        message = f"{shortened(str(path))}, for the first token, could not be written: {error.strerror}"
        raise InternalError("TOKEN_UNWRITABLE", message) from None
