"""The check of plain English finds each kind of opening and phrase, in docstrings, comments and messages alike."""

from pathlib import Path

import pytest

from tests.project.plain_english import faults, long_sentences, main

FAULTY = [
    '"""What is counted."""',
    '"""Counts.\n\nOf each class its size."""',
    '"""Counts. Those that match are kept."""',
    '"""Counts.\n\nArgs:\n    rows: The same as before.\n"""',
    '"""Counts.\n\n- Who asked.\n"""',
    'WIDTH = 3\n"""That of a column."""',
    "# Whoever asks waits.",
    "# Rows are kept,\n# as far as they fit.",
    "rows = 3  # told by the counter",
    "# The counter mends what broke.",
    "# Fails if the name\n# is not valid.",
    'def count():\n    """Of each class its size."""',
    'HINT = f"{name} is missing. What fits is listed."',
]
PLAIN = [
    '"""Counts what is there, and that of others."""',
    '"""That\'s all. Why? What does the search do then?"""',
    '"""Offers `Of` and ``That`` as names; Whatever fits; Thatch."""',
    "# Rows are kept\n# What-if columns are not, e.g.\n# the first.",
    "# Rows are amended.",
    "# Rows are kept as\n\n# far as columns are.",
]


@pytest.mark.parametrize("source", FAULTY)
def test_finds_a_sentence_that_needs_a_second_reading(tmp_path: Path, source: str) -> None:
    (tmp_path / "module.py").write_text(source)
    assert len(list(faults(tmp_path / "module.py"))) == 1
    assert main([str(tmp_path)]) == 1


@pytest.mark.parametrize("source", PLAIN)
def test_leaves_plain_sentences_alone(tmp_path: Path, source: str) -> None:
    (tmp_path / "module.py").write_text(source)
    assert list(faults(tmp_path / "module.py")) == []
    assert main([str(tmp_path)]) == 0


def test_leaves_strings_of_tests_alone(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text('"""Tests."""\nGIVEN = "What a client sends"\n')
    assert main([str(tmp_path)]) == 0


def test_reads_the_comments_of_protos_too(tmp_path: Path) -> None:
    (tmp_path / "a.proto").write_text("// Counts.\n// Of each class\n// its size.\nint32 k = 1;  // What is asked.\n")
    assert [fault.split(": ", 1)[0].rsplit(":", 1)[1] for fault in faults(tmp_path / "a.proto")] == ["1", "4"]


def test_leaves_generated_files_out(tmp_path: Path) -> None:
    (tmp_path / "a_pb2.py").write_text(FAULTY[0])
    assert main([str(tmp_path)]) == 0


LONG = " ".join(["word"] * 41)


@pytest.mark.parametrize(
    ("page", "places"),
    [
        (f"{LONG}.\n", ["1"]),
        (f"One.\n\n- item\n- {LONG}\n", ["4"]),
        (f"| a | {LONG} |\n", ["1"]),
        ("Counts. Of each\nclass its size.\n", ["1"]),
        (f"{LONG.replace('word word', 'word: word', 1)}.\n", []),
        (f"```\n{LONG}\n```\n", []),
        (f"# Of words\n\n`{LONG}` stands.\n", []),
        (f"[link](a.md#{LONG.replace(' ', '-')}) leads.\n", []),
        ("- " + " ".join(["word"] * 30) + "\n- " + " ".join(["word"] * 30), []),
    ],
)
def test_reads_pages_too(tmp_path: Path, page: str, places: list[str]) -> None:
    (tmp_path / "a.md").write_text(page)
    assert [fault.split(": ", 1)[0].rsplit(":", 1)[1] for fault in faults(tmp_path / "a.md")] == places
    assert main([str(tmp_path)]) == bool(places)


def test_counts_sentences_of_a_page() -> None:
    long, every = long_sentences(f"One two three four. W{LONG}. Five.\n\n| yes | no, and not at all |\n", 40)
    assert (long, every) == ([(1, f"W{LONG}.")], 3)


def test_leaves_generated_pages_out(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# Fields\n\n`make protos` writes this page.\n\n{LONG}\n")
    assert main([str(tmp_path)]) == 0
