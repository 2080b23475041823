"""A queued or running job."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tableveil.backend import VisibilityNow
from tableveil.control import Control
from tableveil.pipelines.work import Work
from tableveil.policy import TableReference
from tableveil.runtime.model import Job


def no_step() -> tuple[int, float]:
    """The step of a job that does not run."""
    return 0, 0.0


@dataclass(slots=True)
class Active:
    """A queued or running job: the tables that it reads, and the bytes of memory estimated and granted.

    Its principal, who sees as `visibility` gives, has to own the tables in `owned`. While it runs, `step` tells where;
    once it has run, `phases` are the seconds that it took in each.
    """

    job: Job
    work: Work
    reads: tuple[TableReference, ...]
    owned: tuple[TableReference, ...]
    need: int
    visibility: VisibilityNow
    granted: int = 0
    control: Control = field(default_factory=Control)
    step: Callable[[], tuple[int, float]] = no_step
    phases: Mapping[str, float] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """The name of its principal."""
        return self.job.request.owner
