"""Spark's exceptions become errors of ours by their conditions; nothing of their texts is told."""

from __future__ import annotations

import pytest

from tableveil.control import Stopped
from tableveil.errors import TableveilError

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.errors import PySparkException

from tableveil.spark.failures import translated


class _Failed(PySparkException):  # type: ignore[misc]
    """As Spark Connect reports one: with a condition, and a text in which a value may be."""

    def __init__(self, condition: str, text: str) -> None:
        super().__init__(f"[{condition}] {text} 'Smith'")
        self._condition = condition

    def getCondition(self) -> str:  # noqa: N802
        return self._condition


@pytest.mark.parametrize(
    ("condition", "text", "code"),
    [
        ("CAST_INVALID_INPUT", "The value", "WAREHOUSE_ERROR"),
        ("TABLE_OR_VIEW_NOT_FOUND", "The table", "WAREHOUSE_TABLE_CHANGED"),
        ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "A column", "WAREHOUSE_TABLE_CHANGED"),
        ("FAILED_READ_FILE.FILE_NOT_EXIST", "file:/lake", "WAREHOUSE_TABLE_CHANGED"),
        ("TABLE_OR_VIEW_ALREADY_EXISTS", "Cannot create", "WAREHOUSE_TABLE_EXISTS"),
        ("LOCATION_ALREADY_EXISTS", "Cannot name", "WAREHOUSE_TABLE_EXISTS"),
        ("INVALID_HANDLE.SESSION_NOT_FOUND", "The handle", "WAREHOUSE_UNAVAILABLE"),
        ("", "Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited)", "WAREHOUSE_UNAVAILABLE"),
        ("UNABLE_TO_ACQUIRE_MEMORY", "Unable to acquire", "WAREHOUSE_OUT_OF_MEMORY"),
        ("", "java.lang.OutOfMemoryError: Java heap space", "WAREHOUSE_OUT_OF_MEMORY"),
        ("TASK_WRITE_FAILED", "java.io.IOException: No space left on device", "WAREHOUSE_DISK_FULL"),
        ("", "AccessControlException: Permission denied: user=tableveil, path=/lake", "WAREHOUSE_DENIED"),
        ("TASK_WRITE_FAILED", "java.io.IOException: Mkdirs failed to create file:/lake/t", "WAREHOUSE_DENIED"),
        ("FAILED_READ_FILE.NO_HINT", "AccessDenied (Status Code: 403)", "WAREHOUSE_DENIED"),
    ],
)
def test_codes(condition: str, text: str, code: str) -> None:
    failure = translated(_Failed(condition, text), "lake")
    assert isinstance(failure, TableveilError)
    assert failure.code == code
    assert "Smith" not in str(failure)
    assert "/lake" not in str(failure)


def test_a_cancelled_operation_is_no_error() -> None:
    assert isinstance(translated(_Failed("OPERATION_CANCELED", "Operation has been canceled"), "lake"), Stopped)
