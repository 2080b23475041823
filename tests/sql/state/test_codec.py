"""Documents of results: what is written in them is read again."""

from dataclasses import dataclass

from tableveil.errors import note
from tableveil.state.codec import written


@dataclass(frozen=True)
class _Said:
    words: tuple[str, ...]


def test_a_warning_is_its_text() -> None:
    """Proposals keep texts that are warnings elsewhere."""
    said = written({"said": _Said((note("It says so."),))})
    assert str(said).count("It says so.") == 1
