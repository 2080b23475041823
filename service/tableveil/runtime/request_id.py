"""The permitted names of requests."""

from tableveil.errors import InvalidError, shortened

LONGEST = 1000
"""Characters: orchestrators put the names of pipeline, run and task together."""


def check_request_id(request_id: str) -> None:
    """Raises `InvalidError` for a name that is too long, or could not be shown in a terminal as it is."""
    if len(request_id) > LONGEST or not request_id.isprintable():
        raise InvalidError.of(
            "REQUEST_ID_INVALID",
            "request_id",
            shortened(request_id),
            f"at most {LONGEST:,} printable characters, without line breaks or control characters",
        )
