"""Checks rows whose combinations of values have levels of their own: what their labels stand for, and whose they are.

From the written rows, the tables of labels, source and population alone: that every label stands for one set of values,
and how many people and records have all labels of a class. From the levels that were chosen, which are given: that the
rows are the source's by these levels, as multisets.
"""

from tableveil.backend import Session, WarehouseSession
from tableveil.policy import Policy
from tableveil.verification.text import Name, differing, near, quoted, spelled
from tableveil.verification.written import OWN_LEVELS, Labels, Written

AT_ONCE = 4_000_000
"""Combinations times transformations that one statement looks at."""


def read_own_levels(rows: WarehouseSession, policy: Policy, written: Written, count_people: bool = True) -> list[str]:
    """Makes the tables of labels and combinations, and says what is wrong with the labels; then there are no tables.

    `said` has the classes of `judged_classes` with the numbers of their labels, `counted` the people and records whose
    values are among those of all labels of a class. Counting takes the longest: it is left out unless `count_people`.
    """
    session, problems = rows.embedded, list[str]()
    for i, labels in enumerate(written.labels):
        problems += _name_labels(session, i, labels, written)
    if not problems:
        _read_labels(session, written)
        _read_combinations(rows, policy, written)
        if count_people:
            _count_people(session, written)
            problems += _check_sizes(session)
        problems += _check_chosen(session, written)
    return problems


def drop_own_levels(session: Session, written: Written) -> None:
    """Drops the tables that `read_own_levels` made."""
    per_label = (f"{table}_{i}" for i in range(len(written.labels)) for table in ("names", "meanings"))
    for made in ("combinations", "owned_combinations", "said", "counted", *per_label):
        session.execute(f"DROP TABLE IF EXISTS temp.main.{made}")


def _check_sizes(session: Session) -> list[str]:
    more = session.value(
        "SELECT count(*) FROM said AS s LEFT JOIN counted AS k USING (class) WHERE s.size > coalesce(k.records, 0)"
    )
    return [f"{more} classes have more records than the source has of their labels"] if more else []


def _name_labels(session: Session, i: int, labels: Labels, written: Written) -> list[str]:
    """Numbers a column's labels at the levels in use, each with its least level, and lists those of every value."""
    texts = {level: _text(labels, level, written) for level in labels.levels}
    stood = " UNION ALL ".join(
        f"SELECT {level} AS level, {text} AS label, code FROM {quoted(labels.table)} AS d"
        for level, text in texts.items()
    )
    session.stage(
        f"names_{i}",
        f"SELECT row_number() OVER () AS id, label, min(level) AS level, "
        "count(DISTINCT {'n': n, 'set': codes}) = 1 AS one_meaning FROM (SELECT level, label, count(*) AS n, "
        f"bit_xor(hash(code)) AS codes FROM ({stood}) GROUP BY level, label) GROUP BY label",
    )
    joins = " ".join(
        f"JOIN names_{i} AS n{level} ON n{level}.label IS NOT DISTINCT FROM {text}" for level, text in texts.items()
    )
    ids = ", ".join(f"{level}: n{level}.id" for level in texts)
    session.stage(f"meanings_{i}", f"SELECT d.code, MAP {{{ids}}} AS ids FROM {quoted(labels.table)} AS d {joins}")
    ambiguous = session.value(f"SELECT count(*) FROM names_{i} WHERE NOT one_meaning")
    # No level of its own stands for a level: of what is released, all labels must be known.
    strange = session.value(
        f"SELECT count(*) FROM judged_classes AS c WHERE NOT c.pool AND NOT EXISTS (SELECT 1 FROM names_{i} AS n "
        f"WHERE n.label IS NOT DISTINCT FROM CAST(c.q{i} AS VARCHAR))"
    )
    problems = []
    if ambiguous:
        problems.append(f"{ambiguous} labels of a quasi-identifier stand for different values at different levels")
    if strange:
        problems.append(f"{strange} classes have a label that is not in its hierarchy at the released levels")
    return problems


def _text(labels: Labels, level: int, written: Written) -> str:
    """A label, as text, of the table of labels under the alias `d`."""
    label = f"d.{quoted(labels.columns[level])}"
    return label if level else f"CAST({spelled(label, dict(written.source_types)[labels.column])} AS VARCHAR)"


def _read_labels(session: Session, written: Written) -> None:
    """`said` has the classes with the numbers and the least levels of their labels."""
    keys = range(len(written.labels))
    actual = ", ".join(f"n{i}.id AS i{i}, n{i}.level AS l{i}" for i in keys)
    joins = " ".join(f"JOIN names_{i} AS n{i} ON n{i}.label IS NOT DISTINCT FROM CAST(c.q{i} AS VARCHAR)" for i in keys)
    session.stage("said", f"SELECT c.*, {actual} FROM judged_classes AS c {joins} WHERE NOT c.pool")


def _read_combinations(rows: WarehouseSession, policy: Policy, written: Written) -> None:
    """`combinations` has those of the source and of the population, with their `records` and `people`."""
    keys = range(len(written.labels))
    codes = ", ".join(f"c{i}" for i in keys)
    own = near(rows, "source_combinations", coded(written.source_rows, written))
    population = _population(policy, written)
    if population is None:
        query = f"SELECT {codes}, n AS records, n AS people FROM {own}"
    else:
        others = near(rows, "population_combinations", coded(quoted(*population), written))
        query = (
            f"SELECT {codes}, sum(records)::BIGINT AS records, sum(people)::BIGINT AS people FROM ("
            f"SELECT {codes}, n AS records, 0 AS people FROM {own} UNION ALL "
            f"SELECT {codes}, 0, n FROM {others}) GROUP BY ALL"
        )
    rows.embedded.stage("combinations", query)


def _population(policy: Policy, written: Written) -> Name | None:
    """The table whose rows are the population; None if the source estimates it."""
    if policy.population is None or not policy.population.has_rows:
        return None
    table = policy.population.table
    return (written.rows[0], table.schema or "main", table.table) if table is not None else written.source


def coded(rows: str, written: Written, also: str = "") -> str:
    """The combinations of codes in rows `p` of the source's columns, and of more columns, with their number `n`."""
    types = dict(written.source_types)
    joins = " ".join(
        f"JOIN {quoted(labels.table)} AS d{i} ON d{i}.value IS NOT DISTINCT FROM "
        f"TRY_CAST(p.{quoted(labels.column)} AS {types[labels.column]})"
        for i, labels in enumerate(written.labels)
    )
    not_withheld = " AND ".join(
        f"p.{quoted(labels.column)} IS NOT NULL" for labels in written.labels if labels.withholds
    )
    codes = [f"d{i}.code AS c{i}" for i in range(len(written.labels))] + [also] * bool(also)
    return (
        f"SELECT {', '.join(codes)}, count(*) AS n FROM {rows} AS p {joins} WHERE {not_withheld or 'TRUE'} GROUP BY ALL"
    )


def _count_people(session: Session, written: Written) -> None:
    """`counted` has, per class, the people and the source's records whose values are among those of all its labels."""
    keys = range(len(written.labels))
    levels, ids = ", ".join(f"l{i}" for i in keys), ", ".join(f"i{i}" for i in keys)
    session.execute("CREATE OR REPLACE TEMPORARY TABLE counted (class BIGINT, people BIGINT, records BIGINT)")
    transformations = session.value(f"SELECT count(*) FROM (SELECT DISTINCT {levels} FROM said)")
    step = max(1, AT_ONCE // max(session.value("SELECT count(*) FROM combinations"), 1))
    meant = ", ".join(f"t.l{i}, m{i}.ids[t.l{i}] AS i{i}" for i in keys)
    joins = " ".join(f"JOIN meanings_{i} AS m{i} ON m{i}.code = k.c{i}" for i in keys)
    for first in range(0, transformations, step):
        some = f"(SELECT DISTINCT {levels} FROM said ORDER BY ALL LIMIT {step} OFFSET {first})"
        session.execute(
            "INSERT INTO counted SELECT s.class, g.people, g.records FROM ("
            f"SELECT {meant}, sum(k.people)::BIGINT AS people, sum(k.records)::BIGINT AS records "
            f"FROM combinations AS k {joins} CROSS JOIN {some} AS t GROUP BY ALL) AS g "
            f"JOIN said AS s USING ({levels}, {ids})"
        )


def chosen_labels(written: Written, of: str = "combinations", shown: str = "k.records, k.people") -> str:
    """The combinations that are released, with the numbers of the labels and the levels that were chosen for them.

    `shown` are other columns of the table of combinations.
    """
    keys = range(len(written.labels))
    ids = ", ".join(
        f"m{i}.ids[o.l{labels.position}] AS i{i}, o.l{labels.position} AS l{i}"
        for i, labels in enumerate(written.labels)
    )
    joins = " ".join(f"JOIN meanings_{i} AS m{i} ON m{i}.code = k.c{i}" for i in keys)
    same = " AND ".join(f"o.c{labels.position} = k.c{i}" for i, labels in enumerate(written.labels))
    return f"SELECT {ids}, {shown} FROM {of} AS k JOIN temp.main.{OWN_LEVELS} AS o ON {same} {joins}"


def _check_chosen(session: Session, written: Written) -> list[str]:
    """The classes are those of the source's records at the levels that were chosen for them."""
    ids = ", ".join(f"i{i}" for i in range(len(written.labels)))
    said = f"SELECT {ids}, sum(size) FROM said GROUP BY ALL"
    chosen = f"SELECT {ids}, sum(records) FROM ({chosen_labels(written)}) GROUP BY ALL HAVING sum(records) > 0"
    differ = session.value(differing(said, chosen))
    return ["the classes are not those of the source at the levels that were chosen"] if differ else []
