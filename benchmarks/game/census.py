"""A generated population with age, sex, ZIP code and race, of the shape of US census figures, and a sample of it.

No one in it is real. Ages follow the pyramid of 2010, women live longer, ZIP codes and the areas of their first three
digits have heavy-tailed sizes, and the shares of races vary by area, and by ZIP code within it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SEED = 5

AGE_BANDS = (0.065, 0.066, 0.067, 0.071, 0.070, 0.068, 0.065, 0.065, 0.068, 0.074, 0.072, 0.064, 0.054, 0.040, 0.030,
             0.024, 0.019, 0.012, 0.005, 0.001)  # fmt: skip
"""Shares of five years of age each, from 0 to 99."""

RACES = ("White", "Black or African American", "Some other race", "Asian", "Two or more races",
         "American Indian or Alaska Native", "Native Hawaiian or Pacific Islander")  # fmt: skip
RACE_SHARES = (0.724, 0.126, 0.062, 0.048, 0.029, 0.009, 0.002)

AREA_SPREAD, ZIP_SPREAD = 1.0, 1.4
"""Standard deviations of the logarithms of the sizes of areas, and of ZIP codes within an area."""

AREA_CONCENTRATION, ZIP_CONCENTRATION = 6.0, 12.0
"""Concentrations of Dirichlet distributions of race shares: areas around the nation, ZIP codes around their area."""


@dataclass(frozen=True, slots=True)
class Census:
    """People as one code per attribute: `age` in years, `sex` 1 for men, `zip_code` and `race` by position.

    `zips` are the ZIP codes as text.
    """

    age: NDArray[np.int32]
    sex: NDArray[np.int32]
    zip_code: NDArray[np.int32]
    race: NDArray[np.int32]
    zips: tuple[str, ...]

    def sample(self, people: int, seed: int = SEED) -> Census:
        """Draws a sample of so many people, each with equal probability."""
        drawn = np.random.default_rng(seed).choice(len(self.age), people, replace=False)
        drawn.sort()
        return Census(self.age[drawn], self.sex[drawn], self.zip_code[drawn], self.race[drawn], self.zips)

    def table(self) -> pa.Table:
        """One row per person."""
        texts = {"sex": (("F", "M"), self.sex), "zip": (self.zips, self.zip_code), "race": (RACES, self.race)}
        columns = {name: pa.DictionaryArray.from_arrays(codes, list(values)) for name, (values, codes) in texts.items()}
        return pa.table({"age": self.age} | {name: column.cast(pa.string()) for name, column in columns.items()})


def census(people: int, zips: int, areas: int, seed: int = SEED) -> Census:
    """A population of so many people in so many ZIP codes with so many different first three digits."""
    random = np.random.default_rng(seed)
    area_of = np.sort(np.append(np.arange(areas), random.integers(areas, size=zips - areas)))
    size = random.lognormal(0.0, AREA_SPREAD, areas)[area_of] * random.lognormal(0.0, ZIP_SPREAD, zips)
    zip_code = np.repeat(np.arange(zips, dtype=np.int32), random.multinomial(people, size / size.sum()))

    by_area = random.dirichlet(AREA_CONCENTRATION * np.array(RACE_SHARES), areas)
    by_zip = random.standard_gamma(ZIP_CONCENTRATION * by_area[area_of] + 1e-3)
    race = _drawn(by_zip / by_zip.sum(axis=1, keepdims=True), zip_code, random)

    age = _drawn(np.repeat(np.array(AGE_BANDS) / 5, 5)[None, :], np.zeros(people, np.int32), random)
    sex = (random.random(people) < 0.512 - 0.003 * np.maximum(age - 60, 0)).astype(np.int32)
    return Census(age, sex, zip_code, race, _zip_codes(area_of, areas, random))


def _drawn(shares: NDArray[np.float64], row: NDArray[np.int32], random: np.random.Generator) -> NDArray[np.int32]:
    """One position per row number, by the shares in that row."""
    bounds = shares.cumsum(axis=1)
    bounds /= bounds[:, -1:]
    # Rows one after another make one ascending array: row r's bounds are from r to r + 1.
    ascending = (bounds + np.arange(len(shares))[:, None]).reshape(-1)
    found = np.searchsorted(ascending, row + random.random(len(row)), "right") - row * shares.shape[1]
    return np.minimum(found, shares.shape[1] - 1).astype(np.int32)


def _zip_codes(area_of: NDArray[np.int64], areas: int, random: np.random.Generator) -> tuple[str, ...]:
    prefixes = np.sort(random.choice(1000, areas, replace=False))
    codes = []
    for area in range(areas):
        endings = np.sort(random.choice(100, np.count_nonzero(area_of == area), replace=False))
        codes += [f"{prefixes[area]:03d}{ending:02d}" for ending in endings]
    return tuple(codes)
