"""The store of changes that their callers named, each with its answer, so that a repeated request changes nothing."""

from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from tableveil.backend import Ledger


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Identifies a request: its owner, its method, and the id that the owner gave it."""

    owner: str
    method: str
    request_id: str

    @property
    def kept(self) -> list[str]:
        """The key as it is kept: the id is also the key of the digest, and requests may name people."""
        return [self.owner, self.method, sha256(self.request_id.encode()).hexdigest()]


@dataclass(frozen=True, slots=True)
class Answered:
    """The kept part of a request; `digest` identifies its content.

    It has no `answer` between the commit of the change and the end of the call, and once the answer is forgotten.
    """

    digest: str
    changed_at: datetime
    answer: bytes | None = None


_KEY = "owner = ? AND method = ? AND id_hash = ?"


def find(ledger: Ledger, key: RequestKey) -> Answered | None:
    """The request of that key, if there was one."""
    query = f"SELECT digest, changed_at, answer FROM tableveil.answered_requests WHERE {_KEY}"
    return next((Answered(*row) for row in ledger.rows(query, key.kept)), None)


def keep(ledger: Ledger, key: RequestKey, answered: Answered) -> None:
    """Puts a request in place of what is there of it; call it in a transaction."""
    ledger.execute(f"DELETE FROM tableveil.answered_requests WHERE {_KEY}", key.kept)
    values = [*key.kept, *astuple(answered)]
    ledger.execute("INSERT INTO tableveil.answered_requests VALUES (?, ?, ?, ?, ?, ?)", values)


def forget_answers(ledger: Ledger, service: str = "") -> None:
    """Forgets the answers of the methods of a service, by default all, which may show what is deleted now.

    The requests stay known. Call it in a transaction.
    """
    ledger.execute(
        "UPDATE tableveil.answered_requests SET answer = NULL WHERE answer IS NOT NULL AND contains(method, ?)",
        [f"{service}/"],
    )


def delete_old(ledger: Ledger, age: timedelta) -> None:
    """Forgets the requests that are older than `age`."""
    query = "DELETE FROM tableveil.answered_requests WHERE changed_at < now()::TIMESTAMP - ?"
    ledger.execute(query, [age])
