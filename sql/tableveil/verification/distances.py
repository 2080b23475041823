"""How far the values of classes are from those of sets of records that contain them, in SQL text, exactly.

Reads temporary tables of the verification:

- `spread` (class, position, records): how the records of each class spread over the values;
- `reference` (superset, position, records): how the records of each superset spread over them;
- `pairs` (class, superset, size, superset_size): the pairs to compare. Every record of a class is in its superset;
- `value_groups` (position, l0, l1, …): the group of each value at each level of its hierarchy, for hierarchical
  distances.

Each query gives `class`, `superset`, and whole numbers `distance` and `one`: the distance is the first divided by the
second. With a and b records of a value in a class of n and a superset of N, everything is a sum of N a - n b.
"""

from tableveil.policy import Distance


def distances(distance: Distance, values: int, top: int) -> str:
    """The query. `values` is the number of values in the whole column, `top` the highest level of their hierarchy."""
    match distance:
        case Distance.EQUAL:
            return _EQUAL
        case Distance.ORDERED:
            return _ORDERED.format(steps=values - 1)
        case Distance.HIERARCHICAL:
            return _HIERARCHICAL.format(levels=" UNION ALL ".join(map(_cost, range(1, top + 1))), top=top)


# Half of the sum of |a/n - b/N|. A value that the class lacks differs by b/N; all b/N together are 1.
_EQUAL = """
SELECT p.class, p.superset,
    sum(abs(p.superset_size * s.records::HUGEINT - p.size * r.records::HUGEINT) - p.size * r.records::HUGEINT)
        + p.size::HUGEINT * p.superset_size AS distance,
    2 * p.size::HUGEINT * p.superset_size AS one
FROM spread AS s JOIN pairs AS p USING (class)
JOIN reference AS r ON r.superset = p.superset AND r.position = s.position
GROUP BY p.class, p.superset, p.size, p.superset_size
"""

# The area between two cumulative distributions, divided by the number of steps between the first value and the last.
# The superset's distribution rises at each of its values (`total`), and has some `area` up to there. The class's
# distribution is constant from one of the class's values to the next, so that the two cross there once at most.
_ORDERED = """
WITH totals AS (
    SELECT superset, position, sum(records) OVER up_to AS total, lead(position) OVER up_to AS following
    FROM reference WINDOW up_to AS (PARTITION BY superset ORDER BY position)
), steps AS (
    SELECT superset, position, total, coalesce(sum(total * (following - position)) OVER (
        PARTITION BY superset ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS area
    FROM totals
), ends AS (
    SELECT superset, max(position) AS position, max(area) AS area FROM steps GROUP BY superset
), present AS (
    SELECT p.*, t.position, t.area, sum(s.records) OVER up_to * p.superset_size::HUGEINT AS height,
        lead(t.position) OVER up_to AS next_position, lead(t.area) OVER up_to AS next_area
    FROM spread AS s JOIN pairs AS p USING (class)
    JOIN steps AS t ON t.superset = p.superset AND t.position = s.position
    WINDOW up_to AS (PARTITION BY p.class, p.superset ORDER BY t.position)
), gaps AS (
    SELECT p.* EXCLUDE (next_position, next_area), p.height // p.size AS crossed,
        coalesce(p.next_position, e.position) AS upto, coalesce(p.next_area, e.area) AS upto_area
    FROM present AS p JOIN ends AS e USING (superset)
), crossings AS (
    SELECT g.*, least(coalesce(t.position, g.upto), g.upto) AS split_later,
        least(coalesce(t.area, g.upto_area), g.upto_area) AS split_area_later
    FROM gaps AS g ASOF LEFT JOIN steps AS t ON g.superset = t.superset AND g.crossed < t.total
), splits AS (
    SELECT *, greatest(split_later, position) AS split, greatest(split_area_later, area) AS split_area FROM crossings
)
SELECT class, superset, size * min(area) + sum(
    height * (split - position) - size * (split_area - area)
    + size * (upto_area - split_area) - height * (upto - split)) AS distance,
    {steps} * size::HUGEINT * superset_size AS one
FROM splits GROUP BY class, superset, size, superset_size
"""

# Li et al. 2007, section 5.2. A node's surplus and deficit are sums over its children; the smaller of both moves below
# the node. Only nodes with some value of the class have a surplus.
_HIERARCHICAL = """
SELECT class, superset, sum(cost)::HUGEINT AS distance, {top} * size::HUGEINT * superset_size AS one
FROM ({levels}) GROUP BY class, superset, size, superset_size
"""


def _cost(level: int) -> str:
    """The mass that moves below the nodes of a level, times their height."""
    return f"""
SELECT class, superset, size, superset_size, {level} * sum(least(given, given - surplus)) AS cost FROM (
    SELECT c.class, c.superset, c.size, c.superset_size, c.node, sum(greatest(c.surplus, 0)) AS given,
        any_value(c.superset_size::HUGEINT) * sum(c.records) - any_value(c.size::HUGEINT * n.records) AS surplus
    FROM (
        SELECT class, superset, size, superset_size, child, node, a.records,
            superset_size::HUGEINT * a.records - size::HUGEINT * b.records AS surplus
        FROM (
            SELECT p.class, p.superset, p.size, p.superset_size, g.l{level - 1} AS child, g.l{level} AS node,
                sum(s.records) AS records
            FROM spread AS s JOIN pairs AS p USING (class) JOIN value_groups AS g USING (position) GROUP BY ALL
        ) AS a JOIN (
            SELECT r.superset, g.l{level - 1} AS child, sum(r.records) AS records
            FROM reference AS r JOIN value_groups AS g USING (position) GROUP BY ALL
        ) AS b USING (superset, child)
    ) AS c JOIN (
        SELECT r.superset, g.l{level} AS node, sum(r.records) AS records
        FROM reference AS r JOIN value_groups AS g USING (position) GROUP BY ALL
    ) AS n USING (superset, node)
    GROUP BY c.class, c.superset, c.size, c.superset_size, c.node
) GROUP BY class, superset, size, superset_size
"""
