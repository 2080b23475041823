"""Apache Spark over Spark Connect as a place of rows; needs the extra `tableveil[spark]`.

Spark 4.3.0 does the following, and this package works around it:

- It puts variables of the machine in place of `${env:HOME}`, in names and texts, too. The session turns that off.
- `hash` has 32 bits, and `xxhash64` passes over NULLs. Whether a value is NULL is hashed before it.
- A sum that overflows is an error. Hashes are summed in three parts, put together as decimals of 38 digits.
- It interprets the arguments of approximate counts row by row. Hashes are computed in a subquery, which it compiles.
- Java does not compile methods of more than 8,000 bytes. The session asks for several smaller ones.
- It computes a condition below the subquery that computes its columns, once more for each name. Samples choose values
  by CASE, not by WHERE.
- It has no temporary tables, and computes a view each time. Small results are collected and lent back as Arrow.
- A task sees an interrupt when it reads its next row. The client interrupts again and again, and gives the statement up
  after three seconds.
- A killed CREATE TABLE AS leaves files that no DROP finds, and goes on. Tables are created empty and then filled. The
  name of a staged table names the session that writes it, which the next start ends.
- A CREATE TABLE AS takes over comments of columns, and lists of their values. Tables are declared by names and types.
- Renaming a table with a location of its own loses its files in Hive's catalog. So staged tables are in the target's
  schema.
- PySpark writes failing statements with their values to stderr, and its exceptions quote data. Its loggers are off, and
  errors have Spark's condition only.
"""

from tableveil.spark.declared import declared_warehouses
from tableveil.spark.warehouse import SparkWarehouse
