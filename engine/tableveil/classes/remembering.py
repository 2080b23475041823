"""A counter that remembers its answers, for searches that ask for one transformation more than once."""

from collections import OrderedDict

from tableveil.classes.counter import ClassCounter
from tableveil.classes.delegating import DelegatingCounter
from tableveil.classes.model import EquivalenceClasses
from tableveil.lattice import Transformation


class RememberingCounter(DelegatingCounter):
    """Keeps the latest classes, up to `budget` bytes of them; `counted` is how often it had to count."""

    def __init__(self, counter: ClassCounter, budget: int) -> None:
        super().__init__(counter)
        self._budget = budget
        self._classes: OrderedDict[Transformation, EquivalenceClasses] = OrderedDict()
        self._bytes = 0
        self.counted = 0

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        """The equivalence classes at the transformation, counted or remembered."""
        remembered = self._classes.get(transformation)
        if remembered is not None:
            self._classes.move_to_end(transformation)
            return remembered
        classes = self._counter.classes(transformation)
        self.counted += 1
        self._classes[transformation] = classes
        self._bytes += _bytes(classes)
        while self._bytes > self._budget and len(self._classes) > 1:
            _, forgotten = self._classes.popitem(last=False)
            self._bytes -= _bytes(forgotten)
        return classes

    def too_many_small(self, transformation: Transformation, size: int, most: int) -> bool:
        """Whether it is proven that so many records are in small classes; classes that are remembered are not asked."""
        if transformation in self._classes or not super().too_many_small(transformation, size, most):
            return False
        self.counted += 1
        return True


def _bytes(classes: EquivalenceClasses) -> int:
    details = 0 if classes.details is None else classes.details.nbytes
    return classes.counts.nbytes + sum(word.nbytes for word in classes.words) + details
