"""Limits for each principal, so that none takes the whole server: calls a second, open streams, loads."""

from tableveil.fair_use.fair_use import FairUse, Held, Limits

__all__ = ["FairUse", "Held", "Limits"]
