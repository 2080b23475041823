"""The two ways in which a benchmark ends without a number."""


class UnusableError(Exception):
    """What was given cannot be run; the message says what is wrong with it, a line per fault."""


class NotThereYetError(Exception):
    """A case asks for what Tableveil does not offer yet; the message names it."""
