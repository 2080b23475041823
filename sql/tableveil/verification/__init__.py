"""The verification: code of its own checks the written objects, before they are committed.

It quotes, counts and compares in SQL text of its own, does its own exact arithmetic, and computes every privacy model
from its definition. From the plan of a release it takes (`Written`):
- the places of the source, the rows, the classes and the risk tables, and the expected columns and types of the rows;
- the tables of the dictionaries' labels, and the levels at which columns are released;
- the number of records that the search kept, and the score that it reports;
- the temporary tables that the writer was given: levels of combinations, aggregates and members of clusters.

The estimators of population uniqueness (`tableveil.risk`) are the one piece that it shares with the privacy rules: they
are numerical methods, and the verification counts their inputs itself.
"""

from tableveil.verification.verify import verify
