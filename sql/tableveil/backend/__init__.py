"""The database: one process owns the file, one session per thread, every statement a tree until it is rendered here.

DuckDB 2.0 does the following, and the code around it answers so:

- One process owns a file. A second opener gets a clear error (`database.py`).
- A connection is not for several threads. Each thread has a cursor; temporary tables are visible to their own cursor
  only, so a job has one session throughout.
- A plain SET does not reach cursors. Settings are made at connect time or GLOBAL, then locked.
- It measures how far a statement is only for its progress bar. The two settings of the bar are the only ones that stay
  open, and it prints nothing.
- A join condition with a constant beside an OR compares all pairs. The verification joins by equalities alone.
- Joins lose the order of rows. Rows are sorted as small numbers, and lists turn these into labels afterwards.
- SQL can read files. `enable_external_access` is off.
- An interrupt that comes before its statement starts is lost. One thread interrupts again and again until the statement
  has ended (`interrupter.py`).
- An interrupt or error aborts the transaction and drops temporary tables made in it. Searching happens outside of
  transactions; suppressed keys are staged before the write begins.
- COMMIT on an aborted transaction reports success and writes nothing. After each commit of a release, another cursor
  looks for it.
- COMMIT cannot be interrupted. It is the point of no return: a job cancelled later completes.
- Two transactions that update one row conflict. State is appended, never updated; jobs can be deleted with their
  results, the ledger never.
- A transaction keeps seeing the rows it began with. Everything is read in one; the write checks the fingerprint in its
  own.
- Spilled data is raw data and survives kill -9. It has one private directory, swept at start and stop.
- `memory_limit` is per instance. Concurrent jobs share it by budgets, and the others wait.
- It keeps some 200 bytes of each block that a join or an aggregate freed, until a queue has many thousands of them. The
  memory of a server grows by some 20 MiB in its first 2,000 jobs for that, and by less and less.
- Values can be equal and look different (-0.0, collations). They get one spelling, or their types are refused.
- Sums of doubles differ from run to run with several threads. A source query sums them in an order, or as decimals.
- `current_timestamp` in a macro is folded when it is bound. Built-in macros are looked into, others refused.
- Temporary tables shadow names without a schema. The names in a source query are completed.
- Casting TIMESTAMP_NS to TIMESTAMP rounds, into the next day at its end. Its text is cut to microseconds first.
- A failed checkpoint invalidates the database, also the one of a commit. The server ends with 1, to be started again;
  committed rows are there.
- A commit without room for the log is a TransactionException. Clients get DISK_FULL, and nothing was written.
- COPY FROM DATABASE is a snapshot, and sequences are outside of it. A backup's sequences must have reached those read
  before.
"""

from tableveil.backend.arrow_types import WITHOUT_ARROW, arrow_type, cleared
from tableveil.backend.attached import attached
from tableveil.backend.database import Database, Settings, check_path, read_only
from tableveil.backend.expressions import (
    alias,
    cast,
    column,
    conjunction,
    create_table,
    drop,
    expression,
    identifier,
    in_one_spelling,
    in_order,
    is_finite,
    joined_by,
    json_members,
    left_join,
    listed,
    month_start,
    number,
    parameter,
    row_hash,
    row_number,
    sql,
    table,
    text,
    try_cast,
    united,
)
from tableveil.backend.file_names import file_name
from tableveil.backend.render import render
from tableveil.backend.session import Ledger, Session, committed_with
from tableveil.backend.traits import Traits
from tableveil.backend.visibility import (
    ALL,
    EVERYTHING,
    Scopes,
    Visibility,
    VisibilityNow,
    folded,
    present_visibility,
    see_from_now_on,
    seeing,
)
from tableveil.backend.warehouse import Listed, Warehouse, WarehouseSession, collected, create_from, scoped
