"""The tokens of a statement, read one after the other, and the errors that say where something else was expected."""

import re
from collections.abc import Iterator
from typing import ClassVar, NoReturn

from sqlglot import Token, TokenType
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError

from tableveil.document.nodes import line_and_column
from tableveil.errors import InvalidError, nearest, shortened

MOST_CHARACTERS = 100_000
"""The most characters of a statement: reading as many takes half a second."""

_WORD = re.compile(r"[^\W\d][\w$]*")
_BEGINNINGS = ("SELECT", "WITH", "FROM", "VALUES", "(")
_TEXTS = (TokenType.STRING, TokenType.HEREDOC_STRING)


class _Statements(DuckDB):
    """DuckDB's dialect, in which no word makes an opaque command of what follows."""

    class Tokenizer(DuckDB.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()


class UnfinishedError(InvalidError):
    """The text ends inside of a quoted name, a text or a comment."""


def tokenized(text: str) -> list[Token]:
    """The tokens of a text of any length, which may be several statements.

    Raises:
        UnfinishedError: it ends inside of one.
    """
    tokenizer = _Statements().tokenizer()
    try:
        return tokenizer.tokenize(text)
    except TokenError:
        place, sql_token = (
            line_and_column(text, tokenizer._core._start),
            "a quoted name, a text or a comment without an end",
        )
        raise UnfinishedError.of("STATEMENT_INVALID", place, sql_token, "its end") from None


class StatementTokens:
    """A statement's tokens. Keywords are words outside of quotes, in any case."""

    def __init__(self, text: str) -> None:
        """Raises `InvalidError` if the text is too long, and as `tokenized` does."""
        if len(text) > MOST_CHARACTERS:
            actual, hint = f"{len(text):,} characters", "Store large hierarchies on the server, and refer to them."
            raise InvalidError.of("STATEMENT_INVALID", "statement", actual, f"at most {MOST_CHARACTERS:,}", hint)
        # Editors on Windows begin UTF-8 with a byte order mark.
        self.text = text.removeprefix("\ufeff")
        self._position = 0
        self._expected: list[str] = []
        self._tokens = tokenized(self.text)
        self._end = len(self.text.rstrip())
        if self._tokens and self._tokens[-1].token_type == TokenType.SEMICOLON:
            self._end = self._tokens.pop().start

    @property
    def peek(self) -> Token | None:
        """The next token; None at the end."""
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    @property
    def offset(self) -> int:
        """The place of the next token in the text."""
        return self._end if self.peek is None else self.peek.start

    def take(self) -> Token:
        """The next token, which must be there, read."""
        token = self.peek
        assert token is not None
        self._position += 1
        self._expected.clear()
        return token

    def place(self, offset: int) -> str:
        """A place in the text, as people count lines and columns."""
        return line_and_column(self.text, offset)

    def refuse(self, offset: int, found: str, expected: str, hint: str = "") -> NoReturn:
        """Raises the error that says what was found at a place."""
        raise InvalidError.of("STATEMENT_INVALID", self.place(offset), found, expected, hint)

    def refuse_last(self, found: str, expected: str, hint: str = "") -> NoReturn:
        """Raises the error about the token that was read last."""
        self.refuse(self._tokens[self._position - 1].start, found, expected, hint)

    def refuse_next(self, expected: str = "", *choices: str) -> NoReturn:
        """Raises the error about the next token; without an expectation, all that was tried there was expected."""
        token = self.peek
        actual = "the end of the statement" if token is None else shortened(self.text[token.start : token.end + 1])
        names = choices or self._expected
        hint = nearest(token.text, names) if token is not None else ""
        self.refuse(self.offset, actual, expected or " or ".join(dict.fromkeys(self._expected)), hint)

    def is_next(self, *words: str) -> bool:
        """Whether these keywords or signs come next."""
        following = self._tokens[self._position : self._position + len(words)]
        return len(following) == len(words) and all(map(_is, following, words))

    def accept(self, *words: str) -> bool:
        """Reads these keywords or signs if they come next."""
        if not self.is_next(*words):
            self._expected.append(" ".join(words))
            return False
        for _ in words:
            self.take()
        return True

    def expect(self, *words: str) -> None:
        """Reads these keywords or signs, which must come next."""
        for word in words:
            if not self.accept(word):
                self.refuse_next()

    def items(self, end: str, least: int = 0) -> Iterator[int]:
        """Counts the items up to a sign, with commas between them, while the caller reads each of them."""
        count = 0
        while count < least or not self.accept(end):
            if count:
                self.expect(",")
            yield count
            count += 1

    def is_named(self, sign: str, name: str = "") -> bool:
        """Whether a name and this sign come next; any name, unless one is given."""
        following = self._tokens[self._position : self._position + 2]
        return len(following) == 2 and _is(following[1], sign) and name in ("", following[0].text)

    def expect_end(self) -> None:
        """The statement must end here."""
        if self.peek is not None:
            self._expected.append("the end of the statement")
            self.refuse_next()

    def name(self, what: str) -> str:
        """Reads a name, quoted or not."""
        token = self.peek
        if token is None or not self._is_name(token):
            self._expected.append(what)
            self.refuse_next()
        return self.take().text

    def names(self, what: str) -> list[str]:
        """Reads a name, and those behind dots."""
        names = [self.name(what)]
        while self.accept("."):
            names.append(self.name("a name"))
        return names

    def whole_number(self) -> int:
        """Reads a whole number."""
        token = self.peek
        if token is None or not (token.text.isascii() and token.text.isdigit() and len(token.text) < 19):
            self._expected.append("a whole number")
            self.refuse_next()
        return int(self.take().text)

    def select(self) -> str | list[str]:
        """Reads a SELECT up to the clause WITH (…) behind it, or the names of a table of which it selects all."""
        begin = self._position
        whole = self.accept("SELECT", "*", "FROM")
        if (whole or self.accept("FROM")) and self._is_name(self.peek):
            names = self.names("a table")
            # A query may read a view, but not a table of a warehouse, which has three names.
            if (whole or len(names) == 3) and (self._position == len(self._tokens) or self.is_next("WITH", "(")):
                return names
        self._position = begin
        if not any(map(self.is_next, _BEGINNINGS)):
            self.refuse_next("a SELECT")
        start, depth = self.offset, 0
        while self.peek is not None and not (depth == 0 and self.is_next("WITH", "(")):
            if depth == 0 and self.is_next("PRIVACY", "("):
                self.refuse_next("PRIVACY (…) before AS")
            depth += self.is_next("(") - self.is_next(")")
            if self.take().token_type == TokenType.SEMICOLON:
                break
        return self.text[start : self.offset].rstrip()

    def string(self, what: str) -> str:
        """Reads a text in quotes or between dollars."""
        token = self.peek
        if token is None or token.token_type not in _TEXTS:
            self._expected.append(what)
            self.refuse_next()
        return self.take().text

    def scalar(self) -> str | None:
        """Reads a number, a text or a name as its text, NULL as None."""
        begin, sign = self.offset, "-" * self.accept("-")
        token = self.peek
        if token is not None and token.token_type == TokenType.NUMBER:
            self.take()
            return sign + token.text
        if sign:
            self.refuse_next("a number")
        if token is None or not (token.token_type in _TEXTS or self._is_name(token)):
            self.refuse_next("a value")
        self.take()
        return None if self.text[begin : token.end + 1].upper() == "NULL" else token.text

    def _is_name(self, token: Token | None) -> bool:
        if token is None:
            return False
        word = _WORD.fullmatch(self.text, token.start, token.end + 1)
        return word is not None or token.token_type == TokenType.IDENTIFIER


def _is(token: Token, word: str) -> bool:
    quoted = token.token_type in (*_TEXTS, TokenType.IDENTIFIER)
    return not quoted and token.text.upper() == word
