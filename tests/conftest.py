"""Lets properties take their time: how long one example takes says something about the machine, not about the code.

Each run draws other examples, so that fewer in each find as much over time. Only CI draws the same ones every time:
what it refuses is to be due to the change, and to be seen again by whoever mends it.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "tableveil",
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("tableveil")
