"""The exit codes of the process, which tell a scheduler what to do next. The help loads nothing else."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Stable: other programs rely on them."""

    OK = 0
    FAILED = 1
    INVALID = 2
    INFEASIBLE = 3
    CANCELLED = 4
    UNREACHABLE = 5
    CONFLICT = 6
    BUSY = 7
    NOT_FOUND = 8
    REFUSED = 9
    GUARDED = 10
    UNPUBLISHED = 11
    UNDECIDED = 12
    # The codes by which shells report SIGINT and SIGPIPE.
    CTRL_C = 130
    BROKEN_PIPE = 141

    @property
    def meaning(self) -> str:
        """One line for the help."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "a defect or a broken environment",
    ExitCode.INVALID: "the command, the policy or a file can never work as it is",
    ExitCode.INFEASIBLE: "nothing meets the policy",
    ExitCode.CANCELLED: "the job was cancelled, or interrupted by a stop of the server",
    ExitCode.UNREACHABLE: "no server answers",
    ExitCode.CONFLICT: "it clashes with what is there: choose another name, or allow to replace",
    ExitCode.BUSY: "out of a resource for now: try again later",
    ExitCode.NOT_FOUND: "no such job, release, table, column or hierarchy",
    ExitCode.REFUSED: "no valid token, or no right to it",
    ExitCode.GUARDED: "a guard holds it back: look at the rows before they take the place of others",
    ExitCode.UNPUBLISHED: "the release stands, but a target did not take it",
    ExitCode.UNDECIDED: "a warning must be decided, and --fail-on decide holds the release back",
    ExitCode.CTRL_C: "Ctrl-C; a job that was watched goes on",
    ExitCode.BROKEN_PIPE: "the reader of the output stopped reading",
}
