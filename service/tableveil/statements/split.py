"""Splits a script into its statements."""

from sqlglot import TokenType

from tableveil.statements.tokens import tokenized


def split(script: str) -> tuple[list[str], str]:
    """The statements that semicolons end, and the rest behind the last one.

    Each begins with as many line ends, and blanks in its line, as there are before it: it has the places of the script.
    The rest is empty if it is only blanks and comments.

    Raises:
        InvalidError: the script ends inside of a quoted name, a text or a comment.
    """
    statements, begin, tokens = [], 0, tokenized(script)
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            statements.append(_placed(script, begin, token.start))
            begin = token.end + 1
    left = _placed(script, begin, len(script)) if tokens and tokens[-1].start >= begin else ""
    return [statement for statement in statements if statement.strip()], left


def _placed(script: str, begin: int, end: int) -> str:
    line = script.rfind("\n", 0, begin) + 1
    return "\n" * script.count("\n", 0, begin) + " " * (begin - line) + script[begin:end]
