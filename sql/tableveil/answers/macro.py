"""A function as a macro of DuckDB."""

from dataclasses import dataclass

LABEL = ("label", "label_from", "label_to")
"""The parameters of a column of labels, and of the two columns of bounds beside it."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro that calls only DuckDB's own functions, so that it works under any name of its database."""

    name: str
    parameters: tuple[str, ...]
    body: str

    @property
    def of_label(self) -> bool:
        """Whether the first arguments are a column of labels and its bounds."""
        return self.parameters[: len(LABEL)] == LABEL

    @property
    def filtered(self) -> "Macro":
        """One that calls it for the records of which the last argument is true: a macro takes no FILTER."""
        kept = (f"CASE WHEN kept THEN {parameter} END" for parameter in LABEL)
        body = f"{self.name}({', '.join((*kept, *self.parameters[len(LABEL) :]))})"
        return Macro(f"{self.name}_filtered", (*self.parameters, "kept"), body)

    def created(self, database: str = "") -> str:
        """The statement that creates it in the schema `main` of a database."""
        place = f"{database}.main.{self.name}" if database else self.name
        return f"CREATE OR REPLACE MACRO {place}({', '.join(self.parameters)}) AS {self.body}"
