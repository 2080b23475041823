"""Lets properties take their time: how long one example takes says something about the machine, not about the code."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("tableveil", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tableveil")
