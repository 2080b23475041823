"""The two ways in which a benchmark ends without a number."""


class UnusableError(Exception):
    """The input cannot be run; the message has its faults, one per line."""


class NotThereYetError(Exception):
    """A case needs something that Tableveil does not offer yet; the message names it."""
