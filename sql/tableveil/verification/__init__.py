"""The verification: other code than the writer's checks the written objects, before they are committed.

It quotes, counts and compares in SQL text of its own, does its own exact arithmetic, and computes every privacy model
from its definition. From the plan of a release it takes (`Written`):
- where the source, the rows, the classes and the risk tables are, and which columns and types the rows should have;
- the tables of the dictionaries' labels, and the levels at which columns are released;
- how many records the search kept, and the score that it reports;
- the temporary tables that the writer was given: levels of combinations, aggregates and members of clusters.

The estimators of population uniqueness (`tableveil.risk`) are the one piece that it shares with the privacy rules: they
are numerical methods, and the verification counts anew what they are given.
"""

from tableveil.verification.verify import verify
from tableveil.verification.written import Labels, Written, WrittenAggregate

__all__ = ["Labels", "Written", "WrittenAggregate", "verify"]
