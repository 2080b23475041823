"""Labels of numbers on a line, and how the values under each are assumed to lie there."""

import itertools
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

TEMPER = 0.25
"""The exponent. Fine labels are released where values are dense, so coarse rows lie more evenly than these do.

As if coarseness did not depend on the value (1), the mean of short stays comes out at half.
"""


def tempered(
    cover: NDArray[np.float64],
    widths: NDArray[np.float64],
    counts: NDArray[np.float64],
    there: NDArray[np.float64],
    exponent: float,
) -> NDArray[np.float64]:
    """The distribution of each label's records over cells, narrow labels first.

    Args:
        cover: Shape (labels, cells): the share of a cell under the label; labels without any are left out.
        widths: Shape (cells,): how many values a cell stands for.
        counts: Shape (labels,): records.
        there: Shape (cells,): records that are known to be there.
        exponent: 0 spreads evenly, 1 as what is there.
    """
    filled, shares = there.copy(), np.zeros(cover.shape)
    sizes = (cover * widths).sum(1)
    for size in np.unique(sizes[sizes > 0]):
        added = np.zeros(len(widths))
        for label in np.flatnonzero(sizes == size):
            inside = cover[label] > 0
            width = widths[inside]
            weights = cover[label, inside] * width * (filled[inside] / width + 0.5) ** exponent
            shares[label, inside] = weights / weights.sum()
            added[inside] += counts[label] * shares[label, inside]
        filled += added
    return shares


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_CELLS = 1_024
"""The cells of a line: a label of a century of days has some ten a year."""

_TAIL = 0.999
"""The share of an open end's records that its assumed exponential tail holds before it is cut."""

_WELL_FILLED = 0.5
"""A label with more records of its own than this share of those of the labels inside it tells how dense its part is."""

_TILT = 0.55
"""A tilted label has this share more at one end, and less at the other."""


class Shape(Enum):
    """How values are assumed to lie under a label."""

    UNIFORM = "uniform"
    SMOOTH = "smooth"
    LOW = "smooth, tilted down"
    HIGH = "smooth, tilted up"


@dataclass(frozen=True, slots=True, eq=False)
class RangeLabels:
    """The labels of a column of numbers: each stands for the values from `low` to below `high`.

    Attributes:
        low: Shape (labels,); -inf for a label without a lower end, as `*` is.
        high: Shape (labels,), above `low`; inf for a label without an upper end.
        counts: Shape (labels,): the released records of each.
        step: 1 for whole numbers and days, 0 for other numbers.
    """

    low: Floats
    high: Floats
    counts: Integers
    step: int


class NumberLine:
    """The cells that a column's labels divide their numbers into, with the masses that its records are assumed to have.

    A line begins at the least and ends at the greatest bound of any released label; an open end continues it by an
    exponential tail of the density before it, and takes no bound of a policy. A line without any bound is not
    `bounded`: its values are unknown.
    """

    def __init__(self, labels: RangeLabels) -> None:
        self.labels = labels
        finite = np.unique(np.concatenate([labels.low, labels.high]))
        finite = finite[np.isfinite(finite)]
        self.tail_from = -1
        self.bounded = len(finite) > 0
        finite = self._below(finite)
        self.edges = _divided(finite, labels.step)
        upper = np.isposinf(labels.high) & np.isfinite(labels.low)
        if upper.any() and len(finite):
            start = float(labels.low[upper].min())
            self.edges, self.tail_from = self._with_tail(start, int(labels.counts[upper].sum()))
        self.widths = np.diff(self.edges)
        low = np.clip(labels.low, self.edges[0], self.edges[-1])
        high = np.clip(labels.high, self.edges[0], self.edges[-1])
        self.low, self.high = low, np.maximum(high, low)

    @cached_property
    def exact(self) -> NDArray[np.bool_]:
        """The labels that stand for one value."""
        return self.high - self.low <= (self.labels.step or 0)

    @cached_property
    def cover(self) -> Floats:
        """Shape (labels, cells): the share of the cell that lies under the label, 0 for exact labels."""
        overlap = np.minimum(self.high[:, None], self.edges[1:]) - np.maximum(self.low[:, None], self.edges[:-1])
        return np.where(self.exact[:, None], 0.0, np.clip(overlap, 0, None) / self.widths)

    @cached_property
    def exact_mass(self) -> Floats:
        """Shape (cells,): the records of exact labels."""
        cells = np.clip(np.searchsorted(self.edges, self.low[self.exact], side="right") - 1, 0, len(self.widths) - 1)
        return np.bincount(cells, self.labels.counts[self.exact], len(self.widths)).astype(float)

    def masses(self, shape: Shape) -> Floats:
        """Shape (labels, cells): the distribution over cells that is assumed under each label; 0 for exact ones."""
        if shape is Shape.UNIFORM:
            return _shares(self.cover * self.widths)
        smooth = self._smooth
        if shape is Shape.SMOOTH:
            return smooth
        return _tilted(smooth, self.cover > 0, _TILT if shape is Shape.LOW else -_TILT)

    def total(self, masses: Floats) -> Floats:
        """Shape (cells,): the records that lie in each cell by these distributions."""
        total: Floats = self.labels.counts @ masses + self.exact_mass
        return total

    @cached_property
    def _smooth(self) -> Floats:
        """Rows of each label, narrow labels first, fill what is missing to a monotone cubic through cumulated counts.

        Fine labels are released where values are dense, so a label's values do not lie as those of finer labels inside
        it do. The counts are those of the narrowest well-filled labels, with tempered shares of wider ones.
        """
        counts, cover, widths = self.labels.counts.astype(float), self.cover, self.widths
        total = self.total(tempered(cover, widths, counts, self.exact_mass, TEMPER))
        owner = self._owners()
        starts = np.flatnonzero(np.r_[True, (owner[1:] != owner[:-1]) | (owner[1:] < 0)])
        edges, mass = self.edges[np.append(starts, len(widths))], np.add.reduceat(total, starts)
        target = self._target(edges, mass, starts)
        filled, shares = self.exact_mass.copy(), np.zeros(cover.shape)
        sizes = (cover * widths).sum(1)
        for size in np.unique(sizes[~self.exact]):
            added = np.zeros(len(widths))
            for label in np.flatnonzero((sizes == size) & ~self.exact):
                inside = cover[label] > 0
                part, there = cover[label, inside], filled[inside]
                whole = target[inside] * part
                whole *= (counts[label] + there.sum()) / max(whole.sum(), 1e-12)
                weights = np.maximum(whole - there, 0)
                if weights.sum() <= 0:
                    weights = part * widths[inside]
                shares[label, inside] = weights / weights.sum()
                added[inside] += counts[label] * shares[label, inside]
            filled += added
        return shares

    def _owners(self) -> Integers:
        """Shape (cells,): the narrowest well-filled label over each cell; -1 for an exact value's, -2 for none."""
        counts, low, high = self.labels.counts.astype(float), self.low, self.high
        size = high - low
        owner = np.full(len(self.widths), -2)
        wide = np.flatnonzero(~self.exact)
        within = (low[:, None] >= low[wide]) & (high[:, None] <= high[wide]) & (size[:, None] < size[wide])
        inside = counts @ within
        for label in wide[np.argsort(-size[wide], kind="stable")]:
            own = counts[label]
            if own > 0 and own > _WELL_FILLED * inside[np.searchsorted(wide, label)]:
                owner[self.cover[label] > 0] = label
        exact = np.flatnonzero(self.exact_mass > 0)
        owner[exact] = -1
        return owner

    def _target(self, edges: Floats, mass: Floats, starts: Integers) -> Floats:
        """Shape (cells,): the mass of a monotone cubic through the cumulated counts, and of the tail behind it."""
        tail: Floats | None = None
        if self.tail_from >= 0 and self.tail_from in starts[1:]:
            at = int(np.flatnonzero(starts == self.tail_from)[0])
            density = mass / np.diff(edges)
            edge = density[at - 1]
            if at > 1 and density[at - 2] > edge:
                edge *= (edge / density[at - 2]) ** 0.5
            records = mass[at:].sum()
            rate = edge / max(records, 1e-9)
            ends = self.edges[self.tail_from :] - self.edges[self.tail_from]
            tail = np.diff(1 - np.exp(-rate * ends))
            tail = tail * records / max(tail.sum(), 1e-12)
            edges, mass = edges[: at + 1], mass[:at]
        along = PchipInterpolator(edges, np.concatenate([[0.0], np.cumsum(mass)]))
        target = np.maximum(np.diff(along(np.clip(self.edges, edges[0], edges[-1]))), 0)
        if tail is not None:
            target[self.tail_from :] = tail
        return target

    def _below(self, bounds: Floats) -> Floats:
        """The bounds, with a lower one if a label without a lower end has none of them inside.

        Below is as dense as above, and not negative where no bound is.
        """
        low, high, counts = self.labels.low, self.labels.high, self.labels.counts
        under = np.isneginf(low) & np.isfinite(high)
        if not under.any() or high[under].min() > bounds[0]:
            return bounds
        first = float(bounds[0])
        after = np.isfinite(low) & np.isfinite(high) & (low == first) & (high > first)
        # Records of exact labels of numbers that are not whole have no density.
        density = float((counts[after] / (high - low)[after]).sum()) if after.any() else 0.0
        span = float(bounds[-1]) - first or abs(first) or 1.0
        records = float(counts[under & (high == first)].sum())
        width = max(min(records / density, span) if density > 0 else span, self.labels.step or span / 16)
        least = first - (np.ceil(width) if self.labels.step else width)
        if first > 0:
            least = max(least, 0.0)
        return np.concatenate([[least], bounds])

    def _with_tail(self, start: float, records: int) -> tuple[Floats, int]:
        """The edges with those of a tail from `start` on, and the first cell of the tail."""
        edges = self.edges[self.edges <= start]
        if edges[-1] < start:
            edges = np.append(edges, start)
        span = max(start - edges[0], self.labels.step or 1.0)
        width = min(span, -np.log(1 - _TAIL) * max(records, 1) / self._density_before(start))
        rest = self.edges[self.edges > start]
        width = max(width, float(rest[-1]) - start if len(rest) else 0.0, float(self.labels.step or span / 16))
        cells = max(1, min(64, round(width))) if self.labels.step else 64
        more = start + np.linspace(0, width, cells + 1)[1:]
        more = np.ceil(more) if self.labels.step else more
        return np.unique(np.concatenate([edges, rest, more])), len(edges) - 1

    def _density_before(self, start: float) -> float:
        """The records per unit just below `start`, by the narrowest label that ends there."""
        low, high, counts = self.labels.low, self.labels.high, self.labels.counts
        ending = np.isfinite(low) & (high == start)
        if not ending.any():
            return max(float(counts.sum()), 1.0) / max(start - float(self.edges[0]), 1.0)
        begin = float(low[ending].max())
        over = np.isfinite(low) & np.isfinite(high) & (high > begin) & (low < start)
        shares = (np.minimum(high, start) - np.maximum(low, begin))[over] / (high - low)[over]
        return max(float((counts[over] * shares).sum()), 0.5) / (start - begin)

    def quantiles(self, masses: Floats, sizes: Integers, share: Floats) -> Floats:
        """The values at shares of the labels' distributions.

        Args:
            masses: Shape (labels, cells), of `masses`.
            sizes: Shape (labels,): how many rows each has.
            share: Shape (rows,), in (0, 1), by label and ascending within each.
        """
        values = np.repeat(self.low, sizes)
        end = 0
        for of in np.flatnonzero(sizes).tolist():
            begin, end = end, end + int(sizes[of])
            if self.exact[of]:
                continue
            cells = np.flatnonzero(masses[of] > 0)
            mass, ends = masses[of, cells], np.cumsum(masses[of, cells])
            at = share[begin:end] * ends[-1]
            rows = np.diff(np.searchsorted(at, ends[:-1]), prepend=0, append=len(at))
            left = np.maximum(self.edges[cells], self.low[of])
            right = np.minimum(self.edges[cells + 1], self.high[of])
            part = (at - np.repeat(ends - mass, rows)) / np.repeat(mass, rows)
            values[begin:end] = np.repeat(left, rows) + np.clip(part, 0, 1 - 1e-9) * np.repeat(right - left, rows)
        drawn: Floats = np.floor(values) if self.labels.step else values
        return drawn


def _divided(bounds: Floats, step: int) -> Floats:
    """The bounds, with more edges between them: at most `MOST_CELLS` cells of about one width, none below a step."""
    if len(bounds) < 2:
        return np.array([bounds[0], bounds[0] + (step or 1)]) if len(bounds) else np.array([0.0, 1.0])
    span = bounds[-1] - bounds[0]
    width = max(span / MOST_CELLS, step)
    edges = [bounds[:1]]
    if len(bounds) > MOST_CELLS:
        some: Floats = bounds[np.linspace(0, len(bounds) - 1, MOST_CELLS + 1).round().astype(int)]
        return some
    for left, right in itertools.pairwise(bounds):
        parts = max(1, int((right - left) // width))
        inner = left + (right - left) * np.arange(1, parts + 1) / parts
        edges.append(np.round(inner) if step else inner)
    divided: Floats = np.unique(np.concatenate(edges))
    return divided


def _tilted(masses: Floats, inside: NDArray[np.bool_], tilt: float) -> Floats:
    """Distributions with more mass at low cells of each label, or at high ones if `tilt` is negative."""
    tilted = masses.copy()
    for label in np.flatnonzero(inside.sum(1) > 1):
        cells = np.flatnonzero(inside[label])
        tilted[label, cells] *= 1 + tilt * np.linspace(1, -1, len(cells))
    return _shares(tilted)


def _shares(weights: Floats) -> Floats:
    sums = weights.sum(1, keepdims=True)
    return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
