"""One core for all who ask for it, until the last of them leaves."""

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from tableveil.numeric.threads import one_core


def threads() -> set[int]:
    """The threads of every library of matrices that is loaded."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_the_last_one_to_leave_restores_the_threads() -> None:
    assert np.ones((2, 2)) @ np.ones(2) is not None
    with threadpool_limits(limits=2):
        before = threads()
        first, second = one_core(), one_core()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        inside = threads()
        second.__exit__(None, None, None)
        assert inside == {1}
        assert threads() == before
    assert before == {2}
