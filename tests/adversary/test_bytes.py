"""Shows that the bytes that are given away hold no value of the source that was not released."""

import re

import pyarrow as pa
import pytest

from tests.adversary import samples
from tests.adversary.publishing import Publish, Published, changed, texts
from tests.adversary.samples import canary
from tests.once import once

ABSENT = [canary("absent", i) for i in range(20)]

# The ward as an ENUM with members that no record has: an ENUM's type would carry them along.
ENUM_WARD = (
    "CREATE TYPE ward AS ENUM ("
    + ", ".join("'" + member.replace("'", "''") + "'" for member in ("east", "west", *ABSENT))
    + ")",
    "ALTER TABLE patients ALTER ward TYPE ward",
)


@pytest.mark.parametrize("form", once(samples.FORMS))
def test_no_unreleased_value_is_in_the_files(publish: Publish, form: str) -> None:
    source = samples.patients()
    published = publish(source, changed(samples.policy(), **samples.FORMS[form]), *ENUM_WARD)
    released = texts(list(published.objects.values()))
    hidden = (texts([source]) | set(ABSENT) | {city for city, _ in samples.cities()}) - released
    hidden -= {*source.column_names, "east", "west"}
    # All identifiers, all cities, absent members and the diagnoses of the suppressed.
    assert len(hidden) == 2 * len(source) + len(samples.cities()) + len(ABSENT) + published.suppressed
    shown = set(published.rows["diagnosis"].to_pylist()) - {None}
    assert len(shown) == len(source) - published.suppressed

    for name, content in contents(published).items():
        assert found(shown, content) == shown, f"{name}: the search itself does not see what is there"
        assert not found(hidden, content), name

    # The control: the file that held the source does hold them, which is why it is never given away.
    everything = texts([source]) - {*source.column_names, "F", "M", "east", "west"}
    assert found(everything, without_gaps(published.source_file.read_bytes())) == everything


def contents(published: Published) -> dict[str, bytes]:
    """The bytes of everything that is given away, with its compressed parts unpacked."""
    return {
        "database": without_gaps(published.database_file.read_bytes()),
        "parquet": b"".join(unpacked(path.read_bytes()) for path in published.parquet_files.values()),
        "arrow": b"".join(published.streams.values()),
    }


def without_gaps(content: bytes) -> bytes:
    """The content without long runs of zeros, of which most of a database file consists."""
    return re.sub(rb"\0{64,}", bytes(64), content)


def unpacked(content: bytes) -> bytes:
    """The content, followed by what its zstd frames hold."""
    parts = [content]
    start = content.find(_ZSTD)
    while start >= 0:
        with pa.CompressedInputStream(pa.BufferReader(content[start:]), "zstd") as frame:
            try:
                while part := frame.read(1):
                    parts.append(part)
            except OSError:
                # The frame ended, or there was none.
                pass
        start = content.find(_ZSTD, start + 1)
    return b"".join(parts)


_ZSTD = bytes.fromhex("28b52ffd")


def found(values: set[str], content: bytes) -> set[str]:
    """The values whose first eight characters, as statistics keep them, are in the content in any usual encoding."""
    encodings = ("utf-8", "utf-16-le", "utf-16-be")
    return {value for value in values if any(value[:8].encode(encoding) in content for encoding in encodings)}
