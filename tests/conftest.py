"""Gives properties time: the time of one example depends on the machine, not on the code.

Each run draws other examples, so that fewer per run find as much over time. Only CI draws the same ones every time: its
refusals must be due to the change, and must be reproducible for the developer who fixes it.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from tests.authenticated import use_one_token

use_one_token()

settings.register_profile(
    "tableveil",
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("tableveil")
