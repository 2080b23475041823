"""Jobs that wait, taken from their owners in turn: nobody's thousand jobs delay another's first."""

from collections import Counter, deque


class Turns:
    """Numbers of waiting jobs. The next owner is the one with the fewest running jobs, then the longest without one."""

    def __init__(self, most_running: int | None = None) -> None:
        """`most_running` limits how many jobs of an owner run at once."""
        self._most_running = most_running
        self._waiting: dict[str, deque[int]] = {}
        self._owners: dict[int, str] = {}
        self._running: Counter[str] = Counter()
        # Kept for owners without jobs as well: otherwise one who submits job after job would always come first.
        self._served: dict[str, int] = {}
        self._turn = 0

    def __len__(self) -> int:
        return len(self._owners)

    def __contains__(self, number: int) -> bool:
        return number in self._owners

    def of(self, owner: str) -> int:
        """How many jobs of an owner wait."""
        return len(self._waiting.get(owner, ()))

    def add(self, owner: str, number: int, *, first: bool = False) -> None:
        """Lets a job wait behind its owner's others, or before them, and its owner before all others."""
        waiting = self._waiting.setdefault(owner, deque())
        if first:
            waiting.appendleft(number)
            self._served[owner] = -1
        else:
            waiting.append(number)
        self._owners[number] = owner

    def next(self) -> int | None:
        """The job whose turn it is."""
        most = self._most_running
        allowed = [owner for owner in self._waiting if most is None or self._running[owner] < most]
        return self._waiting[min(allowed, key=self._rank)][0] if allowed else None

    def start(self, number: int) -> None:
        """The job waits no more: it runs."""
        owner = self._owners[number]
        self.remove(number)
        self._running[owner] += 1
        self._turn += 1
        self._served[owner] = self._turn

    def end(self, owner: str) -> None:
        """A job of the owner runs no more."""
        self._running[owner] -= 1

    def remove(self, number: int) -> None:
        """The job waits no more."""
        owner = self._owners.pop(number)
        self._waiting[owner].remove(number)
        if not self._waiting[owner]:
            del self._waiting[owner]

    def position(self, number: int) -> int:
        """How many jobs come before it if none is added and all take equally long."""
        owner = self._owners[number]
        own = self._waiting[owner].index(number)
        owners = sorted(self._waiting, key=self._rank)
        before = owners.index(owner)
        others = ((place, name) for place, name in enumerate(owners) if name != owner)
        return own + sum(min(self.of(name), own + (place < before)) for place, name in others)

    def clear(self) -> list[int]:
        """The jobs that waited, in the order of their numbers; none waits any more."""
        waiting = sorted(self._owners)
        self._waiting.clear()
        self._owners.clear()
        return waiting

    def _rank(self, owner: str) -> tuple[int, int]:
        return self._running[owner], self._served.get(owner, 0)
