"""A tiny dataset, and cases on it with their optima worked out by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# For k = 4 and at most 4 of the 12 records suppressed. Age at level 1 leaves classes of 4, 4, 3 and 1: 8 records lose
# 2/5 of their age, 4 all. Age at its top leaves three classes of 4, which is best for the geometric mean.
AGES_GROUPED = {"score": (0.6 + 1 / 3) / 2, "transformation": {"age": 1, "city": 0}, "suppressed": 4, "classes": 2}
AGES_GONE = {"score": 2**0.5 - 1, "transformation": {"age": 2, "city": 0}, "suppressed": 0, "classes": 3}


def write_dataset(folder: Path) -> None:
    """Writes the dataset: quoted fields, delimiters and line ends inside quotes, digits that are no numbers."""
    (folder / "hierarchies").mkdir(parents=True)
    rows = ['age;"city";note']
    rows += [f'{age};"Bad ""Town""; North";{age}' for age in (1, 2, 3, 3)]
    rows += [f"0{age};Ulm;" for age in (4, 4, 5, 5)]
    rows += [f'{age};Rom;"a\r\nb"' for age in (1, 2, 3)]
    rows += ["04;Rom;x"]
    write(folder / "data.csv", rows)
    write(folder / "hierarchies" / "age.csv", ["1;low;*", "2;low;*", "3;low;*", "04;high;*", "05;high;*", "6;high;*"])
    write(folder / "hierarchies" / "city.csv", ['"Bad ""Town""; North";*', "Ulm;*", "Rom;*"])


def case(id_: str = "tiny", expected: Mapping[str, Any] | None = None, **settings: str) -> dict[str, Any]:
    """A case on the dataset."""
    usual = {"dataset": "tiny", "qis": "age,city", "priv": "k:4", "supp": "0.4", "metric": "loss:am:0.5"}
    return {"id": id_, "case": {**usual, **settings}, "expected": expected or {}, "arx": {"transformations_checked": 6}}


def write(path: Path, lines: Sequence[str]) -> None:
    """Writes a file as Windows programs do: with a byte order mark and CRLF."""
    path.write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in lines).encode())
