"""MDAV as published, record by record and without reusing results from step to step."""

import numpy as np
from numpy.typing import NDArray


def plain_mdav(at: NDArray[np.float64], k: int) -> list[NDArray[np.intp]]:
    """The records of each cluster; `at` has a row per record."""
    left = np.arange(len(at))
    clusters: list[NDArray[np.intp]] = []

    def squared(place: NDArray[np.float64]) -> NDArray[np.float64]:
        distances: NDArray[np.float64] = ((at[left] - place) ** 2).sum(axis=1)
        return distances

    def around(place: NDArray[np.float64]) -> None:
        nonlocal left
        order = squared(place).argsort(kind="stable")
        clusters.append(left[order[:k]])
        left = np.sort(left[order[k:]])

    while len(left) >= 3 * k:
        far = at[left[squared(at[left].mean(axis=0)).argmax()]]
        around(far)
        around(at[left[squared(far).argmax()]])
    if len(left) >= 2 * k:
        around(at[left[squared(at[left].mean(axis=0)).argmax()]])
    return [*clusters, left]


def plain_error(at: NDArray[np.float64], clusters: list[NDArray[np.intp]]) -> float:
    """SSE / SST."""
    within = sum(float(((at[of] - at[of].mean(axis=0)) ** 2).sum()) for of in clusters)
    return within / float(((at - at.mean(axis=0)) ** 2).sum())
