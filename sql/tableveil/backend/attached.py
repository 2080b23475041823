"""A database file of its own beside the server's, written through the same session."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tableveil.backend.expressions import text
from tableveil.backend.render import render
from tableveil.backend.session import Session
from tableveil.errors import TableveilError


@contextmanager
def attached(session: Session, path: Path) -> Iterator[str]:
    """A new database file with a unique name while the block runs; its log is folded into it at the end.

    No list of the catalog names what is in it. Lists begin a transaction in each database that they name, and a log is
    not folded while others have one there: each job and each target lists.
    """
    name = f"attached_{secrets.token_hex(8)}"
    session.execute(f"ATTACH {render(text(str(path)))} AS {name} (HIDDEN true)")
    try:
        path.chmod(0o600)
        yield name
        session.execute(f"CHECKPOINT {name}")
    except BaseException:
        # A failure to fold it does not matter any more.
        session.control = None
        _detach_anyway(session, name)
        raise
    session.execute(f"DETACH {name}")


def _detach_anyway(session: Session, name: str) -> None:
    try:
        session.execute(f"DETACH {name}")
    except TableveilError:
        # It detaches even where folding fails.
        return
