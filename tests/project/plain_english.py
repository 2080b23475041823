"""Refuses docs, docstrings, comments and messages with a sentence that needs a second reading.

`python -m tests.project.plain_english PATH…` lists each such sentence in the pages, Python and proto files below the
paths, and fails if there is one. Plain English means: subject, verb, object; one thought a sentence; the agent named.
A sentence of a page has at most `MOST_WORDS` words.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.words import generated

# A sentence with such an opening names its subject late. "That's", "What-if" and questions are fine.
OPENING = re.compile(r"(Of|What|That|Who|Whose|Those|The same)\b(?!['-])")
# Say "the client that", "where", "computed from", "fails", "fix".
PHRASE = re.compile(r"\b(who(m|se)?ever|as far as|(tell|told) by|is not valid|mend(s|ed|ing)?)\b", re.IGNORECASE)
# A name in front of a colon opens an item of a list, as in the `Args:` of a docstring.
ITEM = re.compile(r"\s*([-*]|\d+\.|\*{0,2}\w+:)\s+")
END_OF_SENTENCE = re.compile(r"(?<=[.!?])[\"'”)]*\s+(?=[^a-z])")
CODE = re.compile(r"(`+)[^`]+\1")
GENERATED = ("_pb2.py", "_pb2_grpc.py")
MOST_WORDS = 40
MANY_WORDS = 30
FEW_WORDS = 4
FENCE = re.compile(r"^ *```.*?^ *```$|^<[^>]+>$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Prose:
    """One string, or one comment with the comment lines right below it."""

    line: int
    text: str


def prose(path: Path) -> Iterator[Prose]:
    """Everything that a file says to its readers."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from page(source)
        return
    if path.suffix == ".proto":
        yield from blocks((number, *line.partition("//")[::2]) for number, line in enumerate(source.splitlines(), 1))
        return
    yield from strings(source, all_of_them="tests" not in path.parts)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = (token for token in tokens if token.type == tokenize.COMMENT)
    yield from blocks((token.start[0], token.line[: token.start[1]], token.string[1:]) for token in comments)


def page(source: str) -> Iterator[Prose]:
    """The paragraphs, items and cells of a Markdown page, without code and headings."""
    text = FENCE.sub(lambda block: "\n" * block.group().count("\n"), source)
    start, lines = 1, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        alone = line.startswith(("|", "#")) or not line.strip()
        if lines and (alone or ITEM.match(line)):
            yield Prose(start, LINK.sub(r"\1", "\n".join(lines)))
            lines = []
        if line.startswith("|"):
            yield from (Prose(number, LINK.sub(r"\1", cell.strip())) for cell in re.split(r"(?<!\\)\|", line) if cell)
        if not alone:
            start, lines = (start if lines else number), [*lines, line]


def long_sentences(source: str, more_than: int) -> tuple[list[tuple[int, str]], int]:
    """The sentences of a page with more words, each with its line; and the number of all sentences.

    A colon ends a sentence, and code is one word. Cells and labels of fewer than `FEW_WORDS` are no sentences.
    """
    every = [
        (unit.line, part)
        for unit in page(source)
        for sentence in sentences(unit.text)
        for part in re.split(r":\s", CODE.sub("code", sentence))
    ]
    counted = [(sum(any(map(str.isalnum, word)) for word in part.split()), line, part) for line, part in every]
    long = [(line, part) for count, line, part in counted if count > more_than]
    return long, sum(count >= FEW_WORDS for count, *_ in counted)


def strings(source: str, all_of_them: bool) -> Iterator[Prose]:
    """Docstrings of modules, classes, functions and attributes; or all strings, as some are messages."""
    for node in ast.walk(ast.parse(source)):
        said = node if all_of_them else node.value if isinstance(node, ast.Expr) else None
        if isinstance(said, ast.Constant) and isinstance(said.value, str):
            yield Prose(said.lineno, said.value)


def blocks(lines: Iterator[tuple[int, str, str]]) -> Iterator[Prose]:
    """Joins comments (line number, code in front, text) that continue the comment on the line above."""
    start, end, text = 0, 0, ""
    for number, code, comment in lines:
        if text and number == end + 1 and not code.strip() and comment:
            end, text = number, f"{text}\n{comment}"
            continue
        if text:
            yield Prose(start, text)
        start, end, text = number, number, comment
    if text:
        yield Prose(start, text)


def sentences(text: str) -> Iterator[str]:
    """Splits prose into sentences; an item of a list and a paragraph end one."""
    for paragraph in re.split(r"\n\s*\n", text):
        part: list[str] = []
        for line in [*paragraph.splitlines(), "- "]:
            item = ITEM.match(line)
            if item:
                yield from END_OF_SENTENCE.split(" ".join(part).strip())
                part = []
            part.append(line[item.end() if item else 0 :].strip())


def faults(path: Path) -> Iterator[str]:
    """The sentences of a file that are not plain English, with the place where their docstring or comment begins."""
    for unit in prose(path):
        for sentence in sentences(unit.text):
            words = CODE.sub("`code`", sentence)
            opening = OPENING.match(words)
            found = (opening if opening and not words.endswith("?") else None) or PHRASE.search(words)
            if found:
                yield f"{path}:{unit.line}: {found.group()!r} in: {sentence}"
    if path.suffix == ".md":
        for line, sentence in long_sentences(path.read_text(encoding="utf-8"), MOST_WORDS)[0]:
            yield f"{path}:{line}: more than {MOST_WORDS} words in: {sentence}"


def files(root: Path) -> Iterator[Path]:
    """The pages, Python and proto files at or below a path that people write."""
    patterns = ("*.py", "*.proto", "*.md")
    found = [root] if root.is_file() else sorted(path for pattern in patterns for path in root.rglob(pattern))
    found = [path for path in found if "node_modules" not in path.parts]
    return (
        path for path in found if not path.name.endswith(GENERATED) and not (path.suffix == ".md" and generated(path))
    )


def main(paths: list[str]) -> int:
    """Prints the faults; returns the exit code."""
    found = [fault for root in paths for path in files(Path(root)) for fault in faults(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
