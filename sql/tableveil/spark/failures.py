"""Translates Spark's exceptions; their texts quote columns, statements and values, and are dropped."""

import re

from pyspark.errors import PySparkException

from tableveil.control import Stopped
from tableveil.errors import BusyError, ConflictError, InternalError, InvalidError, TableveilError

_CHANGED = (
    *("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "UNRESOLVED_COLUMN", "PATH_NOT_FOUND", "FAILED_READ_FILE"),
    *("INCOMPATIBLE_VIEW_SCHEMA_CHANGE", "AMBIGUOUS_REFERENCE"),
)
_EXISTS = ("TABLE_OR_VIEW_ALREADY_EXISTS", "LOCATION_ALREADY_EXISTS", "RENAME_SRC_PATH_NOT_FOUND")
_RESTARTED = ("INVALID_HANDLE.SESSION", "INVALID_HANDLE.OPERATION", "INVALID_CURSOR")
_GONE = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
_REFUSED = ("UNAUTHENTICATED", "PERMISSION_DENIED")
_DENIED = re.compile(r"AccessControlException|AccessDenied|Permission denied|\b403\b|Mkdirs failed to create")
_MEMORY = re.compile(r"OutOfMemoryError|_OUT_OF_MEMORY|UNABLE_TO_ACQUIRE_MEMORY|NOT_ENOUGH_MEMORY|maxResultSize")
_EXECUTORS = re.compile(r"ExecutorLostFailure|Executor heartbeat timed out|FetchFailed|NO_EXECUTORS")


def translated(error: Exception, warehouse: str) -> TableveilError | Stopped:
    """Translates an exception of PySpark or gRPC into one of ours; raise it `from None`."""
    condition = (error.getCondition() if isinstance(error, PySparkException) else None) or ""
    message = str(error)
    status = _status(error)
    if condition == "OPERATION_CANCELED":
        return Stopped()
    if status in _GONE:
        return unavailable(warehouse, "no answer from its Spark Connect server")
    if status in _REFUSED:
        return InvalidError.of(
            "WAREHOUSE_REFUSED",
            warehouse,
            "a Spark Connect server that refuses the connection",
            "a token that it accepts",
            "Give it in the warehouse's address (;token=…), or in SPARK_CONNECT_AUTHENTICATE_TOKEN.",
        )
    if condition.startswith(_RESTARTED) or "server side session identifier" in message:
        return unavailable(warehouse, "a Spark Connect server that was restarted meanwhile")
    if _EXECUTORS.search(message):
        return unavailable(warehouse, "executors that were lost")
    if _MEMORY.search(message):
        return BusyError.of(
            "WAREHOUSE_OUT_OF_MEMORY",
            warehouse,
            "a statement that does not fit into the memory of its driver or executors",
            "enough memory",
            "Give Spark more memory or more executors; docs/explanations/scale.md says what a job takes.",
        )
    if "No space left" in message:
        hint = "Free space where Spark spills, or where its tables are; nothing of this was released."
        return BusyError.of("WAREHOUSE_DISK_FULL", warehouse, "no space left on a disk", "free space", hint)
    if _DENIED.search(message):
        return InvalidError.of(
            "WAREHOUSE_DENIED",
            warehouse,
            "a table or path that Spark may not read or write",
            "rights for the user that the Spark Connect server runs as",
        )
    if condition.startswith(_EXISTS):
        expected = "a name, and a directory of that name, that is free"
        return ConflictError.of("WAREHOUSE_TABLE_EXISTS", warehouse, "a table or its directory already there", expected)
    if condition.startswith(_CHANGED):
        return ConflictError.of(
            "WAREHOUSE_TABLE_CHANGED",
            warehouse,
            f"a table, column or file that is not there any more ({condition})",
            "tables that stay as they are while a job runs",
            "Submit the job again.",
        )
    return InternalError(
        "WAREHOUSE_ERROR", f"{warehouse}: Spark refused a statement ({condition or type(error).__name__})"
    )


def unavailable(warehouse: str, found: str) -> BusyError:
    """The error for a warehouse that cannot be worked with now."""
    hint = "Look at the Spark Connect server and its cluster, then submit the job again: nothing was released."
    return BusyError.of("WAREHOUSE_UNAVAILABLE", warehouse, found, "a Spark Connect server that answers", hint)


def _status(error: Exception) -> str:
    """The name of gRPC's status; PySpark tells it, or lets gRPC's own exception through."""
    status = getattr(error, "getGrpcStatusCode", None) or getattr(error, "code", None)
    return getattr(status(), "name", "") if callable(status) else ""
