"""Random small tables with all that makes hierarchies hard, counted in numpy, for properties of models and searches."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

from tableveil.classes import NumpyCounter
from tableveil.hierarchy import AttributeLevels, InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.hierarchy.rules import Intervals, MaskFrom, Redaction
from tableveil.lattice import Lattice, Transformation

Row = tuple[str | None, ...]


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier; if it withholds NULL, records without a value are suppressed at every transformation."""

    rule: InlineLevels | Intervals | Redaction
    values: tuple[str, ...]
    withholds_null: bool

    def levels(self, column: Sequence[str | None]) -> AttributeLevels:
        """As counters know it, with a code per value that occurs."""
        texts = sorted({value for value in column if value is not None})
        if isinstance(self.rule, Intervals):
            labelled = label_values(self.rule, ValueKind.DECIMAL, [float(text) for text in texts], texts)
        else:
            labelled = label_values(self.rule, ValueKind.TEXT, texts, texts)
        return attribute_levels(labelled, None in column, null_counts=not self.withholds_null)


@dataclass(frozen=True)
class Table:
    """Records over the attributes; at most `suppressible` may be suppressed, and classes have at least k."""

    attributes: tuple[Attribute, ...]
    records: tuple[Row, ...]
    k: int
    suppressible: int
    weights: tuple[float, ...]

    def withheld(self, record: Row) -> bool:
        """Whether the record is suppressed at every transformation."""
        return any(v is None and a.withholds_null for v, a in zip(record, self.attributes, strict=True))

    @cached_property
    def levels(self) -> tuple[AttributeLevels, ...]:
        return tuple(a.levels([r[j] for r in self.records]) for j, a in enumerate(self.attributes))

    @property
    def lattice(self) -> Lattice:
        return Lattice((0,) * len(self.levels), tuple(levels.top for levels in self.levels))

    def counter(self, kind: type[NumpyCounter] = NumpyCounter) -> NumpyCounter:
        """A new counter of the table."""
        codes = []
        for j in range(len(self.attributes)):
            texts = sorted({record[j] for record in self.records if record[j] is not None}, key=str)
            codes.append({value: code for code, value in enumerate([*texts, None])})
        counted = Counter(
            tuple(code[value] for code, value in zip(codes, record, strict=True))
            for record in self.records
            if not self.withheld(record)
        )
        groups = [np.array([combination[j] for combination in counted], np.int32) for j in range(len(codes))]
        counts = np.array(list(counted.values()), np.int64)
        return kind(self.levels, groups, counts, withheld=len(self.records) - int(counts.sum()))


@st.composite
def inline(draw: st.DrawFn) -> Attribute:
    """Labels come from few names, so that they repeat across levels and join siblings unevenly."""
    rows = [[f"v{i}"] for i in range(draw(st.integers(1, 5)))]
    for _ in range(draw(st.integers(0, 2))):
        parents = {name: draw(st.sampled_from(["v0", "x", "y", "z"])) for name in sorted({row[-1] for row in rows})}
        for row in rows:
            row.append(parents[row[-1]])
    rule = InlineLevels(tuple((*row, "*") for row in rows))
    return Attribute(rule, tuple(row[0] for row in rows), draw(st.booleans()))


# More texts than the alphabet says there are: the leaves of a label are fewer than the values under it.
CROWDED = Attribute(
    Redaction(length=2, alphabet_size=2, mask_from=MaskFrom.RIGHT, step=1), ("aa", "ab", "ac", "ba", "ca"), False
)

DISCRETE = inline() | st.just(CROWDED)

CONTINUOUS = Attribute(Intervals("0", "10", ("0.7", "2.1")), ("0.3", "0.5", "3", "9.9"), False)


@st.composite
def tables(draw: st.DrawFn, attributes: st.SearchStrategy[Attribute] = DISCRETE, most_attributes: int = 3) -> Table:
    """With NULLs in some columns, and all limits there can be."""
    chosen = draw(st.lists(attributes, min_size=1, max_size=most_attributes))
    values = [st.sampled_from(attribute.values) for attribute in chosen]
    columns = [value | st.none() if draw(st.booleans()) else value for value in values]
    records = draw(st.lists(st.tuples(*columns), min_size=1, max_size=16))
    return Table(
        attributes=tuple(chosen),
        records=tuple(records),
        k=draw(st.integers(1, 5)),
        suppressible=draw(st.sampled_from([0, len(records)]) | st.integers(0, len(records))),
        weights=tuple(draw(st.sampled_from([1.0, 1.0, 0.0, 0.5, 2.0, 0.1, 3.7])) for _ in chosen),
    )


@st.composite
def intervals(draw: st.DrawFn, lattice: Lattice) -> tuple[Transformation, Transformation]:
    """Some lo <= hi."""
    hi = tuple(draw(st.integers(0, top)) for top in lattice.top)
    return tuple(draw(st.integers(0, level)) for level in hi), hi
