"""Published tables as PostgreSQL has them: their columns, who reads these, and the enums that are left over."""

from collections.abc import Sequence
from dataclasses import dataclass

from tableveil.publishing.postgresql_types import Arriving

COLUMNS = """
SELECT attname::text, format_type(atttypid, atttypmod), coalesce(array_agg(enumlabel::text ORDER BY enumsortorder)
    FILTER (WHERE enumlabel IS NOT NULL), '{}')
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
LEFT JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
    AND attgenerated = '' LEFT JOIN pg_enum ON enumtypid = atttypid
WHERE nspname::text = $1 AND relname::text = $2 AND relkind = 'r' GROUP BY attname, atttypid, atttypmod, attnum
ORDER BY attnum"""
"""Name, type and labels of the columns of a table, by schema and name; one row of NULLs for a table without any."""

READERS = """
SELECT DISTINCT a.attname::text, format('%s.%s', views.nspname, v.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_depend ON refclassid = 'pg_class'::regclass AND refobjid = c.oid AND classid = 'pg_rewrite'::regclass
JOIN pg_rewrite r ON r.oid = objid JOIN pg_class v ON v.oid = ev_class AND v.oid <> c.oid
JOIN pg_namespace views ON views.oid = v.relnamespace
LEFT JOIN pg_attribute a ON attrelid = c.oid AND attnum = refobjsubid
WHERE n.nspname::text = $1 AND c.relname::text = $2 ORDER BY 1, 2"""
"""The columns of a table that views read, by schema and name; NULL with the views that read whole rows of it."""

UNUSED_TYPES = """
SELECT typname::text FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace
WHERE nspname::text = $1 AND typtype = 'e' AND typname ~ '^tableveil_[0-9a-f]{16}_' AND NOT EXISTS (
    SELECT 1 FROM pg_depend
    WHERE refclassid = 'pg_type'::regclass AND refobjid IN (t.oid, typarray) AND deptype <> 'i')"""
"""The enums of a schema that were made for released columns, and that nothing has."""


@dataclass(frozen=True, slots=True)
class StandingColumn:
    """A column of a published table; `labels` are those of an enum."""

    name: str
    type: str
    labels: tuple[str, ...]

    def has_type_of(self, column: Arriving) -> bool:
        """Whether an arriving column has this very type."""
        return self.labels == column.labels and (bool(self.labels) or self.type == column.type)

    def takes(self, column: Arriving) -> bool:
        """Whether all values of an arriving column fit in, and sort as they should; an enum may have further labels."""
        if not (self.labels and column.labels):
            return self.has_type_of(column)
        ranks = {label: rank for rank, label in enumerate(self.labels)}
        label_ranks = [ranks.get(label, -1) for label in column.labels]
        return -1 not in label_ranks and label_ranks == sorted(label_ranks)


def differing(
    there: Sequence[StandingColumn], columns: Sequence[Arriving]
) -> list[tuple[StandingColumn | None, Arriving | None]]:
    """The columns that go away, that get another type, and that come."""
    standing, arriving = {one.name: one for one in there}, {one.name: one for one in columns}
    both = [(one, arriving.get(one.name)) for one in there]
    changed: list[tuple[StandingColumn | None, Arriving | None]] = [
        (one, new) for one, new in both if new is None or not one.has_type_of(new)
    ]
    return changed + [(None, new) for new in columns if new.name not in standing]
