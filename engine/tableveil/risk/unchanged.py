"""Thresholds that tell whether columns released unchanged give away what labels hide (docs/explanations/threats.md).

The check before a release is written and the verification of what was written share these numbers, and no code.

- **One quasi-identifier.** It gives a column if nearly everybody's value is one that somebody else with the own value
  has, and if such values fit at most half of the others under the label. Own values are judged together, those of about
  as many records, and by themselves where these are many or alike. For aggregated numbers, dates and ordinals, all
  within half the width of the record's class stand for its own value; rare pairs are accidents.
- **Two quasi-identifiers**, one of them hidden, count only where each by itself and the other's label do not explain
  it. So do their differences, near ones together.
- **Formulas** need no statistics: differences, sums, products and ratios of two numbers or dates, sums and differences
  of three, by any factor and constant; concatenations of two or three texts, or of their first or last characters. Two
  released columns may give a hidden one so as well.

Shown suppressed records are one class, of which everything is hidden. The verification counts single quasi-
identifiers again, how many own values of several records have a single value, and pairs and formulas of two where
there is no doubt; above a million records, single ones alone.
"""

from typing import Final

ACCIDENT: Final = 0.01
"""A pair of values is an accident only if it is in fewer of the records with the own value than this share."""

OF_CHANCE: Final = 0.1
"""And only if it is rarer than this share of the number that independent columns would make.

So a mistyped year does not make a pair look possible, and a column of many rare values does not look informative.
"""

EVIDENCE: Final = 11.5
"""How sure it must be that own values are no chance: the negative logarithm of its probability, 1 in 100,000."""

FAR: Final = 1.5
"""Own values are far from chance only if they repeat, or lack, so many times as many values as chance makes them."""

COINCIDENCES: Final = 10
"""Pairs of quasi-identifiers are looked at closely from so many more equal values than chance makes."""

BINS: Final = 64
"""More different differences of two columns are judged as so many ranges of near ones."""

RIGHT: Final = 0.9
"""A formula holds if it is right for this share of the records; more is left to mistakes.

A column determines a quasi-identifier if this share of those with equal or neighbouring values agree in it.
"""

WIDEST: Final = 2.0
"""Its tolerance is that of all records but accidents, unless that is so many times as wide as that of `RIGHT`."""

SHARED: Final = 0.1
"""Equal values show what a column determines if at least this share of its records has a value that others have."""

TELLING: Final = 0.5
"""A formula tells something if at most this share of other records' values would be right."""

WRONG: Final = 4.0
"""Or if others would be wrong at least so many times as often as it is; by chance they are at most twice as often."""

MOST_OTHERS: Final = 0.9
"""And what others have says nothing of a person if it fits more of them than this share."""

LEAST_RECORDS: Final = 20
"""A formula is tried on at least so many records."""

MOST_ADDED: Final = 20
"""Sums and concatenations of three columns are tried among so many quasi-identifiers, in the policy's order."""

PIECES: Final = (None, 1, 2, 3, 4, 5, 6, -1, -2, -3, -4)
"""The part of a text that stands in a concatenation: all of it, its first characters, or, negative, its last ones."""

MOST_CELLS: Final = 20_000_000
"""The most values of different rows, and of rows compared with own values, that are looked at.

Where there are more, an even part of the classes is looked at, and of the own values in them.
"""
