"""The rights by which jobs were admitted: they say which earlier releases a release is compared and judged with."""

from tableveil.backend import Ledger, Scopes


def insert(ledger: Ledger, job: int, rights: Scopes) -> None:
    """Keeps the rights of a job; call it in the transaction that admits it."""
    tables = [list(table) for table in sorted(rights.tables)]
    given = [job, rights.everything, sorted(rights.schemas), tables, sorted(rights.releases)]
    ledger.execute("INSERT INTO tableveil.job_rights VALUES (?, ?, ?, ?::VARCHAR[][], ?)", given)


def of_job(ledger: Ledger, job: int) -> Scopes:
    """The rights by which a job was admitted; none if nobody kept them."""
    query = "SELECT everything, schemas, tables, releases FROM tableveil.job_rights WHERE job = ?"
    for everything, schemas, tables, releases in ledger.rows(query, [job]):
        named = frozenset((schema, table) for schema, table in tables)
        return Scopes(everything, frozenset(schemas), named, frozenset(releases))
    return Scopes()


def forget(ledger: Ledger, job: int) -> None:
    """Deletes the rights of a job that is deleted; call it in a transaction."""
    ledger.execute("DELETE FROM tableveil.job_rights WHERE job = ?", [job])
