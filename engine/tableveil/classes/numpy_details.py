"""The details of classes counted in numpy: values of sensitive columns, and the population."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.blocks import MARKED, sums_at
from tableveil.classes.model import ClassValues
from tableveil.classes.sensitive import SensitiveColumn, SensitiveRows

Sensitive = Sequence[tuple[SensitiveColumn, SensitiveRows]]

MOST_BITS = 63
"""The bits of a positive number."""


class NumpyDetails:
    """The details of some of the classes that were made by grouping a histogram's rows.

    `places` has the place of each row, below `many`; `occurring` has the place of each class. `population` has the
    population's records per row.
    """

    def __init__(
        self,
        places: NDArray[np.signedinteger[Any]],
        many: int,
        occurring: NDArray[np.intp],
        sensitive: Sensitive,
        population: NDArray[np.int64] | None,
    ) -> None:
        self._places = places
        self._many = many
        self._occurring = occurring
        self._sensitive = sensitive
        self._population = population
        self._values: dict[int, ClassValues] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of the grouping."""
        return self._places.nbytes + self._occurring.nbytes

    def values(self, attribute: int) -> ClassValues:
        """Only the records in these classes are counted, so that a few classes cost little, whatever the values are."""
        if attribute not in self._values:
            self._values[attribute] = self._counted(*self._sensitive[attribute])
        return self._values[attribute]

    def population(self) -> NDArray[np.int64]:
        """Per class, the population's records."""
        return self._people[self._occurring]

    def population_only(self) -> int:
        """Number of places with records of the population only; meant for the details of all classes."""
        return int(np.count_nonzero(self._people)) - int(np.count_nonzero(self._people[self._occurring]))

    def selected(self, mask: NDArray[np.bool_]) -> NumpyDetails:
        """The details of the classes of the mask."""
        return NumpyDetails(self._places, self._many, self._occurring[mask], self._sensitive, self._population)

    @cached_property
    def _people(self) -> NDArray[np.int64]:
        """Per place, the population's records."""
        assert self._population is not None
        return sums_at(self._places, self._population, self._many)

    @cached_property
    def _number(self) -> NDArray[np.int32]:
        """Per place the number of its class, or -1 for none of these classes."""
        number = np.full(self._many, -1, np.int32)
        number[self._occurring] = np.arange(len(self._occurring), dtype=np.int32)
        return number

    def _counted(self, column: SensitiveColumn, rows: SensitiveRows) -> ClassValues:
        values = len(column.counts)
        number = self._number.take(self._places.take(rows.rows, mode="clip"), mode="clip")
        codes, counts = rows.values, rows.counts
        if number.min(initial=0) < 0:
            within = np.flatnonzero(number >= 0)
            number, codes, counts = number[within], codes[within], counts[within]
        cells = len(self._occurring) * values
        if cells > MARKED * max(len(number), 1):
            return _grouped(number, codes, counts)
        keys: NDArray[np.signedinteger[Any]] = number.astype(np.int32 if cells <= 2**31 else np.int64, copy=False)
        keys *= values
        keys += codes
        sums = sums_at(keys, counts, cells)
        occurring = np.flatnonzero(sums)
        classes = occurring // max(values, 1)
        return ClassValues(classes.astype(np.intp), (occurring - classes * values).astype(np.intp), sums[occurring])


def _grouped(
    number: NDArray[np.integer[Any]], codes: NDArray[np.integer[Any]], counts: NDArray[np.int64]
) -> ClassValues:
    """The sums of counts by class number and code, in ascending order of both."""
    of_codes, of_counts = (int(part.max(initial=0)).bit_length() for part in (codes, counts))
    keys = number.astype(np.int64)
    keys <<= of_codes
    keys |= codes
    if int(number.max(initial=0)).bit_length() + of_codes + of_counts > MOST_BITS:
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
    else:
        # Numbers are sorted ten times faster than the order of others is found.
        keys <<= of_counts
        keys |= counts
        keys.sort()
        counts = keys & ((1 << of_counts) - 1)
        keys >>= of_counts
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    if len(first) < len(keys):
        keys, counts = keys[first], np.add.reduceat(counts, first)
    return ClassValues(keys >> of_codes, keys & ((1 << of_codes) - 1), counts)
