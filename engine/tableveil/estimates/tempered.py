"""The tempered rule: coarse rows spread over finer values by a root of what is already there."""

import numpy as np
from numpy.typing import NDArray

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
