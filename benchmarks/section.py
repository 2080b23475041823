"""A section of the benchmarks' document."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """Markdown, and whether all conditions hold that must hold anywhere: optima, numbers of checks, ended jobs.

    Times are reported against their goals and fail nothing: they depend on what else the machine does.
    """

    title: str
    paragraphs: tuple[str, ...]
    sound: bool = True

    def __str__(self) -> str:
        return "\n\n".join([f"## {self.title}", *self.paragraphs])


def verdict(met: bool) -> str:
    """The verdict on a goal."""
    return "met" if met else "**missed**"
