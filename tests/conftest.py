"""Lets properties take their time: how long one example takes says something about the machine, not about the code.

Each run draws other examples, so that fewer in each find as much over time.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("tableveil", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tableveil")
