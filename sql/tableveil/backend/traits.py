"""The traits of engines that hold rows: how they differ. Code asks for the trait that it needs, never for the engine.

Each engine declares its traits once, beside its session.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The traits of an engine, each with its consequence.

    `collects`: the embedded session cannot read the engine's rows. They are counted there, the counts are brought over
    by `collect`, and tables of the embedded session are lent.

    `transactional`: one transaction holds several tables. Reads see one state of the rows, a release takes all of its
    names at once, and a dry run writes its rows and takes them back. Elsewhere fingerprints find what changed.

    `keeps_ledger`: the ledger is in the same transactions. A release is committed with its record. Elsewhere the ledger
    has the intent first; see `tableveil.release.swap`.

    `views_keep_rows`: the rows of a `view` are computed once. Elsewhere each statement that reads them computes them
    again: code asks for all that it needs in one.

    `reads_views`: a view may be the source, by the rights that the engine knows. Elsewhere a source is a table.

    `comments`: tables of a release have comments of ours. Elsewhere the verification refuses tables that have any: the
    engine may have copied those of the source.

    `knows_readers`: it tells which views read a table, and a withdrawal that would break one is refused.

    `shared`: other services may write to its schemas. Tables staged there have names that no other service takes.

    `names_collations`: the type of a column names its collation. Elsewhere the definition of the table does.
    """

    collects: bool
    transactional: bool
    keeps_ledger: bool
    views_keep_rows: bool
    reads_views: bool
    comments: bool
    knows_readers: bool
    shared: bool
    names_collations: bool


EMBEDDED = Traits(
    collects=False,
    transactional=True,
    keeps_ledger=True,
    views_keep_rows=True,
    reads_views=False,
    comments=True,
    knows_readers=True,
    shared=False,
    names_collations=False,
)
"""The embedded database's."""
