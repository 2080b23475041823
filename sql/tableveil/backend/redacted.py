"""Statements in a form for logs: without literals, which may be values of a table."""

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

LONGEST_LOGGED = 500

_LITERALS = {
    TokenType.STRING,
    TokenType.NUMBER,
    TokenType.BIT_STRING,
    TokenType.BYTE_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.HEX_STRING,
    TokenType.NATIONAL_STRING,
    TokenType.RAW_STRING,
    TokenType.UNICODE_STRING,
}


def without_literals(statement: str) -> str:
    """The beginning of a statement, in one line, with `?` for each literal; comments are gone.

    A statement that cannot be parsed has no text: its literals cannot be found.
    """
    try:
        tokens = DuckDB().tokenize(statement)
    except SqlglotError:
        return "(a statement that cannot be read)"
    words: list[str] = []
    end = -1
    for token in tokens:
        # Characters that follow a number without a space, such as the rest of 1_000, belong to it.
        literal = token.token_type in _LITERALS or (
            words[-1:] == ["?"] and token.start == end + 1 and _is_word(token.text)
        )
        if not (literal and words[-1:] == ["?"] and token.start == end + 1):
            words.append("?" if literal else statement[token.start : token.end + 1])
        end = token.end
    return " ".join(words)[:LONGEST_LOGGED]


def _is_word(text: str) -> bool:
    return text[:1] == "_" or text[:1].isalnum()
